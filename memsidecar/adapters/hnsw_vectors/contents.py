"""What an index holds, and the lock around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memsidecar.adapters.hnsw_vectors.exact_tail import ExactTail
from memsidecar.adapters.hnsw_vectors.neighbour_graph import NeighbourGraph
from memsidecar.adapters.hnsw_vectors.row_table import RowTable
from memsidecar.adapters.hnsw_vectors.slice_lock import SliceLock
from memsidecar.domain.events import Matrix
from memsidecar.ports.vectors import Rows, Scores


class Contents:
    """Vectors below `moved` are in the graph (their number is their label), the others in the tail.

    Everything is read and changed under `lock`, except by a thread that alone can change it.
    """

    __slots__ = ("dimensions", "graph", "lock", "moved", "table", "tail", "tail_dead")

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.lock = SliceLock()
        self.table = RowTable()
        self.tail = ExactTail(dimensions)
        self.graph: NeighbourGraph | None = None
        self.moved = 0
        self.tail_dead = 0

    def begin(self, dimensions: int) -> None:
        """Vectors of this size come from now on; there are none yet."""
        with self.lock:
            self.dimensions = dimensions
            self.tail = ExactTail(dimensions)

    @property
    def nbytes(self) -> int:
        return self.table.nbytes + self.tail.nbytes + (self.graph.nbytes if self.graph is not None else 0)

    def remove(self, row: int) -> None:
        """Take out a row that is there."""
        for number in self.table.remove(row):
            if self.graph is not None and number < self.moved:
                self.graph.remove(number)
            else:
                self.tail_dead += 1

    def exact(self, query: Matrix, rows: Rows, quick: bool = False) -> Scores:
        """Cosines of rows that are there, each of its best vector; `quick` ones may be off by 0.00001."""
        numbers, starts = self.table.vectors_of(rows)
        if self.graph is None:
            scores = self.tail.dots(numbers, query)
        else:
            dots = self.graph.dots if quick else self._deep_dots
            if not self.tail.length:
                scores = dots(numbers, query)
            else:
                scores = np.empty(len(numbers), np.float32)
                deep = numbers < self.moved
                scores[deep] = dots(numbers[deep], query)
                scores[~deep] = self.tail.dots(numbers[~deep] - self.moved, query)
        return scores if self.table.single else np.maximum.reduceat(scores, starts)

    def take(self, rows: Rows) -> Matrix:
        """The first vector of rows that are there."""
        numbers = self.table.first(rows)
        if self.graph is None:
            return self.tail.take(numbers)
        taken = np.empty((len(numbers), self.dimensions), np.float32)
        deep = numbers < self.moved
        taken[deep] = self.graph.take(numbers[deep])
        taken[~deep] = self.tail.take(numbers[~deep] - self.moved)
        return taken

    def _deep_dots(self, numbers: NDArray[np.int32], query: Matrix) -> Scores:
        assert self.graph is not None
        scores = np.empty(len(numbers), np.float32)
        for at in range(0, len(numbers), 1_024):  # hnswlib hands vectors out as lists of floats: bound them
            scores[at : at + 1_024] = self.graph.take(numbers[at : at + 1_024]) @ query
        return scores
