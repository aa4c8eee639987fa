"""Whether what a generation was sent still holds: the commits of its partitions tell, and the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from memsidecar.domain.events import Entry, MemoryPurged, MemoryRecorded
from memsidecar.domain.generation.holding import stopped_holding
from memsidecar.domain.generation.values import Candidate, Changed, MemoryKey
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition
from memsidecar.ports.runtime import Clock
from memsidecar.services.changes import Changes, Listening
from memsidecar.services.residency import Residency

# Seconds after which a far end is looked at again: the machine's clock may have been set meanwhile.
_LONGEST = 3_600.0


class Held(Protocol):
    """What may stop holding."""

    def held(self) -> Sequence[Candidate]: ...

    def held_of(self, key: MemoryKey) -> Sequence[Candidate]:
        """Those of one memory: asked for every memory that is written, so it must be quick."""
        ...


class Standing:
    """`tell` is called with what has stopped holding, in the moment it does."""

    def __init__(
        self,
        changes: Changes,
        residency: Residency,
        clock: Clock,
        held: Held,
        tell: Callable[[Sequence[Changed]], None],
    ) -> None:
        self._changes, self._residency, self._clock = changes, residency, clock
        self._held, self._tell = held, tell
        # The newest version of what is held, where a write has brought one.
        self._newer: dict[MemoryKey, Memory] = {}
        self._revisions: dict[Partition, int] = {}
        self._listening: list[Listening] = []
        self._timer: asyncio.TimerHandle | None = None
        self.missed: set[Partition] = set()

    def listen(self, partitions: Iterable[Partition]) -> None:
        self._listening = [self._changes.listen(partition, self._committed) for partition in partitions]

    def reached(self, partition: Partition, revision: int) -> int:
        """The newest revision that is known of a partition, given one of them."""
        newest = max(revision, self._revisions.get(partition, 0))
        self._revisions[partition] = newest
        return newest

    def close(self) -> None:
        for listening in self._listening:
            listening.close()
        self._stop_timer()

    def await_end(self) -> None:
        """Wake when the first of what is held expires. To be called when something new is."""
        self._stop_timer()
        ends = [end for each in self._held.held() if (end := self._present(each).expires_at) is not None]
        if ends:
            seconds = max(0, min(ends) - self._clock.now()) / 1_000_000
            self._timer = asyncio.get_running_loop().call_later(min(seconds, _LONGEST), self._ended)

    async def look_again(self) -> None:
        """Compare with what is there, for the partitions of which a commit was missed. Raises StoreUnavailable,
        LedgerDamaged."""
        while self.missed:
            partition = next(iter(self.missed))
            resident = await self._residency.view(partition)
            self.missed.discard(partition)
            ids = {each.key[1] for each in self._held.held() if each.key[0] == partition}
            self._compare(partition, {memory_id: resident.memory(memory_id) for memory_id in ids})

    def _committed(self, entries: Sequence[Entry]) -> None:
        partition, first = entries[0].partition, entries[0].revision
        before = self._revisions.get(partition)
        self._revisions[partition] = entries[-1].revision
        if before is not None and first > before + 1:
            self.missed.add(partition)
        self._compare(partition, _newest(entries))

    def _compare(self, partition: Partition, present: Mapping[str, Memory | None]) -> None:
        now, changes, concerned = self._clock.now(), [], False
        for memory_id, memory in present.items():
            key = partition, memory_id
            for candidate in self._held.held_of(key):
                concerned = True
                change = stopped_holding(key, candidate.hit.memory, memory, now)
                if change is not None:
                    changes.append(change)
                elif memory is not None:
                    self._newer[key] = memory
        if concerned or self.missed:
            self._stopped(changes)

    def _ended(self) -> None:
        now, changes = self._clock.now(), []
        for candidate in self._held.held():
            memory = self._present(candidate)
            if memory.expires_at is not None:
                change = stopped_holding(candidate.key, candidate.hit.memory, memory, now)
                changes += [change] if change is not None else []
        self._stopped(changes)

    def _stopped(self, changes: Sequence[Changed]) -> None:
        for change in changes:
            self._newer.pop(change.key, None)
        if changes or self.missed:
            self._tell(changes)
        self.await_end()

    def _present(self, candidate: Candidate) -> Memory:
        return self._newer.get(candidate.key, candidate.hit.memory)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _newest(entries: Sequence[Entry]) -> dict[str, Memory | None]:
    """What the entries have made of memories; None for one that is purged."""
    found: dict[str, Memory | None] = {}
    for entry in entries:
        if isinstance(entry.event, MemoryRecorded):
            found[entry.subject] = entry.event.memory
        elif isinstance(entry.event, MemoryPurged):
            found[entry.subject] = None
    return found
