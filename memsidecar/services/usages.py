"""How memories are used: recalls are counted in memory and written now and then, verdicts come with the ledger."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from weakref import WeakValueDictionary

from memsidecar.domain.errors import SidecarError
from memsidecar.domain.recall import Hit
from memsidecar.domain.scope import Partition
from memsidecar.domain.usage import NO_USAGE, Access, Usage
from memsidecar.ports.accesses import AccessStore
from memsidecar.ports.runtime import Clock
from memsidecar.services.resident import Resident

_log = logging.getLogger(__name__)

# What a kill can lose, in seconds of recalls.
FLUSH_EVERY = 5.0
# Memories with unwritten counts, about 200 bytes each. While there are so many (the disk is full, say), recalls of
# further memories are not counted.
MOST_UNWRITTEN = 50_000


class Usages:
    """A recall costs two array operations and a dictionary entry for each hit; nothing waits for the disk.

    Counts live in the columns of the partitions that are in memory (`fill` puts them there), in `_unwritten` until the
    next flush, and in the store.
    """

    def __init__(self, store: AccessStore, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._residents: WeakValueDictionary[Partition, Resident] = WeakValueDictionary()
        self._unwritten: dict[Partition, dict[str, Access]] = {}
        self._size = 0
        # Held while counts are on their way to or from the store, so that they are neither lost nor counted twice.
        self._moving = asyncio.Lock()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def note(self, hits: Iterable[Hit]) -> None:
        """Count these hits, each a memory of its own, as recalled now."""
        now = self._clock.now()
        recalled: dict[str, tuple[Partition, list[str]]] = {}
        for hit in hits:
            # By name: a partition's hash is made anew each time.
            found = recalled.get(hit.partition.user)
            if found is None:
                found = recalled[hit.partition.user] = (hit.partition, [])
            found[1].append(hit.memory.id)
        for partition, ids in recalled.values():
            resident = self._residents.get(partition)
            if resident is not None:
                known = resident.lookup.rows
                # A memory that was purged while its recall was under way has no row any more.
                rows = [known[memory_id] for memory_id in ids if memory_id in known]
                resident.columns.touch(rows, now)
                self._count(partition, (memory_id for memory_id in ids if memory_id in known), now)

    def _count(self, partition: Partition, ids: Iterable[str], now: int) -> None:
        unwritten = self._unwritten.setdefault(partition, {})
        before = len(unwritten)
        room = MOST_UNWRITTEN - self._size
        for memory_id in ids:
            access = unwritten.get(memory_id)
            if access is not None:
                unwritten[memory_id] = Access(access.times + 1, now)
            elif len(unwritten) - before < room:
                unwritten[memory_id] = Access(1, now)
        self._size += len(unwritten) - before

    def of(self, partition: Partition, memory_id: str) -> Usage:
        """The use of a memory of a partition that is in memory; nothing when it is not there."""
        resident = self._residents.get(partition)
        row = resident.lookup.rows.get(memory_id) if resident is not None else None
        return NO_USAGE if resident is None or row is None else resident.columns.usage(row)

    async def fill(self, resident: Resident) -> None:
        """Give a partition that has been loaded its counts, and keep them up to date from now on."""
        partition = resident.partition
        async with self._moving:
            try:
                stored = await self._store.load(partition)
            except SidecarError as error:
                _log.warning("counts of recalls cannot be read", extra={"problem": str(error)})
                stored = {}
            gone = [memory_id for memory_id in stored if memory_id not in resident.lookup.rows]
            counted = _sum(stored, self._unwritten.get(partition, {}))
            rows = resident.lookup.rows
            resident.columns.set_accesses({rows[i]: access for i, access in counted.items() if i in rows})
            self._residents[partition] = resident
            if gone:
                # Purged, and killed before the counts were.
                await self._forget(partition, gone)

    async def forget(self, partition: Partition, memory_ids: Sequence[str]) -> None:
        """These memories are purged. Never raises: what could not be erased goes when the partition is loaded again."""
        async with self._moving:
            await self._forget(partition, memory_ids)

    async def erase(self, partition: Partition) -> None:
        """Erase all that is known of a partition. Raises StoreFull, StoreUnavailable."""
        async with self._moving:
            self._size -= len(self._unwritten.pop(partition, {}))
            if (resident := self._residents.get(partition)) is not None:
                resident.columns.set_accesses({})
            await self._store.erase(partition)

    async def flush(self) -> None:
        """Write what was counted. What cannot be written now is kept for the next time."""
        async with self._moving:
            batch, self._unwritten, self._size = self._unwritten, {}, 0
            if not batch:
                return
            try:
                await self._store.add(batch)
            except SidecarError as error:
                _log.warning("counts of recalls wait to be written", extra={"problem": str(error)})
                for partition, counts in batch.items():
                    self._unwritten[partition] = _sum(counts, self._unwritten.get(partition, {}))
                self._size = sum(map(len, self._unwritten.values()))

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="access-counts")

    async def close(self) -> None:
        """Write what is left. The store is closed by whoever opened it."""
        self._closing.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        await self.flush()

    async def _run(self) -> None:
        while not self._closing.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), FLUSH_EVERY)
            await self.flush()

    async def _forget(self, partition: Partition, memory_ids: Sequence[str]) -> None:
        unwritten = self._unwritten.get(partition, {})
        self._size -= sum(unwritten.pop(memory_id, None) is not None for memory_id in memory_ids)
        try:
            await self._store.forget(partition, memory_ids)
        except SidecarError as error:
            _log.warning("counts of purged memories stay", extra={"problem": str(error)})


def _sum(one: Mapping[str, Access], other: Mapping[str, Access]) -> dict[str, Access]:
    return {**one, **{memory_id: access.plus(one.get(memory_id)) for memory_id, access in other.items()}}
