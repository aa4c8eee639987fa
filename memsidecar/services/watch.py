"""Watching: the changes of a scope in their order, each once, after a revision and from then on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.conflicts.shown import Shown, ids_of, named_by
from memsidecar.domain.errors import Draining, RevisionUnknown
from memsidecar.domain.events import (
    Change,
    ConflictRecorded,
    Entry,
    FeedbackGiven,
    MemoryPurged,
    MemoryRecorded,
    VectorsRecorded,
)
from memsidecar.domain.meeting import meets
from memsidecar.domain.memory import Memory
from memsidecar.domain.recall import NO_FILTER, Filter
from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.view import IDENTITY
from memsidecar.ports.ledger import Ledger
from memsidecar.ports.metrics import Kind, Metric
from memsidecar.services.changes import Changes, Listening
from memsidecar.services.residency import Residency
from memsidecar.services.tail import Reader, Tail, size_of
from memsidecar.services.turn import Turn

# Entries of the ledger read at once for one watcher, and bytes of theirs that are kept while it reads them.
PAGE = 128
PAGE_BYTES = 128 * 1024
# Pages read at the same time, for all watchers: others need the ledger's readers, too.
READS = 2


@dataclass(frozen=True, slots=True)
class Changed:
    """A change of a memory: the ledger's entry. Its event is None when it has been erased since."""

    entry: Entry
    revision: int


@dataclass(frozen=True, slots=True)
class Contradicted:
    """A conflict was opened or has another version; with its memories, as they all were then."""

    shown: Shown
    revision: int


@dataclass(frozen=True, slots=True)
class Alive:
    """Everything up to the revision has been looked at; `caught_up`: there was nothing more."""

    caught_up: bool
    revision: int


@dataclass(frozen=True, slots=True)
class Behind:
    """More changes have come than are held in memory; `pending` of the whole partition are still to be looked at."""

    pending: int
    revision: int


Watched: TypeAlias = Changed | Contradicted | Alive | Behind
"""What a watcher is told. A watch after its `revision` goes on without a loss or a duplicate."""


class Watch:
    """Serves any number of watchers; what it holds does not grow with how slowly they read."""

    def __init__(self, residency: Residency, ledger: Ledger, changes: Changes, heartbeat: float) -> None:
        """`heartbeat`: seconds after which a watcher that has been told nothing is told that the watch is alive."""
        self._residency, self._ledger, self._changes, self._heartbeat = residency, ledger, changes, heartbeat
        self._tails: dict[Partition, tuple[Tail, Listening]] = {}
        self._reading = asyncio.Semaphore(READS)
        self._draining = False
        self.behind = 0

    async def __call__(self, scope: Scope, wanted: Filter, after: int | None) -> AsyncGenerator[Watched, None]:
        """Changes after a revision, or from now on, of memories that meet the filter before or after the change.

        The first event is an Alive that says from where. Whether a memory has expired counts as of the change; that it
        expires is no change, and not told. Vectors and feedback are none either, and move the revision. A purge is
        told whatever the filter: what the memory was is gone, and who holds it must let go of it. Of earlier changes
        of a purged memory it is told that they were, unless something is narrowed: then nobody can tell whether they
        would meet it. Each version of a conflict is told, also one that only lost a memory to a purge: who holds the
        conflict needs its etag. It is told when one of its memories, or of those that just left it, meets the filter.

        Raises RevisionUnknown for a revision that the store has not reached, LedgerDamaged after everything before
        the damage, StoreUnavailable; Draining as soon as `drain` is called.
        """
        with self._following(scope.partition) as (tail, reader):
            watching = _Watching(self._ledger, scope, wanted)
            reached = await self._start(scope.partition, tail, after)
            live = reached >= tail.newest
            yield Alive(live, reached)
            due = _now() + self._heartbeat
            turn = Turn()
            while True:
                reader.woken.clear()
                self._raise_if_draining()
                if live and tail.after(reached) is None:
                    live = False
                    if reached < tail.dropped:
                        self.behind += 1
                        yield Behind(tail.newest - reached, reached)
                        due = _now() + self._heartbeat
                await self._read(watching, tail, reader, reached)
                looked_at = 0
                while reader.page and _now() < due:
                    entry = reader.page[0]
                    told = await watching.told(entry)
                    if reader.page[0] is not entry:
                        continue  # it was erased meanwhile
                    reader.page.popleft()
                    reached, looked_at = entry.revision, looked_at + 1
                    if told is not None:
                        yield told
                        due = _now() + self._heartbeat
                        self._raise_if_draining()
                    await turn.give()
                caught_up = reached >= tail.newest
                if (caught_up and not live) or _now() >= due:
                    live = caught_up
                    yield Alive(live, reached)
                    due = _now() + self._heartbeat
                elif not looked_at and not await _is_set(reader.woken, due):
                    # Told nothing for long: look whether a commit went unnoticed, because it could not be applied.
                    await self._look(scope.partition, tail)

    def metrics(self) -> Sequence[Metric]:
        return (
            Metric(
                "memsidecar_watch_behind_total",
                Kind.COUNTER,
                "Times that a watcher was too slow for the newest changes in memory and went back to the ledger.",
                lambda: [((), self.behind)],
            ),
        )

    def drain(self) -> None:
        """End every watch, and every one that begins: they go on elsewhere, after the last revision they were told."""
        self._draining = True
        for tail, _ in self._tails.values():
            tail.wake()

    def _raise_if_draining(self) -> None:
        if self._draining:
            raise Draining

    @contextmanager
    def _following(self, partition: Partition) -> Iterator[tuple[Tail, Reader]]:
        """The partition's tail, which all of its watchers share, and this one's place in it."""
        tail, listening = self._tails.get(partition) or (Tail(), None)
        if listening is None:
            listening = self._changes.listen(partition, tail)
            self._tails[partition] = (tail, listening)
        reader = tail.join()
        try:
            yield tail, reader
        finally:
            if tail.part(reader):
                listening.close()
                del self._tails[partition]

    async def _start(self, partition: Partition, tail: Tail, after: int | None) -> int:
        head, shown = await self._look(partition, tail)
        if after is not None and after > head:
            raise RevisionUnknown(str(after), "after")
        return shown if after is None else after

    async def _look(self, partition: Partition, tail: Tail) -> tuple[int, int]:
        """The newest revision of the ledger, and of what a recall shows: that is what a watcher is told of."""
        head = (await self._ledger.head(partition)).revision
        loaded = self._residency.peek(partition)
        shown = head if loaded is None else min(head, loaded.resident.head.revision)
        tail.newest = max(tail.newest, shown)
        return head, shown

    async def _read(self, watching: _Watching, tail: Tail, reader: Reader, reached: int) -> None:
        """Turn to what comes next: from memory when it is there, from the ledger otherwise.

        Only what a recall shows by now: a watcher may ask for what it was just told. It will be woken for the rest.
        """
        partition = watching.scope.partition
        held = tail.after(reached)
        if held is not None:
            reader.turn_to(held)
            return
        reader.begin()
        entries = await watching.page(reached, self._reading)
        if (loaded := self._residency.peek(partition)) is not None:
            shown = loaded.resident.head.revision
            entries = [entry for entry in entries if entry.revision <= shown]
        reader.turn_to(entries)


class _Watching:
    """What one watcher wants, and how much of the ledger fits into a page of its."""

    def __init__(self, ledger: Ledger, scope: Scope, wanted: Filter) -> None:
        self.scope = scope
        self._ledger, self._wanted = ledger, wanted
        self._is_narrow = bool(scope.agent or scope.session) or wanted != NO_FILTER
        self._limit = PAGE

    async def page(self, after: int, reading: asyncio.Semaphore) -> Sequence[Entry]:
        """The next entries of the ledger, few when they are large."""
        async with reading:
            entries = await self._ledger.read(self.scope.partition, after, self._limit)
        nbytes = 0
        for count, entry in enumerate(entries):
            nbytes += size_of(entry)
            if nbytes > PAGE_BYTES and count:
                self._limit = count
                return entries[:count]
        self._limit = min(2 * self._limit, PAGE)
        return entries

    async def told(self, entry: Entry) -> Changed | Contradicted | None:
        """What a watcher is told of an entry."""
        match entry.event:
            case VectorsRecorded() | FeedbackGiven():
                return None
            case MemoryPurged():
                return Changed(entry, entry.revision)
            case MemoryRecorded(change=change, memory=memory):
                if self._meets(memory, entry):
                    return Changed(entry, entry.revision)
                before = None if change is Change.CREATED else await self._version(entry.subject, entry)
                return Changed(entry, entry.revision) if before is not None and self._meets(before, entry) else None
            case ConflictRecorded(conflict=conflict):
                return await self._contradicted(conflict, entry)
            case _:
                return None if self._is_narrow else Changed(entry, entry.revision)

    async def _contradicted(self, conflict: Conflict, entry: Entry) -> Contradicted | None:
        if conflict.attribute == IDENTITY:
            # The record of a merge of entities is no conflict of memories; what it has changed is told.
            return None
        memories = await self._versions(ids_of(conflict), entry)
        memories.update(await self._versions(named_by(tuple(memories.values())), entry))
        shown = Shown(conflict, memories)
        if self._is_narrow and not any(self._meets(memory, entry) for memory in shown.sides):
            left = await self._left(conflict, entry)
            if not any(self._meets(memory, entry) for memory in left):
                return None
        return Contradicted(shown, entry.revision)

    async def _left(self, conflict: Conflict, entry: Entry) -> Iterable[Memory]:
        """The memories that a conflict has lost: it may have been told because of them."""
        if conflict.version == 1:
            return ()
        for earlier in await self._ledger.history(entry.partition, entry.subject, entry.revision, 1):
            if isinstance(earlier.event, ConflictRecorded):
                gone = [i for i in earlier.event.conflict.memories if i not in conflict.memories]
                return (await self._versions(gone, entry)).values()
        return ()

    def _meets(self, memory: Memory, entry: Entry) -> bool:
        return meets(memory, self.scope, self._wanted, entry.recorded_at)

    async def _versions(self, memory_ids: Iterable[str], entry: Entry) -> dict[str, Memory]:
        """The versions before an entry, of those memories that have one."""
        found = {memory_id: await self._version(memory_id, entry) for memory_id in memory_ids}
        return {memory_id: memory for memory_id, memory in found.items() if memory is not None}

    async def _version(self, memory_id: str, entry: Entry) -> Memory | None:
        """The version of a memory before an entry; None when there was none, or it is gone."""
        before = entry.revision
        while entries := await self._ledger.history(entry.partition, memory_id, before, 8):
            for earlier in entries:
                match earlier.event:
                    case MemoryRecorded(memory=memory):
                        return memory
                    case VectorsRecorded() | FeedbackGiven():
                        before = earlier.revision
                    case _:
                        return None
        return None


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _is_set(event: asyncio.Event, until: float) -> bool:
    """Whether it is set by then."""
    try:
        async with asyncio.timeout_at(until):
            await event.wait()
    except TimeoutError:
        return False
    return True
