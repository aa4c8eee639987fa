"""Partitions as they were: what the store knew at a time, folded again from the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from memsidecar.domain.events import Entry, MemoryPurged, MemoryRecorded
from memsidecar.domain.indexed_text import embedded_text
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import EventCodec, Head, Ledger, StoredVectors
from memsidecar.ports.vectors import VectorIndexes
from memsidecar.services.hydration import PAGE, fold
from memsidecar.services.preparing import Space
from memsidecar.services.resident import Resident

# Questions about the past come in groups about one moment; more than a few moments at once are not worth the memory.
KEPT = 4

_Moment = tuple[Partition, int]


class Past:
    """Read only, and built for the question: it costs reading the partition's ledger up to that time (about 10 ms for
    1,000 entries), in threads. The newest few are kept until something of theirs is purged."""

    def __init__(self, ledger: Ledger, codec: EventCodec, indexes: VectorIndexes, space: Space, max_bytes: int) -> None:
        """`max_bytes`: of what is kept, beside the newest moment, which always is."""
        self._ledger, self._codec, self._indexes, self._space = ledger, codec, indexes, space
        self._max_bytes = max_bytes
        self._kept: dict[_Moment, asyncio.Task[Resident]] = {}
        self._building: set[asyncio.Task[Resident]] = set()
        # One at a time: several half built would be several in memory.
        self._turn = asyncio.Lock()

    async def view(self, partition: Partition, known_at: int, now: int) -> Resident:
        """The partition after the last entry that was recorded at `known_at` (microseconds) or before.

        A clock that stepped back does not reorder: the first entry recorded later ends it. Memories that were purged
        since are not there; their payloads are gone. Raises LedgerDamaged, StoreUnavailable.
        """
        moment = (partition, known_at)
        task = self._kept.pop(moment, None)
        if task is None or (task.done() and not _is_built(task)):
            task = asyncio.create_task(self._build(partition, known_at), name="past")
            self._building.add(task)
            task.add_done_callback(self._building.discard)
        # A moment that has not passed yet will have more entries later.
        if known_at < now:
            self._kept[moment] = task
        # Whoever asked first may be cancelled; the others still want it.
        resident = await asyncio.shield(task)
        self._let_go()
        return resident

    def _let_go(self) -> None:
        """Forget the oldest moments beyond the limits."""
        while len(self._kept) > 1 and (
            len(self._kept) > KEPT or sum(map(_size, self._kept.values())) > self._max_bytes
        ):
            del self._kept[next(iter(self._kept))]

    def follow(self, partition: Partition, entries: Sequence[Entry]) -> None:
        """What is purged is not to be kept anywhere. Called with every commit."""
        if self._kept and any(isinstance(entry.event, MemoryPurged) for entry in entries):
            for moment in [m for m in self._kept if m[0] == partition]:
                del self._kept[moment]

    async def close(self) -> None:
        tasks = list(self._building)
        self._kept.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _build(self, partition: Partition, known_at: int) -> Resident:
        async with self._turn:
            return await self._built(partition, known_at)

    async def _built(self, partition: Partition, known_at: int) -> Resident:
        index = self._indexes.create(self._space.dimensions)
        resident = Resident(partition, self._codec, index, self._space.model)
        # Vectors are kept of a memory's newest text only; those of a text that was changed later do not fit.
        newer: dict[str, MemoryRecorded] = {}
        reached, ended = 0, False
        while True:
            entries = await self._ledger.read(partition, reached, PAGE)
            if not entries:
                break
            reached = entries[-1].revision
            if not ended:
                later = next((place for place, e in enumerate(entries) if e.recorded_at > known_at), len(entries))
                await asyncio.to_thread(fold, resident, entries[:later])
                ended = later < len(entries)
                if later:
                    resident.head = Head(entries[later - 1].revision, b"")
                entries = entries[later:]
            newer.update((e.subject, e.event) for e in entries if isinstance(e.event, MemoryRecorded))
        stored = await self._ledger.vectors(partition, self._space.model)
        await asyncio.to_thread(_add_vectors, resident, stored, newer)
        # Nobody makes up for missing vectors of the past.
        resident.due.clear()
        return resident


def _is_built(task: asyncio.Task[Resident]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


def _size(task: asyncio.Task[Resident]) -> int:
    return task.result().nbytes if _is_built(task) else 0


def _add_vectors(resident: Resident, stored: Sequence[StoredVectors], newer: dict[str, MemoryRecorded]) -> None:
    for vectors in stored:
        then = resident.memory(vectors.memory_id)
        if then is None or vectors.rows.shape[1] != resident.vectors.dimensions:
            continue
        since = newer.get(vectors.memory_id)
        if since is None or embedded_text(since.memory.body) == embedded_text(then.body):
            resident.set_vectors(resident.lookup.rows[vectors.memory_id], vectors.rows)
