"""Vectors that are searched by comparing with each of them."""

from __future__ import annotations

import mmap

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.events import Matrix
from memsidecar.ports.vectors import Scores

_FIRST_BLOCK = 64
_LAST_BLOCK = 2_048
_OWN_PAGES = 256 * 1_024


class ExactTail:
    """A queue of float32 vectors in blocks: appended behind, dropped in front; a stored vector never moves or changes.

    A block is as large as all before it together (64 to 2048 vectors), so a small partition stays small and no
    append ever copies what is there.
    """

    __slots__ = ("_blocks", "_dimensions", "_scores", "_starts", "_used", "_views", "length")

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._blocks: list[Matrix] = []
        self._views: list[Matrix] = []
        self._starts: NDArray[np.intp] = np.zeros(0, np.intp)
        self._used = 0  # slots of the last block that have been written, dropped ones included
        self._scores: Scores = np.empty(0, np.float32)
        self.length = 0

    @classmethod
    def of(cls, vectors: Matrix) -> ExactTail:
        """The tail that holds these vectors, without a copy."""
        tail = cls(vectors.shape[1])
        if len(vectors):
            tail._blocks, tail._views, tail.length = [vectors], [vectors], len(vectors)
            tail._used = len(vectors)
            tail._measure()
        return tail

    @property
    def nbytes(self) -> int:
        return sum(block.nbytes for block in self._blocks) + self._scores.nbytes

    @property
    def views(self) -> list[Matrix]:
        """What is stored, oldest first. Stays valid and unchanged whatever is appended or dropped later."""
        return list(self._views)

    def append(self, vectors: Matrix) -> None:
        done = 0
        while done < len(vectors):
            if not self._blocks or self._used == len(self._blocks[-1]):
                size = min(max(sum(map(len, self._blocks)), _FIRST_BLOCK), _LAST_BLOCK)
                self._blocks.append(_block(size, self._dimensions))
                self._views.append(self._blocks[-1][:0])
                self._used = 0
                self._measure()
            block, began = self._blocks[-1], self._used - len(self._views[-1])
            taken = vectors[done : done + len(block) - self._used]
            block[self._used : self._used + len(taken)] = taken
            self._used += len(taken)
            self._views[-1] = block[began : self._used]
            done += len(taken)
            self.length += len(taken)

    def drop(self, count: int) -> None:
        """Forget the oldest `count`; a block without any left is freed."""
        self.length -= count
        while count:
            view = self._views[0]
            if count < len(view):
                self._views[0] = view[count:]
                break
            count -= len(view)
            del self._blocks[0], self._views[0]
        self._measure()

    def scores(self, query: Matrix) -> Scores:
        """Dot product with every vector, oldest first. Valid until the next call; the caller may write into it."""
        at = 0
        for view in self._views:
            following = at + len(view)
            np.dot(view, query, out=self._scores[at:following])
            at = following
        return self._scores[:at]

    def dots(self, positions: NDArray[np.integer], query: Matrix) -> Scores:
        """Dot products with the vectors at these positions."""
        result = np.empty(len(positions), np.float32)
        for chosen, view, inside in self._located(positions):
            result[chosen] = view[inside] @ query
        return result

    def take(self, positions: NDArray[np.integer]) -> Matrix:
        """A copy of the vectors at these positions."""
        result = np.empty((len(positions), self._dimensions), np.float32)
        for chosen, view, inside in self._located(positions):
            result[chosen] = view[inside]
        return result

    def _located(
        self, positions: NDArray[np.integer]
    ) -> list[tuple[slice | NDArray[np.intp], Matrix, NDArray[np.integer]]]:
        if len(self._views) == 1:
            return [(slice(None), self._views[0], positions)]
        block = np.searchsorted(self._starts, positions, side="right") - 1
        located: list[tuple[slice | NDArray[np.intp], Matrix, NDArray[np.integer]]] = []
        for number in np.flatnonzero(np.bincount(block, minlength=1)):
            chosen = np.flatnonzero(block == number)
            located.append((chosen, self._views[number], positions[chosen] - self._starts[number]))
        return located

    def _measure(self) -> None:
        """After a block came or went: where each begins, and room for a score of each slot."""
        lengths = np.array([len(view) for view in self._views], np.intp)
        self._starts = np.cumsum(lengths) - lengths
        slots = sum(map(len, self._blocks))
        if slots > len(self._scores) or slots < len(self._scores) // 4:
            self._scores = np.empty(slots, np.float32)


def _block(size: int, dimensions: int) -> Matrix:
    """An empty block. A large one has pages of its own, so that freeing it gives memory back, not to malloc's heap."""
    nbytes = 4 * size * dimensions
    if nbytes < _OWN_PAGES:
        return np.empty((size, dimensions), np.float32)
    return np.frombuffer(mmap.mmap(-1, nbytes), np.float32).reshape(size, dimensions)
