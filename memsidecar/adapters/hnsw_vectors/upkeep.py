"""Moves vectors into hnswlib and clears out removed ones, beside searches."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from memsidecar.adapters.hnsw_vectors.contents import Contents
from memsidecar.adapters.hnsw_vectors.exact_tail import ExactTail
from memsidecar.adapters.hnsw_vectors.neighbour_graph import NeighbourGraph
from memsidecar.adapters.hnsw_vectors.row_table import RowTable
from memsidecar.adapters.hnsw_vectors.settings import HnswSettings
from memsidecar.domain.events import Matrix

_log = logging.getLogger(__name__)

_WORTH_CLEARING = 64
_COPIED_AT_ONCE = 32
"""Vectors taken out of hnswlib under the lock at once: about 0.4 ms."""


class Upkeep:
    """The work of `maintain`. One thread at a time runs it; it alone moves vectors and replaces parts."""

    def __init__(self, contents: Contents, settings: HnswSettings) -> None:
        self._contents = contents
        self._settings = settings
        self._stopped = threading.Event()
        self._at_once = 4

    def stop(self) -> None:
        """Makes `run` return after the slice it is in; nothing is lost."""
        self._stopped.set()

    @property
    def due(self) -> bool:
        return self._to_move or self._to_exact or self._graph_dead or self._graph_outgrown or self._tail_dead

    def run(self) -> None:
        """Returns when nothing is due any more, or after `stop`."""
        while not self._stopped.is_set():
            if self._to_exact:
                self._replace_graph_by_tail()
            elif self._graph_dead or self._graph_outgrown:
                self._rebuild_graph()
            elif self._tail_dead:
                self._clear_tail()
            elif self._to_move:
                self._move_slice()
            else:
                return

    @property
    def _to_move(self) -> bool:
        contents = self._contents
        if contents.graph is None and contents.table.live_vectors <= self._settings.crossover:
            return False
        return contents.tail.length > contents.tail_dead

    @property
    def _to_exact(self) -> bool:
        contents = self._contents
        return contents.graph is not None and contents.table.live_vectors < self._settings.exact_again_below

    @property
    def _graph_dead(self) -> bool:
        graph = self._contents.graph
        return graph is not None and self._worth_clearing(graph.held - graph.live, graph.held)

    @property
    def _graph_outgrown(self) -> bool:
        graph = self._contents.graph
        return graph is not None and graph.live > self._settings.many and graph.links < self._settings.links_of_many

    @property
    def _tail_dead(self) -> bool:
        return self._worth_clearing(self._contents.tail_dead, self._contents.tail.length)

    def _worth_clearing(self, dead: int, held: int) -> bool:
        return dead >= _WORTH_CLEARING and dead > self._settings.tombstone_share * held

    def _move_slice(self) -> None:
        contents = self._contents
        with contents.lock:
            began = time.perf_counter()
            if contents.graph is None:
                room = contents.tail.length + contents.tail.length // 4
                contents.graph = self._new_graph(room)
            end = min(contents.moved + self._at_once, contents.table.end)
            owners = contents.table.owners[contents.moved : end]
            kept = np.flatnonzero(owners >= 0)
            if len(kept):
                contents.graph.add(contents.tail.take(kept), kept + contents.moved)
            contents.tail.drop(len(owners))
            contents.tail_dead -= len(owners) - len(kept)
            contents.moved = end
            took = time.perf_counter() - began
        fitting = self._at_once * self._settings.slice_seconds / max(took, 1e-6)
        self._at_once = int(min(max(1.0, fitting), 2.0 * self._at_once, 1_024.0))

    def _new_graph(self, room: int) -> NeighbourGraph:
        settings = self._settings
        links = settings.links if room <= settings.many else settings.links_of_many
        return NeighbourGraph(self._contents.dimensions, room, settings.build_threads, links)

    def _rebuild_graph(self) -> None:
        """A graph of the live ones only is made beside the old one, then takes its place."""
        contents = self._contents
        old, end = contents.graph, contents.moved
        assert old is not None
        new = self._new_graph(old.live + old.live // 8)
        copied: list[NDArray[np.integer]] = []
        for numbers in self._batches(end):
            with contents.lock:
                numbers = numbers[contents.table.owners[numbers] >= 0]
                vectors = old.take(numbers)
            if len(numbers):
                new.add(vectors, np.arange(new.held, new.held + len(numbers)))
                copied.append(numbers)
        if self._stopped.is_set():
            return
        with contents.lock:
            owners = _front(contents, copied)
            for label in np.flatnonzero(owners < 0).tolist():
                new.remove(label)  # removed since it was copied
            contents.table = RowTable.of(np.concatenate((owners, contents.table.owners[end:])))
            contents.graph, contents.moved = new, len(owners)
        _log.info("rebuilt hnswlib: %d of %d vectors were live", new.live, old.held)

    def _replace_graph_by_tail(self) -> None:
        self._copy_to_tail(self._contents.moved)

    def _clear_tail(self) -> None:
        contents = self._contents
        if contents.graph is None:
            self._copy_to_tail(contents.table.end)
        else:
            self._clear_short_tail()

    def _copy_to_tail(self, end: int) -> None:
        """The live ones of the numbers below `end` become the front of a new tail, without hnswlib."""
        contents = self._contents
        new = ExactTail(contents.dimensions)
        copied: list[NDArray[np.integer]] = []
        for numbers in self._batches(end):
            with contents.lock:
                numbers = numbers[contents.table.owners[numbers] >= 0]
                vectors = self._vectors(numbers)
            new.append(vectors)
            copied.append(numbers)
        if self._stopped.is_set():
            return
        with contents.lock:
            owners = np.concatenate((_front(contents, copied), contents.table.owners[end:]))
            behind = np.arange(end, contents.table.end) - contents.moved
            new.append(contents.tail.take(behind))
            contents.table, contents.tail = RowTable.of(owners), new
            contents.graph, contents.moved = None, 0
            contents.tail_dead = len(owners) - contents.table.live_vectors

    def _clear_short_tail(self) -> None:
        """Beside hnswlib the tail is short: one slice."""
        contents = self._contents
        with contents.lock:
            owners = contents.table.owners
            kept = np.flatnonzero(owners[contents.moved :] >= 0)
            tail = ExactTail(contents.dimensions)
            tail.append(contents.tail.take(kept))
            contents.table = RowTable.of(np.concatenate((owners[: contents.moved], owners[contents.moved :][kept])))
            contents.tail, contents.tail_dead = tail, 0

    def _batches(self, end: int) -> Iterator[NDArray[np.integer]]:
        """Numbers below `end` that are live now, a few at a time; stops early after `stop`."""
        with self._contents.lock:
            live = np.flatnonzero(self._contents.table.owners[:end] >= 0)
        for at in range(0, len(live), _COPIED_AT_ONCE):
            if self._stopped.is_set():
                return
            yield live[at : at + _COPIED_AT_ONCE]

    def _vectors(self, numbers: NDArray[np.integer]) -> Matrix:
        graph = self._contents.graph
        return self._contents.tail.take(numbers) if graph is None else graph.take(numbers)


def _front(contents: Contents, copied: list[NDArray[np.integer]]) -> NDArray[np.int32]:
    """Whose the copied vectors are now."""
    return contents.table.owners[np.concatenate(copied)] if copied else np.empty(0, np.int32)
