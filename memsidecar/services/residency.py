"""Which partitions are in memory: loaded on first use, bounded by bytes, least recently used out first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from memsidecar.domain.errors import SidecarError
from memsidecar.domain.events import Entry
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Ledger
from memsidecar.ports.runtime import Clock, Ids
from memsidecar.services.hydration import SNAPSHOT_AFTER, Hydration
from memsidecar.services.resident import Resident
from memsidecar.services.writing import PartitionWriter

_log = logging.getLogger(__name__)

# A snapshot stops the writes of its partition, so it waits until nobody has written for this long ...
QUIET_SECONDS = 1.0
# ... but under writes that do not end no longer than this: it bounds what a start has to replay.
PATIENCE_SECONDS = 30.0

Committed = Callable[[Resident, Sequence[Entry]], None]


@dataclass(slots=True, eq=False)
class Loaded:
    """A partition in memory with its writer. `unsaved` counts entries since its last snapshot."""

    resident: Resident
    writer: PartitionWriter
    unsaved: int
    nbytes: int
    tending: asyncio.Task[None] | None = None


class Residency:
    """`committed` is told of every commit, in order, before the caller is answered."""

    def __init__(
        self, hydration: Hydration, ledger: Ledger, clock: Clock, ids: Ids, max_bytes: int, committed: Committed
    ) -> None:
        self._hydration, self._ledger, self._clock, self._ids = hydration, ledger, clock, ids
        self._max_bytes, self._notify = max_bytes, committed
        self._loaded: dict[Partition, Loaded] = {}
        self._loading: dict[Partition, asyncio.Task[Loaded]] = {}
        self._evicting: set[asyncio.Task[None]] = set()
        self._nbytes = 0
        self._closing = asyncio.Event()

    @property
    def nbytes(self) -> int:
        """Memory held by all loaded partitions, estimated."""
        return self._nbytes

    @property
    def count(self) -> int:
        return len(self._loaded)

    async def get(self, partition: Partition) -> Loaded:
        """The partition, loaded. Raises LedgerDamaged, StoreUnavailable."""
        loaded = self._loaded.pop(partition, None)
        if loaded is not None:
            self._loaded[partition] = loaded  # newest last: the order is the order of use
            return loaded
        task = self._loading.get(partition)
        if task is None:
            task = asyncio.create_task(self._load(partition), name="hydration")
            self._loading[partition] = task
            task.add_done_callback(lambda _: self._loading.pop(partition, None))
        # Whoever asked first may be cancelled; the others still want it.
        return await asyncio.shield(task)

    def peek(self, partition: Partition) -> Loaded | None:
        """The partition if it is in memory; does not count as use."""
        return self._loaded.get(partition)

    async def close(self) -> None:
        """Finish writing, and snapshot what would take long to load."""
        self._closing.set()
        for task in list(self._loading.values()):
            await asyncio.wait([task])
        for loaded in list(self._loaded.values()):
            await loaded.writer.finish()
        for partition in list(self._loaded):
            await self._unload(partition)
        while self._evicting:
            await asyncio.wait(self._evicting)

    async def _load(self, partition: Partition) -> Loaded:
        resident, unsaved = await self._hydration(partition)
        writer = PartitionWriter(resident, self._ledger, self._clock, self._ids, self._committed)
        loaded = Loaded(resident, writer, unsaved, resident.nbytes)
        self._loaded[partition] = loaded
        self._nbytes += loaded.nbytes
        self._tend(loaded)
        self._evict_surplus()
        return loaded

    def _committed(self, resident: Resident, entries: Sequence[Entry]) -> None:
        self._notify(resident, entries)
        loaded = self._loaded.get(resident.partition)
        if loaded is None:
            return
        loaded.unsaved += len(entries)
        self._recount(loaded)
        self._tend(loaded)
        self._evict_surplus()

    def _recount(self, loaded: Loaded) -> None:
        nbytes = loaded.resident.nbytes
        self._nbytes += nbytes - loaded.nbytes
        loaded.nbytes = nbytes

    def _tend(self, loaded: Loaded) -> None:
        """Index upkeep, and a snapshot once replaying would take long; in the background, one at a time."""
        if loaded.tending is None and (loaded.unsaved >= SNAPSHOT_AFTER or loaded.resident.vectors.needs_upkeep):
            loaded.tending = asyncio.create_task(self._tended(loaded), name="partition-upkeep")

    async def _tended(self, loaded: Loaded) -> None:
        try:
            await loaded.resident.vectors.maintain()
            if loaded.unsaved >= SNAPSHOT_AFTER:
                await self._until_quiet(loaded)
                await self._save(loaded)
        except SidecarError as error:
            _log.warning("partition upkeep failed", extra={"problem": str(error)})
        finally:
            loaded.tending = None
            self._recount(loaded)

    async def _until_quiet(self, loaded: Loaded) -> None:
        until = self._clock.monotonic() + PATIENCE_SECONDS
        written = -1
        while loaded.unsaved != written and self._clock.monotonic() < until and not self._closing.is_set():
            written = loaded.unsaved
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), QUIET_SECONDS)
            await loaded.resident.vectors.maintain()

    async def _save(self, loaded: Loaded) -> None:
        async with loaded.writer.pause:
            covered = loaded.unsaved
            await self._hydration.save(loaded.resident)
            loaded.unsaved -= covered

    def _evict_surplus(self) -> None:
        """Unload the least recently used partitions that nobody writes to until the budget holds; one always stays."""
        surplus = self._nbytes - self._max_bytes
        for partition in list(self._loaded)[:-1]:
            if surplus <= 0:
                return
            loaded = self._loaded[partition]
            if not loaded.writer.idle or loaded.tending is not None:
                continue
            surplus -= loaded.nbytes
            task = asyncio.create_task(self._unload(partition), name="eviction")
            self._evicting.add(task)
            task.add_done_callback(self._evicting.discard)

    async def _unload(self, partition: Partition) -> None:
        loaded = self._loaded.get(partition)
        if loaded is None:
            return
        if loaded.tending is not None:
            await asyncio.wait([loaded.tending])
        if loaded.unsaved >= SNAPSHOT_AFTER // 5:
            try:
                await self._save(loaded)
            except SidecarError as error:
                _log.warning("snapshot failed", extra={"problem": str(error)})
        if not loaded.writer.idle or self._loaded.get(partition) is not loaded:
            return  # somebody came back to it meanwhile
        del self._loaded[partition]
        self._nbytes -= loaded.nbytes
        await loaded.resident.vectors.close()
