"""An open conflict that is none any more: its memories are as they would be without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from itertools import combinations
from types import MappingProxyType

from memsidecar.domain.conflict import Before, Conflict, ConflictState
from memsidecar.domain.conflicts.opening import open_conflicts_of
from memsidecar.domain.conflicts.peers import rule_between, same_slot, stance_of
from memsidecar.domain.decision import Decision
from memsidecar.domain.events import Change, ConflictRecorded, MemoryRecorded
from memsidecar.domain.memory import Memory, State
from memsidecar.domain.view import PartitionView

_NONE: frozenset[str] = frozenset()
_NO_TIMES: Mapping[str, int] = MappingProxyType({})
SETTLED_ELSEWHERE = "settled together with another conflict"
BY_ITSELF = "its memories contradict one another no longer"


def as_before(memory: Memory, before: Before, disputed: bool = False) -> Memory:
    """A memory with the state and the validity that it had; `disputed` says that it still takes part in a conflict."""
    return replace(
        undisputed(memory, before, disputed),
        valid_from=before.valid_from,
        valid_to=before.valid_to,
        superseded_at=before.superseded_at,
    )


def undisputed(memory: Memory, before: Before, disputed: bool = False) -> Memory:
    """A memory with the state that it had: a dispute changes nothing else. One that is over does not come back."""
    if memory.state is State.DELETED:
        return memory
    state = State.ACTIVE if before.state is State.DISPUTED else before.state
    return replace(memory, state=State.DISPUTED if disputed else state)


def is_disputed(view: PartitionView, memory_id: str, but: str) -> bool:
    """Whether a memory takes part in an open conflict other than `but`."""
    return any(conflict.id != but for conflict in open_conflicts_of(view, memory_id))


def dismissed(
    decision: Decision,
    conflict: Conflict,
    reason: str,
    gone: Set[str] = _NONE,
    times: Mapping[str, int] = _NO_TIMES,
) -> tuple[list[Memory], Conflict]:
    """Its disputed memories as they were before it, but for those `gone`, and its next version. `times` are the
    `updated_at` of those that get another one than now."""
    restored = []
    for before in conflict.before:
        memory = decision.view.memory(before.memory_id)
        if memory is None or memory.id in gone or memory.state is not State.DISPUTED:
            continue
        if is_disputed(decision.view, memory.id, conflict.id):
            continue
        back = undisputed(memory, before)
        time = times.get(memory.id, decision.now)
        restored.append(replace(back, updated_at=time, version=memory.version + 1))
    closed = replace(
        conflict,
        state=ConflictState.DISMISSED,
        updated_at=decision.now,
        resolved_at=decision.now,
        reason=reason,
        version=conflict.version + 1,
    )
    return restored, closed


def dismiss(
    decision: Decision,
    conflict: Conflict,
    reason: str,
    gone: Set[str] = _NONE,
    times: Mapping[str, int] = _NO_TIMES,
) -> None:
    restored, closed = dismissed(decision, conflict, reason, gone, times)
    for memory in restored:
        decision.record(MemoryRecorded(Change.RESTORED, memory, None, decision.request.actor, reason))
    decision.record(ConflictRecorded(closed, decision.request.actor, reason))


def still_contradict(view: PartitionView, memory_ids: Iterable[str], gone: Set[str] = _NONE) -> bool:
    """Whether at least two of the memories are there, disputed, and cannot both hold."""
    there = (view.memory(memory_id) for memory_id in memory_ids if memory_id not in gone)
    disputed = [m for m in there if m is not None and m.state is State.DISPUTED]
    stances = [stance for stance in (stance_of(view, m) for m in disputed) if stance is not None]
    return any(
        same_slot(one.slot, other.slot, rarity=view.rarity)
        and rule_between(one, other, single=True, rarity=view.rarity) is not None
        for one, other in combinations(stances, 2)
    )


def leave(decision: Decision, memory_id: str, out: bool = False) -> None:
    """A memory is deleted, purged, or (`out`) says something else now: open conflicts that this has settled are
    dismissed, and of others it is no part any more if it is `out`."""
    for conflict in open_conflicts_of(decision.view, memory_id):
        if not still_contradict(decision.view, conflict.memories, {memory_id}):
            dismiss(decision, conflict, BY_ITSELF, {memory_id})
        elif out:
            without = _without(decision, conflict, memory_id)
            decision.record(ConflictRecorded(without, decision.request.actor, "a memory of it says something else now"))


def part(decision: Decision, memory_id: str, times: Mapping[str, int]) -> None:
    """A memory is about somebody else now: open conflicts in which it contradicts nobody any more go on without it."""
    view = decision.view
    for conflict in open_conflicts_of(view, memory_id):
        if not still_contradict(view, conflict.memories):
            dismiss(decision, conflict, BY_ITSELF, times=times)
        elif not any(still_contradict(view, (memory_id, other)) for other in conflict.memories):
            alone = replace(conflict, before=tuple(b for b in conflict.before if b.memory_id == memory_id))
            for memory in dismissed(decision, alone, BY_ITSELF, times=times)[0]:
                decision.record(MemoryRecorded(Change.RESTORED, memory, None, decision.request.actor, BY_ITSELF))
            without = _without(decision, conflict, memory_id)
            decision.record(ConflictRecorded(without, decision.request.actor, BY_ITSELF))


def forget(decision: Decision, memory_id: str) -> None:
    """Take a memory's id out of every record of a conflict; an open one that has lost its point is dismissed."""
    leave(decision, memory_id)
    for conflict_id in tuple(decision.view.conflicts_of(memory_id)):
        conflict = decision.view.conflict(conflict_id)
        if conflict is None:
            continue
        without = _without(decision, conflict, memory_id)
        decision.record(ConflictRecorded(without, decision.request.actor, "a memory of it was purged"))


def _without(decision: Decision, conflict: Conflict, memory_id: str) -> Conflict:
    return replace(
        conflict,
        memories=tuple(i for i in conflict.memories if i != memory_id),
        losers=tuple(i for i in conflict.losers if i != memory_id),
        winner="" if conflict.winner == memory_id else conflict.winner,
        evidence=tuple(e for e in conflict.evidence if memory_id not in (e.memory_id, e.source_id)),
        before=tuple(b for b in conflict.before if b.memory_id != memory_id),
        updated_at=decision.now,
        version=conflict.version + 1,
    )
