"""Embeddings, rankings and claims from any server that speaks OpenAI's API."""

from __future__ import annotations

from memsidecar.adapters.openai_models.breaker import CircuitBreaker
from memsidecar.adapters.openai_models.embedder import OpenAIEmbedder
from memsidecar.adapters.openai_models.extractor import OpenAIExtractor
from memsidecar.adapters.openai_models.reranker import OpenAIReranker, RerankerSettings
from memsidecar.adapters.openai_models.settings import ExtractorSettings, OpenAISettings
from memsidecar.adapters.openai_models.usage import Usage

__all__ = [
    "CircuitBreaker",
    "ExtractorSettings",
    "OpenAIEmbedder",
    "OpenAIExtractor",
    "OpenAIReranker",
    "OpenAISettings",
    "RerankerSettings",
    "Usage",
]
