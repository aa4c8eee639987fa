"""What memories state, and what of it no longer holds or is disputed: read from the conflicts of a partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from memsidecar.domain.conflict import Conflict, ConflictState, Rule
from memsidecar.domain.conflicts.chain import has_begun
from memsidecar.domain.meeting import state_seen
from memsidecar.domain.memory import Fact, Memory, State
from memsidecar.domain.reading import sources_of
from memsidecar.domain.recall import HitStanding
from memsidecar.services.resident import Resident

_UNSETTLED = (int(State.SUPERSEDED), int(State.DISPUTED))


class Statements:
    """Of one partition, for a question that is asked at `now` of a store that is read at `known`, about what was true
    at `valid_at` (None: is true).

    Costs a look into a dictionary for each memory, and nothing while a partition has no conflicts (`possible`).
    """

    def __init__(self, resident: Resident, now: int, known: int, valid_at: int | None = None) -> None:
        self._resident, self._now, self._known, self._valid_at = resident, now, known, valid_at
        self.possible = len(resident.conflicts) > 0

    def standings(self, memory: Memory) -> tuple[HitStanding, ...]:
        """What a memory states that is SUPERSEDED or DISPUTED: itself, and what was read from it."""
        if not self.possible:
            return ()
        found: list[HitStanding] = []
        for stated in self._stated(memory):
            if not self._has_begun(stated):
                continue
            state = self.state(stated)
            if state is State.SUPERSEDED:
                found.append(self._superseded(stated))
            elif state is State.DISPUTED:
                found += self._disputed(stated)
        return tuple(found)

    def state(self, memory: Memory) -> State:
        """The state that the question sees."""
        return state_seen(memory, self._now, self._known, self._valid_at)

    def successor(self, memory_id: str) -> Memory | None:
        """What holds instead of a memory that has been superseded; None when that is gone, or nobody knows."""
        conflict = self._lost(memory_id) if self.possible else None
        holder = self._holder(memory_id, conflict) if conflict is not None else ""
        return self.memory(holder) if holder else None

    def scheduled(self, memory: Memory) -> list[Memory]:
        """What was read from a memory and will be superseded at a time that is known."""
        if self._resident.columns.last_superseding <= self._known:
            return []
        superseded: Any = self._resident.columns["superseded"]
        rows = self._resident.lookup.read_from(memory.id)
        return [self._resident.records.get(row) for row in rows if superseded[row] > self._known]

    def read_from(self, memory_id: str) -> list[Memory]:
        """The facts and preferences that were read from a memory and are SUPERSEDED or DISPUTED."""
        states: Any = self._resident.columns["state"]
        rows = self._resident.lookup.read_from(memory_id)
        return [self._resident.records.get(row) for row in rows if states[row] in _UNSETTLED]

    def memory(self, memory_id: str) -> Memory | None:
        """One that is there and not deleted."""
        memory = self._resident.memory(memory_id)
        return memory if memory is not None and memory.state is not State.DELETED else None

    def _has_begun(self, memory: Memory) -> bool:
        """Whether it is something that a question about a time can see."""
        return self._valid_at is None or has_begun(memory, self._valid_at)

    def _stated(self, memory: Memory) -> Iterator[Memory]:
        if memory.state in (State.SUPERSEDED, State.DISPUTED):
            yield memory
        yield from self.read_from(memory.id)

    def _superseded(self, loser: Memory) -> HitStanding:
        conflict = self._lost(loser.id)
        if conflict is None:
            return HitStanding(loser.id, State.SUPERSEDED, loser.text)
        holder = self._holder(loser.id, conflict)
        others = dict.fromkeys((holder, *conflict.memories)) if holder else dict.fromkeys(conflict.memories)
        others.pop(loser.id, None)
        return HitStanding(
            loser.id,
            State.SUPERSEDED,
            loser.text,
            holder,
            conflict.id,
            self._with_sources(others),
            self._with_sources((holder,)) if holder else (),
        )

    def _disputed(self, memory: Memory) -> Iterator[HitStanding]:
        for conflict_id in self._resident.conflicts_of(memory.id):
            conflict = self._resident.conflict(conflict_id)
            if conflict is not None and conflict.state is ConflictState.OPEN:
                others = (i for i in conflict.memories if i != memory.id and self._contradicts(i, memory, conflict))
                told = self._with_sources(others)
                yield HitStanding(memory.id, State.DISPUTED, memory.text, "", conflict.id, told)

    def _contradicts(self, other_id: str, memory: Memory, conflict: Conflict) -> bool:
        """Whether another memory of a conflict is not on the side of this one: what was done does not contradict what
        else was done, only that it never was."""
        other = self._resident.memory(other_id) if conflict.rule is Rule.EXPERIENCE else None
        if other is None or not isinstance(other.body, Fact) or not isinstance(memory.body, Fact):
            return True
        return other.body.negated != memory.body.negated

    def _lost(self, memory_id: str) -> Conflict | None:
        """The conflict, as settled, in which a memory was superseded: the last one of them."""
        last = None
        for conflict_id in self._resident.conflicts_of(memory_id):
            conflict = self._resident.conflict(conflict_id)
            if (
                conflict is not None
                and conflict.state is ConflictState.RESOLVED
                and memory_id in conflict.losers
                and conflict.winner not in ("", memory_id)
                and (last is None or _settled(conflict) >= _settled(last))
            ):
                last = conflict
        return last

    def _holder(self, loser_id: str, conflict: Conflict) -> str:
        """What holds instead: the winner, or what has superseded that in turn; empty when it is gone."""
        seen, holder = {loser_id}, conflict.winner
        while holder not in seen:
            seen.add(holder)
            memory = self.memory(holder)
            if memory is None:
                return ""
            if self.state(memory) is not State.SUPERSEDED:
                return holder
            further = self._lost(holder)
            if further is None:
                return holder
            holder = further.winner
        return ""

    def _with_sources(self, memory_ids: Iterable[str]) -> tuple[str, ...]:
        """Those that are still there, each followed by what it was read from."""
        found: dict[str, None] = {}
        for memory_id in memory_ids:
            memory = self._seen(memory_id)
            if memory is not None:
                found[memory_id] = None
                found.update((source, None) for source in sources_of(memory) if self._seen(source) is not None)
        return tuple(found)

    def _seen(self, memory_id: str) -> Memory | None:
        memory = self.memory(memory_id)
        return memory if memory is not None and self._has_begun(memory) else None


def _settled(conflict: Conflict) -> int:
    return conflict.updated_at if conflict.resolved_at is None else conflict.resolved_at
