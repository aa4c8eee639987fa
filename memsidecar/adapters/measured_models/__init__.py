"""Models in front of models, that count what is asked of them."""

from memsidecar.adapters.measured_models.embedder import MeasuredEmbedder
from memsidecar.adapters.measured_models.extractor import MeasuredExtractor
from memsidecar.adapters.measured_models.reranker import MeasuredReranker

__all__ = ["MeasuredEmbedder", "MeasuredExtractor", "MeasuredReranker"]
