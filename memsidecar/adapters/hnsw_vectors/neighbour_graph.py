"""hnswlib behind guards: it checks neither sizes nor files, and raises RuntimeError for several harmless reasons."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memsidecar.adapters.hnsw_vectors.cpu_build import hnswlib
from memsidecar.adapters.hnsw_vectors.short_copies import ShortCopies
from memsidecar.domain.events import Matrix
from memsidecar.ports.vectors import Scores

_log = logging.getLogger(__name__)

Labels = NDArray[np.integer]

_EF_BUILD = 100
_EF_SMALL = 40
_SMALL = 20_000
"""Up to this many vectors ef = 50 gave recall@10 of 0.998 on clustered data (10,000 x 384); on 10,000 turns of chats
(512) 40 and 64 differ by 0.001."""
_EF_LEAST = 100
_EF_AT = 100_000
"""Up to this many vectors ef = 100 gives recall@10 above 0.99 on clustered data; beyond, ef grows with this power of
their number: of a million, ef = 316 finds nothing for 2 % of questions (another cluster), 500 something for all. More
than that finds no more."""
_EF_GROWTH = 0.7

_FULL = 0.9
_OBJECT_BYTES = 65_536 * 40
"""Locks by label, in every hnswlib.Index however empty."""


class NeighbourGraph:
    """Approximate search over unit vectors with labels that the caller never uses twice.

    Not thread-safe: the caller excludes `add`, `remove` and `save` from everything else.
    """

    __slots__ = ("_copies", "_dimensions", "_ef", "_index", "_threads", "changes", "held", "links", "live", "saved")

    def __init__(self, dimensions: int, capacity: int, threads: int, links: int) -> None:
        """`links` of each vector to others, twice as many in the lowest layer (hnswlib's M)."""
        self._index = hnswlib.Index(space="ip", dim=dimensions)
        self._index.init_index(max_elements=max(capacity, 1_024), M=links, ef_construction=_EF_BUILD)
        self._begin(dimensions, threads, held=0, live=0)

    @classmethod
    def load(cls, path: Path, dimensions: int, threads: int, held: int, live: int) -> NeighbourGraph:
        """A saved graph whose checksum was compared. Raises ValueError when it does not hold what it should.

        hnswlib keeps the interpreter's lock meanwhile: about 1.3 ms for a thousand vectors of 384 numbers.
        """
        graph = cls.__new__(cls)
        graph._index = hnswlib.Index(space="ip", dim=dimensions)
        try:
            graph._index.load_index(str(path), max_elements=held + held // 8 + 1_024)
        except RuntimeError as error:
            raise ValueError("hnswlib refuses the file") from error
        if graph._index.get_current_count() != held:
            raise ValueError("the file holds another number of vectors")
        graph._begin(dimensions, threads, held, live)
        if graph._index.index_file_size() != path.stat().st_size:
            raise ValueError("the file is of another shape")
        return graph

    def _begin(self, dimensions: int, threads: int, held: int, live: int) -> None:
        self._dimensions = dimensions
        self._copies = ShortCopies(dimensions)
        self._threads = threads
        self._ef = 0
        self.links = int(self._index.M)
        self.held = held
        self.live = live
        self.changes = 0
        self.saved: tuple[int, str] = (-1, "")
        """The changes up to the last save and the checksum of its file; for whoever saves."""

    @property
    def nbytes(self) -> int:
        """What is resident: vectors, links and labels that are there, but locks and marks for all the room."""
        room = self._index.get_max_elements()
        per_vector = 4 * self._dimensions + 4 * (2 * self.links + 1) + 8 + 5 + 48
        return int(_OBJECT_BYTES + self.held * per_vector + room * (40 + 8 + 4 + 2)) + self._copies.nbytes

    def add(self, vectors: Matrix, labels: Labels) -> None:
        """Insert vectors under labels that were never used before."""
        room = self._index.get_max_elements()
        if self.held + len(labels) > _FULL * room:
            # Before the insertion: hnswlib would add a part of the batch and then raise.
            self._index.resize_index(int((self.held + len(labels)) * 1.25) + 1_024)
        self._index.add_items(vectors, labels, num_threads=self._threads)
        self._copies.put(labels, vectors)
        self.held += len(labels)
        self.live += len(labels)
        self.changes += 1

    def remove(self, label: int) -> None:
        """Take out a label that is there and was not removed before."""
        self._index.mark_deleted(label)
        self.live -= 1
        self.changes += 1

    def nearest(self, query: Matrix, k: int, ef: int) -> tuple[Labels, Scores] | None:
        """The k nearest labels, best first, with their cosines; None when hnswlib cannot reach that many."""
        least = _EF_SMALL if self.held <= _SMALL else int(_EF_LEAST * max(1.0, (self.held / _EF_AT) ** _EF_GROWTH))
        ef = max(ef, k, least)
        while True:
            if ef != self._ef:
                self._index.set_ef(ef)
                self._ef = ef
            try:
                labels, distances = self._index.knn_query(query, k=k, num_threads=1)
            except RuntimeError:
                if ef >= self.held:
                    _log.warning("hnswlib reaches fewer than %d of %d vectors; searching exactly", k, self.live)
                    return None
                ef = min(4 * ef, self.held)
                continue
            return labels[0], 1.0 - distances[0]

    def take(self, labels: Labels) -> Matrix:
        """The vectors of labels that are there. About 12 us each, under the interpreter's lock."""
        if not len(labels):
            return np.empty((0, self._dimensions), np.float32)
        return np.asarray(self._index.get_items(labels), np.float32)

    def dots(self, labels: Labels, query: Matrix) -> Scores:
        """Cosines of labels that are there, to within 0.00001; a label's first time costs what `take` does."""
        return self._copies.dots(labels, query, self.take)

    def save(self, path: Path) -> None:
        """Write the file. hnswlib keeps the interpreter's lock meanwhile. Raises OSError when it is not whole."""
        self._index.save_index(str(path))
        # hnswlib does not look whether its writes succeed.
        if path.stat().st_size != self._index.index_file_size():
            raise OSError("hnswlib wrote a part of its file")
