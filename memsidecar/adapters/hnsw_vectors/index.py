"""The vector index of one partition."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memsidecar.adapters.hnsw_vectors.contents import Contents
from memsidecar.adapters.hnsw_vectors.ranking import best_rows, nothing
from memsidecar.adapters.hnsw_vectors.settings import HnswSettings
from memsidecar.adapters.hnsw_vectors.snapshot import Snapshots
from memsidecar.adapters.hnsw_vectors.upkeep import Upkeep
from memsidecar.adapters.hnsw_vectors.vector_checks import checked_query, checked_vectors
from memsidecar.domain.events import Matrix
from memsidecar.ports.vectors import Rows, Scores

_FETCHED_FOR_ONE_TAKEN = 5
"""Neighbours that hnswlib finds (about 1.4 us each) in half the time it takes to hand out a vector (about 12 us)."""

_STREAMED_FOR_ONE_PICKED = 4
"""Vectors of the tail that are compared in a row in the time it takes to pick out one and compare it."""


class HnswVectorIndex:
    """VectorIndex: fresh vectors in an exact tail, and hnswlib under it once there are more than the crossover.

    `search`, `score`, `add` and `remove` run inline, in microseconds; they wait for `maintain` one slice at most.
    """

    def __init__(self, contents: Contents, settings: HnswSettings, threads: Executor) -> None:
        self._contents = contents
        self._dimensions = contents.dimensions
        self._lock = contents.lock
        self._threads = threads
        self._upkeep = Upkeep(contents, settings)
        self._snapshots = Snapshots(contents)
        self._running: set[asyncio.Future[None]] = set()
        self._maintaining: asyncio.Future[None] | None = None

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def size(self) -> int:
        return self._contents.table.live_vectors

    @property
    def nbytes(self) -> int:
        return self._contents.nbytes

    @property
    def needs_upkeep(self) -> bool:
        return self._maintaining is None and self._upkeep.due

    def add(self, row: int, vectors: Matrix) -> None:
        if not self._dimensions and vectors.ndim == 2:
            self._dimensions = vectors.shape[1]
            self._contents.begin(self._dimensions)
        vectors = checked_vectors(vectors, self._dimensions)
        if row < 0 or row in self._contents.table:
            raise ValueError(f"row {row} is negative or there already")
        with self._lock:
            self._contents.table.add(row, len(vectors))
            self._contents.tail.append(vectors)

    def remove(self, row: int) -> None:
        with self._lock:
            if row in self._contents.table:
                self._contents.remove(row)

    def search(self, query: Matrix, k: int, allowed: NDArray[np.bool_] | None = None) -> tuple[Rows, Scores]:
        if not self._dimensions:
            return nothing()
        query = checked_query(query, self._dimensions)
        with self._lock:
            contents = self._contents
            k = min(k, contents.table.live_rows)
            if k < 1:
                return nothing()
            graph = contents.graph
            if graph is None or not graph.live:
                return self._from_tail(query, k, allowed)
            deep = self._from_graph(query, k, allowed)
            if deep is None:
                rows = contents.table.live(allowed)
                return best_rows(rows, contents.exact(query, rows), k, distinct=True)
            if not contents.tail.length:
                return deep
            fresh = self._from_tail(query, k, allowed)
            rows, scores = np.concatenate((deep[0], fresh[0])), np.concatenate((deep[1], fresh[1]))
            return best_rows(rows, scores, k, distinct=contents.table.single)

    def _from_tail(self, query: Matrix, k: int, allowed: NDArray[np.bool_] | None) -> tuple[Rows, Scores]:
        contents = self._contents
        owners, single = contents.table.owners[contents.moved :], contents.table.single
        if allowed is None and not contents.tail_dead:
            return best_rows(owners, contents.tail.scores(query), k, single)
        # Few are compared one by one, many all together; either way only those that count are ranked.
        counting = np.flatnonzero(owners >= 0 if allowed is None else contents.table.mask(allowed)[owners])
        few = len(counting) * _STREAMED_FOR_ONE_PICKED < len(owners)
        scores = contents.tail.dots(counting, query) if few else contents.tail.scores(query)[counting]
        return best_rows(owners[counting], scores, k, single)

    def _from_graph(self, query: Matrix, k: int, allowed: NDArray[np.bool_] | None) -> tuple[Rows, Scores] | None:
        """The k best rows of those in hnswlib, all of them if they are fewer; None where exact search is better.

        A filter is met by asking for more and dropping what it forbids. hnswlib's own `filter=` calls Python for
        every vector that it passes.
        """
        contents, table = self._contents, self._contents.table
        graph = contents.graph
        assert graph is not None
        fetch, most, mask = k, graph.live, None
        if not table.single:
            fetch = fetch * table.live_vectors * 3 // (table.live_rows * 2)
        if allowed is not None:
            mask = table.mask(allowed)
            possible = len(table.live(allowed))
            if not possible:
                return nothing()
            fetch = fetch * table.live_rows * 3 // (possible * 2)
            most = min(most, possible * _FETCHED_FOR_ONE_TAKEN)
        fetch = min(fetch, graph.live)
        while fetch <= most:
            found = graph.nearest(query, fetch, fetch if mask is None else 2 * fetch)
            if found is None:
                return None
            rows, scores = table.owners[found[0]], found[1]
            if mask is not None:
                kept = mask[rows]
                rows, scores = rows[kept], scores[kept]
            rows, scores = best_rows(rows, scores, k, table.single)
            if len(rows) >= k or fetch == graph.live:
                return rows, scores
            needed = fetch * k * 5 // (4 * len(rows)) if len(rows) else 2 * fetch * k
            fetch = min(max(2 * fetch, needed), graph.live)
        return None

    def score(self, query: Matrix, rows: Rows) -> Scores:
        if not self._dimensions:
            return np.full(len(rows), -1.0, np.float32)
        query = checked_query(query, self._dimensions)
        with self._lock:
            known = self._contents.table.known(rows)
            if known.all():
                return self._contents.exact(query, rows, quick=True)
            scores = np.full(len(rows), -1.0, np.float32)
            scores[known] = self._contents.exact(query, rows[known], quick=True)
            return scores

    def take(self, rows: Rows) -> Matrix:
        with self._lock:
            taken = np.zeros((len(rows), self._dimensions), np.float32)
            known = self._contents.table.known(rows)
            taken[known] = self._contents.take(rows[known])
            return taken

    async def maintain(self) -> None:
        while self._maintaining is not None:
            # Not `await` on the future: one that is done would not let its callback run, which clears it.
            await asyncio.wait([self._maintaining])
        if self._upkeep.due:
            self._maintaining = self._in_thread(self._upkeep.run)
            self._maintaining.add_done_callback(self._maintained)
            await asyncio.shield(self._maintaining)

    def _maintained(self, _: asyncio.Future[None]) -> None:
        self._maintaining = None

    async def save(self, folder: Path, mark: int = 0) -> None:
        await asyncio.shield(self._in_thread(lambda: self._snapshots.write(folder, mark)))

    async def close(self) -> None:
        """Stops maintenance after its slice and waits for it and for a snapshot that is being written."""
        self._upkeep.stop()
        if self._running:
            await asyncio.wait(self._running)

    def _in_thread(self, work: Callable[[], None]) -> asyncio.Future[None]:
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future
