"""A VectorIndex without an index: every search looks at every vector."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.events import Matrix
from memsidecar.ports.vectors import Rows, Scores


class ExactVectors:
    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._held: dict[int, Matrix] = {}
        self._ever: set[int] = set()

    @property
    def size(self) -> int:
        return sum(len(vectors) for vectors in self._held.values())

    @property
    def nbytes(self) -> int:
        return sum(vectors.nbytes for vectors in self._held.values())

    @property
    def needs_upkeep(self) -> bool:
        return False

    def add(self, row: int, vectors: Matrix) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != self.dimensions or not len(vectors):
            raise ValueError(f"vectors of shape {vectors.shape}")
        if vectors.dtype != np.float32 or not np.isfinite(vectors).all():
            raise ValueError("vectors must be finite float32")
        if row in self._ever:
            raise AssertionError(f"row {row} is added a second time")
        self._ever.add(row)
        self._held[row] = vectors

    def remove(self, row: int) -> None:
        self._held.pop(row, None)

    def search(self, query: Matrix, k: int, allowed: NDArray[np.bool_] | None = None) -> tuple[Rows, Scores]:
        rows = np.array(sorted(r for r in self._held if allowed is None or allowed[r]), dtype=np.int32)
        scores = self.score(query, rows)
        best = np.lexsort((rows, -scores))[:k]
        return rows[best], scores[best]

    def score(self, query: Matrix, rows: Rows) -> Scores:
        if query.shape != (self.dimensions,) or not np.isfinite(query).all():
            raise ValueError(f"a query of shape {query.shape}")
        held = (self._held.get(row) for row in rows.tolist())
        return np.array([-1.0 if v is None else float((v @ query).max()) for v in held], dtype=np.float32)

    def take(self, rows: Rows) -> Matrix:
        nothing = np.zeros((1, self.dimensions), np.float32)
        return np.concatenate(
            [np.zeros((0, self.dimensions), np.float32), *(self._held.get(r, nothing)[:1] for r in rows.tolist())]
        )

    async def maintain(self) -> None:
        """Nothing is put off."""

    async def save(self, folder: Path, mark: int = 0) -> None:
        """Snapshots are the real index's own matter."""

    async def close(self) -> None:
        self._held.clear()
