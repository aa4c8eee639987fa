"""The vector projection of one partition: what is close."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.events import Matrix

Rows = NDArray[np.int32]
Scores = NDArray[np.float32]


class VectorIndex(Protocol):
    """Cosine search over rows. A row (0, 1, 2 ...) may have several vectors; its score is that of its best one.

    Used from the event loop's thread only, apart from `maintain`. `search` sees every `add` before it.
    """

    @property
    def dimensions(self) -> int: ...

    @property
    def size(self) -> int:
        """Vectors held, removed ones not counted."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory held, for the cache's budget."""
        ...

    @property
    def needs_upkeep(self) -> bool:
        """Whether `maintain` has something to do; costs nothing to ask."""
        ...

    def add(self, row: int, vectors: Matrix) -> None:
        """Give a row its vectors: float32 (n, dimensions), n >= 1, finite, unit length. A row is added once.

        Raises ValueError for another shape, type or a number that is not finite, and for a row that is there already;
        nothing is added then.
        """
        ...

    def remove(self, row: int) -> None:
        """Take a row out; a row that is not there is ignored."""
        ...

    def search(self, query: Matrix, k: int, allowed: NDArray[np.bool_] | None = None) -> tuple[Rows, Scores]:
        """The k best rows with their cosines, best first, equal scores by row; fewer only when fewer exist.

        `query` is float32 (dimensions,). `allowed[row]` says which rows count; a filter never shrinks the answer below
        k while allowed rows exist. Exact below the crossover; above it hnswlib, whose recall@10 is at least 0.98.
        Raises ValueError for a query of another size or with a number that is not finite.
        """
        ...

    def score(self, query: Matrix, rows: Rows) -> Scores:
        """Cosines of the given rows (their best vector) to within 0.00002; -1 for a row without vectors."""
        ...

    def take(self, rows: Rows) -> Matrix:
        """A copy of each row's first vector: float32 (n, dimensions), zeros for a row without vectors."""
        ...

    async def maintain(self) -> None:
        """Move fresh vectors into hnswlib in slices, rebuild after many removals. In a thread; safe beside the rest."""
        ...

    async def save(self, folder: Path, mark: int = 0) -> None:
        """Write a snapshot with its checksum, atomically; readable by `load` of the factory with the same `mark`."""
        ...

    async def close(self) -> None: ...


class VectorIndexes(Protocol):
    """Makes and loads indexes; one implementation, many partitions."""

    def create(self, dimensions: int) -> VectorIndex:
        """An empty index. 0 dimensions: those of the first vectors that are added; until then nothing is found."""
        ...

    async def load(self, folder: Path, dimensions: int, mark: int = 0) -> VectorIndex | None:
        """The saved index; None when there is none with that mark or it is not intact (then the caller builds it from
        the ledger)."""
        ...

    async def close(self) -> None:
        """Joins the threads that the indexes share; they are closed before."""
        ...
