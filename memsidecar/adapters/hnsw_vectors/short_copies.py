"""Copies of vectors in 16-bit numbers, to compare a few of them quickly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.events import Matrix
from memsidecar.ports.vectors import Scores

_SHIFT = 14
_BLOCK = 1 << _SHIFT
_MOST = 32_767


class ShortCopies:
    """Vectors by number. hnswlib takes 12 microseconds to hand out one, and half a recall was spent on a hundred.

    Half the size of the vectors themselves, and memory is touched only where something is kept. Each vector has its
    own scale, so that a cosine is off by 0.00001 at the most.
    """

    __slots__ = ("_blocks", "_dimensions", "_kept", "_scales")

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._blocks: list[NDArray[np.int16]] = []
        self._scales: NDArray[np.float32] = np.zeros(0, np.float32)
        self._kept: NDArray[np.bool_] = np.zeros(0, np.bool_)

    @property
    def nbytes(self) -> int:
        return int(np.count_nonzero(self._kept)) * 2 * self._dimensions + 5 * len(self._kept)

    def put(self, numbers: NDArray[np.integer], vectors: Matrix) -> None:
        while len(numbers) and int(numbers.max()) >= len(self._kept):
            self._blocks.append(np.empty((_BLOCK, self._dimensions), np.int16))
            self._scales = np.append(self._scales, np.zeros(_BLOCK, np.float32))
            self._kept = np.append(self._kept, np.zeros(_BLOCK, np.bool_))
        if not len(numbers):
            return
        scales = np.maximum(np.abs(vectors).max(axis=1), np.float32(1e-30)) / np.float32(_MOST)
        shorts = np.rint(vectors / scales[:, None]).astype(np.int16)
        for block, chosen, inside in _by_block(numbers):
            self._blocks[block][inside] = shorts[chosen]
        self._scales[numbers] = scales
        self._kept[numbers] = True

    def dots(
        self, numbers: NDArray[np.integer], query: Matrix, fetch: Callable[[NDArray[np.integer]], Matrix]
    ) -> Scores:
        """Dot products; vectors without a copy are fetched, and kept."""
        if not len(numbers):
            return np.empty(0, np.float32)
        if int(numbers.max()) >= len(self._kept) or not self._kept[numbers].all():
            known = numbers < len(self._kept)
            known[known] = self._kept[numbers[known]]
            missing = np.unique(numbers[~known])
            self.put(missing, fetch(missing))
        if len(self._blocks) == 1:
            # The usual case, at half the price.
            of_one: Scores = self._blocks[0][numbers].astype(np.float32) @ query
            of_one *= self._scales[numbers]
            return of_one
        scores = np.empty(len(numbers), np.float32)
        for block, chosen, inside in _by_block(numbers):
            scores[chosen] = self._blocks[block][inside].astype(np.float32) @ query
        scores *= self._scales[numbers]
        return scores


def _by_block(numbers: NDArray[np.integer]) -> list[tuple[int, NDArray[np.intp], NDArray[np.integer]]]:
    """(block, which of the numbers are in it, where in it)."""
    blocks = numbers >> _SHIFT
    places = ((int(b), np.flatnonzero(blocks == b)) for b in np.flatnonzero(np.bincount(blocks)))
    return [(block, chosen, numbers[chosen] & (_BLOCK - 1)) for block, chosen in places]
