"""Never embed the same text twice while its vector is still in memory."""

from __future__ import annotations

from memsidecar.adapters.embedding_cache.cache import CachedEmbedder, CacheStats

__all__ = ["CacheStats", "CachedEmbedder"]
