"""Which vector belongs to which row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memsidecar.ports.vectors import Rows

Ids = NDArray[np.int32]


class RowTable:
    """Numbers vectors 0, 1, 2 ... in the order they come; a row's vectors are neighbours. A number is never reused."""

    __slots__ = ("_count", "_first", "_owner", "end", "live_rows", "live_vectors")

    def __init__(self) -> None:
        self._owner: Ids = np.empty(64, np.int32)
        self._first: Ids = np.zeros(64, np.int32)
        self._count: Ids = np.zeros(64, np.int32)
        self.end = 0
        self.live_vectors = 0
        self.live_rows = 0

    @classmethod
    def of(cls, owners: Ids) -> RowTable:
        """The table with these owners; -1 is a removed vector. Raises ValueError for a row whose vectors are apart."""
        table = cls()
        table._owner = np.array(owners, np.int32)
        table.end = len(owners)
        numbers = np.flatnonzero(owners >= 0).astype(np.int32)
        rows = owners[numbers]
        size = max(64, int(rows.max()) + 1) if len(rows) else 64
        table._count = np.bincount(rows, minlength=size).astype(np.int32)
        table._first = np.zeros(size, np.int32)
        table._first[rows[::-1]] = numbers[::-1]  # of several the last assignment stays: the lowest number
        if (numbers - table._first[rows] >= table._count[rows]).any():
            raise ValueError("the vectors of a row are not neighbours")
        table.live_vectors = len(rows)
        table.live_rows = int(np.count_nonzero(table._count))
        return table

    @property
    def nbytes(self) -> int:
        return self._owner.nbytes + self._first.nbytes + self._count.nbytes

    @property
    def single(self) -> bool:
        """Whether every row has exactly one vector."""
        return self.live_rows == self.live_vectors

    @property
    def owners(self) -> Ids:
        """The row of each vector, -1 once removed. A view."""
        return self._owner[: self.end]

    def __contains__(self, row: int) -> bool:
        return 0 <= row < len(self._count) and bool(self._count[row])

    def add(self, row: int, vectors: int) -> None:
        if self.end + vectors > len(self._owner):
            self._owner = _grown(self._owner, self.end + vectors)
        if row >= len(self._count):
            self._first = _grown(self._first, row + 1)
            self._count = _grown(self._count, row + 1)
        self._owner[self.end : self.end + vectors] = row
        self._first[row] = self.end
        self._count[row] = vectors
        self.end += vectors
        self.live_vectors += vectors
        self.live_rows += 1

    def remove(self, row: int) -> range:
        """Forget the row; the numbers its vectors had."""
        first, count = int(self._first[row]), int(self._count[row])
        self._owner[first : first + count] = -1
        self._count[row] = 0
        self.live_vectors -= count
        self.live_rows -= 1
        return range(first, first + count)

    def live(self, allowed: NDArray[np.bool_] | None = None) -> Rows:
        """Rows with vectors, of those allowed; ascending."""
        if allowed is None:
            return np.flatnonzero(self._count).astype(np.int32)
        size = min(len(allowed), len(self._count))
        return np.flatnonzero((self._count[:size] > 0) & allowed[:size]).astype(np.int32)

    def known(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of the rows have vectors."""
        if len(rows) and rows.min() >= 0 and rows.max() < len(self._count):
            return self._count[rows] > 0
        inside = (rows >= 0) & (rows < len(self._count))
        return inside & (self._count[np.where(inside, rows, 0)] > 0)

    def vectors_of(self, rows: Rows) -> tuple[Ids, NDArray[np.intp]]:
        """Numbers of the vectors of rows that are all there, row after row, and where each row begins among them."""
        if self.single:
            return self._first[rows], np.arange(len(rows))
        count = self._count[rows]
        starts = np.cumsum(count) - count
        return (np.repeat(self._first[rows] - starts, count) + np.arange(count.sum())).astype(np.int32), starts

    def first(self, rows: Rows) -> Ids:
        """The number of the first vector of rows that are all there."""
        return self._first[rows]

    def mask(self, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """`allowed` stretched over every row; its last entry is False, which is what an owner of -1 picks."""
        mask = np.zeros(len(self._count) + 1, np.bool_)
        size = min(len(allowed), len(self._count))
        mask[:size] = allowed[:size]
        return mask


def _grown(array: Ids, needed: int) -> Ids:
    grown = np.zeros(max(needed, len(array) + len(array) // 2), np.int32)
    grown[: len(array)] = array
    return grown
