"""Vectors of a partition: exact float32 search while they are few, hnswlib above that."""

from memsidecar.adapters.hnsw_vectors.index import HnswVectorIndex
from memsidecar.adapters.hnsw_vectors.indexes import HnswVectorIndexes
from memsidecar.adapters.hnsw_vectors.settings import HnswSettings

__all__ = ["HnswSettings", "HnswVectorIndex", "HnswVectorIndexes"]
