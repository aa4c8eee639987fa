"""Which partitions are in memory: loaded on first use, bounded by bytes, least recently used out first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from memsidecar.domain.draft import Request
from memsidecar.domain.errors import LedgerDamaged, SidecarError
from memsidecar.domain.events import Entry, MemoryPurged
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Ledger
from memsidecar.ports.runtime import Clock, Ids
from memsidecar.ports.snapshots import Snapshots
from memsidecar.ports.tracing import Tracer
from memsidecar.services.hydration import SNAPSHOT_AFTER, Hydration
from memsidecar.services.recorded import Answer
from memsidecar.services.residency_counts import ResidencyCounts
from memsidecar.services.resident import Resident, Terms
from memsidecar.services.usages import Usages
from memsidecar.services.write_counts import WriteCounts
from memsidecar.services.writing import Command, PartitionWriter, Retired

_log = logging.getLogger(__name__)

# Entries after a snapshot that make it worth writing another one when the partition leaves memory.
SNAPSHOT_AT_EXIT = SNAPSHOT_AFTER // 5
# Building the index takes a core from whoever writes, and a snapshot stops the writes of its partition: both wait until
# nobody has written for this long ...
QUIET_SECONDS = 1.0
# ... but under writes that do not end a snapshot waits no longer than this, which bounds what a start replays,
SNAPSHOT_PATIENCE = 30.0
# and the index no longer than this, which bounds what a recall scans: a bulk load is over by then, or a steady trickle.
INDEX_PATIENCE = 120.0
# A commit that leaves a partition less than this much larger is not looked at for its bytes and its index: adding up
# all parts of one costs as much as applying a memory to it.
LOOKED_AT_AFTER = 1 / 64

Notify = Callable[[Resident, Sequence[Entry]], None]


@dataclass(slots=True, eq=False)
class Loaded:
    """A partition in memory with its writer.

    `unsaved` counts entries that no snapshot covers; at `save_at` of them the next one is written. `unseen` counts
    those since its bytes were added up and its index was looked at.
    """

    resident: Resident
    writer: PartitionWriter
    unsaved: int
    nbytes: int
    save_at: int = SNAPSHOT_AFTER
    unseen: int = 0
    tending: asyncio.Task[None] | None = None
    leaving: bool = False


class Residency:
    """`committed` is told of every commit, in order, before the caller is answered. `give_back` returns freed memory to
    the system; it may take a few milliseconds and is called in a thread."""

    def __init__(
        self,
        hydration: Hydration,
        ledger: Ledger,
        snapshots: Snapshots,
        clock: Clock,
        ids: Ids,
        max_bytes: int,
        committed: Notify,
        usages: Usages,
        give_back: Callable[[], None],
        tracer: Tracer | None = None,
    ) -> None:
        self._hydration, self._ledger, self._snapshots = hydration, ledger, snapshots
        self._clock, self._ids = clock, ids
        self._max_bytes, self._notify, self._usages = max_bytes, committed, usages
        self._give_back, self._tracer = give_back, tracer
        self._loaded: dict[Partition, Loaded] = {}
        self._loading: dict[Partition, asyncio.Task[Loaded]] = {}
        self._evicting: set[asyncio.Task[None]] = set()
        self._proving: set[asyncio.Task[None]] = set()
        self._damaged: dict[Partition, int] = {}
        self._nbytes = 0
        self._closing = asyncio.Event()
        self.counts, self.writes = ResidencyCounts(), WriteCounts()

    @property
    def nbytes(self) -> int:
        """Memory held by all loaded partitions, estimated."""
        return self._nbytes

    @property
    def count(self) -> int:
        return len(self._loaded)

    @property
    def loaded(self) -> Sequence[Loaded]:
        """The partitions in memory now. May be asked in any thread."""
        return tuple(self._loaded.copy().values())

    async def get(self, partition: Partition) -> Loaded:
        """The partition, loaded. Raises LedgerDamaged, StoreUnavailable."""
        loaded = self._loaded.pop(partition, None)
        if loaded is not None:
            self._loaded[partition] = loaded  # newest last: the order is the order of use
            loaded.leaving = False
            self.counts.hits += 1
            return loaded
        if partition in self._damaged:
            raise LedgerDamaged(partition.name, self._damaged[partition])
        task = self._loading.get(partition)
        self.counts.misses += 1
        if task is None:
            task = asyncio.create_task(self._load(partition), name="hydration")
            self._loading[partition] = task
            task.add_done_callback(lambda done: self._loading_ended(partition, done))
        # Whoever asked first may be cancelled; the others still want it.
        return await asyncio.shield(task)

    async def view(self, partition: Partition) -> Resident:
        """The partition as of its last whole transaction, until the caller next awaits. Raises as `get`."""
        loaded = await self.get(partition)
        while not loaded.writer.at_rest:
            await loaded.writer.rest()
        return loaded.resident

    async def write(
        self, partition: Partition, command: Command, request: Request, terms: Terms | None = None
    ) -> Answer:
        """`PartitionWriter.submit` on the partition, wherever it is. Raises as `get` and `submit`."""
        while True:
            loaded = await self.get(partition)
            try:
                return await loaded.writer.submit(command, request, terms)
            except Retired:
                continue  # it has left memory since `get`, with nothing written

    def peek(self, partition: Partition) -> Loaded | None:
        """The partition if it is in memory; does not count as use."""
        return self._loaded.get(partition)

    async def close(self) -> None:
        """Finish writing, and snapshot what would take long to load."""
        self._closing.set()
        for proof in self._proving:
            proof.cancel()
        for task in [*self._loading.values(), *self._proving]:
            await asyncio.wait([task])
        for loaded in list(self._loaded.values()):
            await loaded.resident.vectors.close()  # an index under construction is saved as far as it is
            await loaded.writer.finish()
            loaded.leaving = True
            await self._unload(loaded)
        while self._evicting:
            await asyncio.wait(self._evicting)

    async def _load(self, partition: Partition) -> Loaded:
        began = self._clock.monotonic()
        resident, unsaved = await self._hydration(partition)
        await self._usages.fill(resident)
        writer = PartitionWriter(
            resident, self._ledger, self._clock, self._ids, self._committed, self._lost, self.writes, self._tracer
        )
        loaded = Loaded(resident, writer, unsaved, resident.nbytes)
        self._loaded[partition] = loaded
        self._nbytes += loaded.nbytes
        if (covered := resident.head.revision - unsaved) > 0:
            self._prove_later(partition, covered)
        self._tend(loaded)
        self._evict_surplus()
        self.counts.loads.observe(self._clock.monotonic() - began)
        return loaded

    def _loading_ended(self, partition: Partition, task: asyncio.Task[Loaded]) -> None:
        self._loading.pop(partition, None)
        if not task.cancelled():
            task.exception()  # seen, even when everybody who asked is gone

    def _prove_later(self, partition: Partition, covered: int) -> None:
        """What a snapshot spared reading is read all the same, in the background: a snapshot, true as it is, must not
        hide for ever that the ledger under it has been damaged."""
        task = asyncio.create_task(self._prove(partition, covered), name="ledger-proof")
        self._proving.add(task)
        task.add_done_callback(self._proving.discard)

    async def _prove(self, partition: Partition, covered: int) -> None:
        try:
            await self._hydration.prove(partition, covered)
        except LedgerDamaged as error:
            _log.error("a partition is taken out of service", extra={"problem": str(error)})
            self._damaged[partition] = int(error.metadata["revision"])
            # Without a snapshot: the one that is there may be the last good copy.
            if (loaded := self._loaded.pop(partition, None)) is not None:
                self._nbytes -= loaded.nbytes
                await loaded.writer.finish()
                loaded.writer.retire()
                if loaded.tending is not None:
                    await asyncio.wait([loaded.tending])
                await loaded.resident.vectors.close()
        except SidecarError as error:
            _log.warning("a partition's ledger could not be proved", extra={"problem": str(error)})

    async def _committed(self, resident: Resident, entries: Sequence[Entry]) -> None:
        self._notify(resident, entries)
        self.writes.committed(entries)
        purges = [entry.subject for entry in entries if isinstance(entry.event, MemoryPurged)]
        if purges:
            await self._usages.forget(resident.partition, purges)
            # A snapshot holds the words, and the ledger is enough to build another.
            await self._snapshots.drop(resident.partition)
        loaded = self._loaded.get(resident.partition)
        if loaded is None or loaded.resident is not resident:
            return
        loaded.unsaved += len(entries)
        loaded.unseen += len(entries)
        if purges:
            loaded.unsaved = resident.head.revision
            # Not at once: whoever purges one memory often purges more.
            loaded.save_at = max(SNAPSHOT_AFTER, loaded.unsaved + SNAPSHOT_AT_EXIT)
        grown = loaded.unseen > LOOKED_AT_AFTER * resident.rows
        if grown or purges or loaded.unsaved >= loaded.save_at:
            self._recount(loaded)
            self._tend(loaded)
            self._evict_surplus()

    def _lost(self, resident: Resident) -> None:
        loaded = self._loaded.get(resident.partition)
        if loaded is not None and loaded.resident is resident:
            self._forget(loaded)

    def _forget(self, loaded: Loaded) -> None:
        loaded.writer.retire()
        del self._loaded[loaded.resident.partition]
        self._nbytes -= loaded.nbytes

    def _recount(self, loaded: Loaded) -> None:
        if self._loaded.get(loaded.resident.partition) is not loaded:
            return
        nbytes, loaded.unseen = loaded.resident.nbytes, 0
        self._nbytes += nbytes - loaded.nbytes
        loaded.nbytes = nbytes

    def _tend(self, loaded: Loaded) -> None:
        """Index upkeep, and a snapshot once replaying would take long; in the background, one at a time."""
        if loaded.tending is None and (loaded.unsaved >= loaded.save_at or loaded.resident.vectors.needs_upkeep):
            loaded.tending = asyncio.create_task(self._tended(loaded), name="partition-upkeep")

    async def _tended(self, loaded: Loaded) -> None:
        try:
            await self._keep_up(loaded)
            # What was written, indexed and saved has left holes as large as a twentieth of what is held.
            await asyncio.to_thread(self._give_back)
        except SidecarError as error:
            _log.warning("partition upkeep failed", extra={"problem": str(error)})
        finally:
            loaded.tending = None
            self._recount(loaded)
            self._evict_surplus()

    async def _keep_up(self, loaded: Loaded) -> None:
        began = self._clock.monotonic()
        while True:
            quiet = await self._until_quiet(loaded)
            if self._closing.is_set():
                return  # `close` saves what is worth it; an index is not built on the way out
            index_now = quiet or self._clock.monotonic() > began + INDEX_PATIENCE
            if index_now:
                await loaded.resident.vectors.maintain()
            if loaded.unsaved >= loaded.save_at:
                await self._save(loaded)
            if index_now or not loaded.resident.vectors.needs_upkeep:
                return

    async def _until_quiet(self, loaded: Loaded) -> bool:
        """Whether nobody has written for a while; False when that takes too long to wait for."""
        until = self._clock.monotonic() + SNAPSHOT_PATIENCE
        written = -1
        while loaded.unsaved != written and self._clock.monotonic() < until and not self._closing.is_set():
            written = loaded.unsaved
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), QUIET_SECONDS)
        return loaded.unsaved == written

    async def _save(self, loaded: Loaded) -> None:
        async with loaded.writer.pause:
            # When it fails, the next try is as far away as if it had not: a full disk must not see one a commit.
            loaded.save_at = loaded.unsaved + SNAPSHOT_AFTER
            if await self._hydration.save(loaded.resident):
                loaded.unsaved, loaded.save_at = 0, SNAPSHOT_AFTER

    def _evict_surplus(self) -> None:
        """Unload the least recently used partitions that nobody writes to until the budget holds; one always stays."""
        surplus = self._nbytes - self._max_bytes
        for loaded in list(self._loaded.values())[:-1]:
            if surplus <= 0:
                return
            if not loaded.leaving:
                if not loaded.writer.idle or loaded.tending is not None:
                    continue
                loaded.leaving = True
                task = asyncio.create_task(self._unload(loaded), name="eviction")
                self._evicting.add(task)
                task.add_done_callback(self._evicting.discard)
            surplus -= loaded.nbytes

    async def _unload(self, loaded: Loaded) -> None:
        if loaded.tending is not None:
            await asyncio.wait([loaded.tending])
        if loaded.leaving and loaded.unsaved >= SNAPSHOT_AT_EXIT:
            try:
                await self._save(loaded)
            except SidecarError as error:
                _log.warning("snapshot failed", extra={"problem": str(error)})
        wanted = not loaded.leaving or not loaded.writer.idle or loaded.tending is not None
        loaded.leaving = False
        if wanted or self._loaded.get(loaded.resident.partition) is not loaded:
            return  # somebody came back to it meanwhile
        self._forget(loaded)
        self.counts.evictions += 1
        await loaded.resident.vectors.close()
