"""Whether what a generation was sent still holds: the commits of its partitions tell, and the clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from memsidecar.domain.events import Entry, MemoryPurged, MemoryRecorded
from memsidecar.domain.generation.holding import stopped_holding, stopped_stating
from memsidecar.domain.generation.values import Candidate, Changed, MemoryKey
from memsidecar.domain.meeting import Sight
from memsidecar.domain.memory import Memory, State
from memsidecar.domain.reading import sources_of
from memsidecar.domain.scope import Partition
from memsidecar.ports.runtime import Clock
from memsidecar.services.changes import Changes, Listening
from memsidecar.services.residency import Residency
from memsidecar.services.statements import Statements

# Seconds after which a far end is looked at again: the machine's clock may have been set meanwhile.
_LONGEST = 3_600.0


class Held(Protocol):
    """What may stop holding."""

    def held(self) -> Sequence[Candidate]: ...

    def held_of(self, key: MemoryKey) -> Sequence[Candidate]:
        """Those of one memory: asked for every memory that is written, so it must be quick."""
        ...

    def rewritten(self, keys: Iterable[MemoryKey] | None) -> None:
        """Memories that have been written, held or not; None when it is not known which."""
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
        sight: Sight,
    ) -> None:
        self._changes, self._residency, self._clock = changes, residency, clock
        self._held, self._tell, self._sight = held, tell, sight
        # The newest version of what is held, where a write has brought one.
        self._newer: dict[MemoryKey, Memory] = {}
        # Of what is held, that which was true in the world when it was told and has an end; and what was read from it
        # and will be superseded.
        self._valid: set[MemoryKey] = set()
        self._scheduled: dict[MemoryKey, list[Memory]] = {}
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
        """Wake when the first of what is held ends: expires, stops being true, is superseded, or states what is. To be
        called when something new is held."""
        self._stop_timer()
        now, held = self._clock.now(), self._held.held()
        self._look_ahead(held, now)
        ends = [end for each in held for end in self._ends(each)]
        if ends:
            seconds = max(0, min(ends) - now) / 1_000_000
            self._timer = asyncio.get_running_loop().call_later(min(seconds, _LONGEST), self._ended)

    def _look_ahead(self, held: Sequence[Candidate], now: int) -> None:
        keys = {each.key for each in held}
        self._valid &= keys
        scheduled: dict[MemoryKey, list[Memory]] = {}
        for each in held:
            key, memory = each.key, self._present(each)
            if memory.valid_to is not None and memory.valid_to > now:
                self._valid.add(key)
            statements = self._statements(key[0], now)
            before = self._scheduled.get(key, [])
            if statements is not None:
                # What is due by now has not been told yet.
                due = [each for each in before if each.superseded_at is not None and each.superseded_at <= now]
                before = [*due, *statements.scheduled(memory)]
            if before:
                scheduled[key] = before
        self._scheduled = scheduled

    def _ends(self, each: Candidate) -> Iterator[int]:
        memory = self._present(each)
        if memory.expires_at is not None:
            yield memory.expires_at
        if memory.valid_to is not None and each.key in self._valid:
            yield memory.valid_to
        was_superseded = each.hit.memory.state is State.SUPERSEDED
        if memory.state is State.SUPERSEDED and memory.superseded_at is not None and not was_superseded:
            yield memory.superseded_at
        for loser in self._scheduled.get(each.key, ()):
            if loser.superseded_at is not None:
                yield loser.superseded_at

    async def look_again(self) -> None:
        """Compare with what is there, for the partitions of which a commit was missed. Raises StoreUnavailable,
        LedgerDamaged."""
        while self.missed:
            partition = next(iter(self.missed))
            resident = await self._residency.view(partition)
            self.missed.discard(partition)
            ids = {each.key[1] for each in self._held.held() if each.key[0] == partition}
            self._held.rewritten(None)
            statements = Statements(resident, self._clock.now(), self._clock.now())
            losers = [loser for memory_id in ids for loser in statements.read_from(memory_id)]
            present = {memory_id: resident.memory(memory_id) for memory_id in ids}
            self._compare(partition, present, losers)

    def _committed(self, entries: Sequence[Entry]) -> None:
        partition, first = entries[0].partition, entries[0].revision
        before = self._revisions.get(partition)
        self._revisions[partition] = entries[-1].revision
        if before is not None and first > before + 1:
            self.missed.add(partition)
        newest = _newest(entries)
        self._held.rewritten((partition, memory_id) for memory_id in newest)
        losers = (memory for memory in newest.values() if memory is not None and memory.state is State.SUPERSEDED)
        self._compare(partition, newest, losers)

    def _compare(self, partition: Partition, present: Mapping[str, Memory | None], losers: Iterable[Memory]) -> None:
        now, changes, concerned = self._clock.now(), [], False
        for memory_id, memory in present.items():
            key = partition, memory_id
            for candidate in self._held.held_of(key):
                concerned = True
                change = self._changed(candidate, memory, now)
                if change is not None:
                    changes.append(change)
                elif memory is not None:
                    self._newer[key] = memory
        for loser in losers:
            found = [held for source in sources_of(loser) for held in self._held.held_of((partition, source))]
            concerned = concerned or bool(found)
            changes += self._no_longer_stating(found, loser, now)
        if concerned or self.missed:
            self._stopped(changes)

    def _ended(self) -> None:
        now, changes = self._clock.now(), []
        for candidate in self._held.held():
            memory = self._present(candidate)
            change = self._changed(candidate, memory, now)
            changes += [change] if change is not None else []
            statements = self._statements(candidate.key[0], now)
            for loser in self._scheduled.get(candidate.key, ()):
                # It may have been settled in another way meanwhile.
                present = statements.memory(loser.id) if statements is not None else loser
                if present is not None:
                    changes += self._no_longer_stating([candidate], present, now)
        self._scheduled = {}
        self._stopped(changes)

    def _changed(self, told: Candidate, present: Memory | None, now: int) -> Changed | None:
        successor = None
        if present is not None and present.state is State.SUPERSEDED:
            successor = self._successor(told.key, now)
        return stopped_holding(
            told.key, told.hit.memory, present, now, successor, told.key in self._valid, self._sight.sees
        )

    def _no_longer_stating(self, held: Iterable[Candidate], loser: Memory, now: int) -> list[Changed]:
        found = []
        for each in held:
            partition = each.key[0]
            change = stopped_stating(each.key, each.hit, loser, now, self._successor((partition, loser.id), now))
            found += [change] if change is not None else []
        return found

    def _successor(self, key: MemoryKey, now: int) -> Memory | None:
        statements = self._statements(key[0], now)
        successor = statements.successor(key[1]) if statements is not None else None
        return successor if successor is not None and self._sight.may_name(successor) else None

    def _statements(self, partition: Partition, now: int) -> Statements | None:
        """None while the partition is not in memory."""
        loaded = self._residency.peek(partition)
        return Statements(loaded.resident, now, now) if loaded is not None else None

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
