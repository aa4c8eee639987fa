"""Embeddings and rankings from any server that speaks OpenAI's API."""

from __future__ import annotations

from memsidecar.adapters.openai_models.breaker import CircuitBreaker
from memsidecar.adapters.openai_models.embedder import OpenAIEmbedder
from memsidecar.adapters.openai_models.reranker import OpenAIReranker, RerankerSettings
from memsidecar.adapters.openai_models.settings import OpenAISettings

__all__ = ["CircuitBreaker", "OpenAIEmbedder", "OpenAIReranker", "OpenAISettings", "RerankerSettings"]
