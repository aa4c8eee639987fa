"""Refuses what hnswlib would take silently: another size (an out-of-bounds read), another type, NaN."""

from __future__ import annotations

import numpy as np

from memsidecar.domain.events import Matrix

_LEAST, _MOST = 0.998, 1.002
"""Bounds of the squared length: within a thousandth of 1. NaN and infinity fail the comparison, too."""


def checked_query(query: Matrix, dimensions: int) -> Matrix:
    """The query, contiguous. Raises ValueError unless it is a finite unit vector, float32 (dimensions,)."""
    if query.dtype != np.float32 or query.shape != (dimensions,):
        raise ValueError(f"a query is float32 ({dimensions},), not {query.dtype} {query.shape}")
    if not query.flags.c_contiguous:
        query = np.ascontiguousarray(query)
    if not _LEAST < query.dot(query) < _MOST:
        raise ValueError("a query is finite and of unit length")
    return query


def checked_vectors(vectors: Matrix, dimensions: int) -> Matrix:
    """The vectors as they are. Raises ValueError unless they are finite unit vectors, float32 (n >= 1, dimensions)."""
    if vectors.dtype != np.float32 or vectors.ndim != 2 or vectors.shape[1] != dimensions or not len(vectors):
        raise ValueError(f"vectors are float32 (n >= 1, {dimensions}), not {vectors.dtype} {vectors.shape}")
    # Not `dot`: it lets another thread have the interpreter each time, and waits to have it back.
    squared = np.einsum("ij,ij->i", vectors, vectors)
    right = _LEAST < squared[0] < _MOST if len(vectors) == 1 else ((squared > _LEAST) & (squared < _MOST)).all()
    if not right:
        raise ValueError("vectors are finite and of unit length")
    return vectors
