"""Taking back what a conflict has made of its memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from memsidecar.domain.conflict import Conflict, ConflictState, Resolution
from memsidecar.domain.conflicts.closing import as_before, is_disputed, undisputed
from memsidecar.domain.decision import Decision
from memsidecar.domain.errors import ConflictBlocked, EtagMismatch, InvalidField, NotFound
from memsidecar.domain.events import Change, ConflictRecorded, MemoryRecorded
from memsidecar.domain.memory import Memory, State
from memsidecar.domain.removal import soft_delete
from memsidecar.domain.scope import resource_name
from memsidecar.domain.view import IDENTITY

_RESTORED: Mapping[str, Change] = MappingProxyType({})


def undo(decision: Decision, conflict_id: str, etag: str = "", reason: str = "") -> Conflict:
    """Take a resolution back. Each of its memories has the state, the validity and the times of before it, byte for
    byte, under its next version: where somebody had to decide, they are disputed and the conflict is open again. What
    a replacement has created is deleted.

    Raises NotFound, EtagMismatch, ConflictBlocked, InvalidField (it is not resolved).
    """
    conflict = conflict_at(decision, conflict_id, etag)
    if conflict.state is not ConflictState.RESOLVED:
        raise InvalidField("name", f"is {conflict.state.name.lower()}; only a resolution can be undone")
    check_later(decision, conflict)
    taken = take_back(decision, conflict)
    undone = replace(
        conflict,
        state=ConflictState.UNDONE,
        updated_at=decision.now,
        resolved_by=decision.request.actor,
        reason=reason,
        version=conflict.version + 1,
    )
    if conflict.opened and len(members := taken.alive()) > 1:
        taken.dispute(members, conflict.created_at)
        undone = replace(
            undone,
            state=ConflictState.OPEN,
            memories=tuple(i for i in conflict.memories if i not in taken.created),
            resolution=Resolution.NONE,
            winner="",
            losers=(),
            resolved_at=None,
            resolved_by="",
        )
    taken.record(reason, _RESTORED)
    decision.record(ConflictRecorded(undone, decision.request.actor, reason))
    return undone


def conflict_at(decision: Decision, conflict_id: str, etag: str) -> Conflict:
    """The newest version of a conflict. Raises NotFound, EtagMismatch; InvalidField for a merge of entities."""
    conflict = decision.view.conflict(conflict_id)
    name = resource_name(decision.partition, "conflicts", conflict_id)
    if conflict is None:
        raise NotFound(name)
    if etag and etag != str(conflict.version):
        raise EtagMismatch(name, str(conflict.version))
    if conflict.attribute == IDENTITY:
        raise InvalidField("name", "is a merge of entities; undo that merge instead")
    return conflict


def check_later(decision: Decision, conflict: Conflict) -> None:
    """Raises ConflictBlocked when a later conflict has changed a memory of this one."""
    view = decision.view
    for memory_id in conflict.memories:
        ids = list(view.conflicts_of(memory_id))
        place = ids.index(conflict.id) if conflict.id in ids else -1
        for i, other_id in enumerate(ids):
            other = view.conflict(other_id)
            if other is None or other.id == conflict.id or other.attribute == IDENTITY:
                continue
            if other.state not in (ConflictState.OPEN, ConflictState.RESOLVED):
                continue
            if not any(before.memory_id == memory_id for before in other.before):
                continue
            if (_changed_at(other), i) > (_changed_at(conflict), place):
                raise ConflictBlocked(resource_name(decision.partition, "conflicts", other_id))


def _changed_at(conflict: Conflict) -> int:
    """When it last changed its memories."""
    return conflict.updated_at if conflict.resolved_at is None else conflict.resolved_at


@dataclass(slots=True)
class Taken:
    """The memories of a conflict as they would be without it, not yet recorded."""

    decision: Decision
    memories: dict[str, Memory]
    created: tuple[str, ...] = ()
    """What it has created: a replacement, the earlier time of what was true twice."""

    def alive(self) -> list[Memory]:
        """Those that are not deleted, without what it has created."""
        return [m for m in self.memories.values() if m.state is not State.DELETED]

    def dispute(self, members: Iterable[Memory], since: int) -> None:
        """Make them disputed, as they were since some time."""
        for memory in members:
            time = max(memory.updated_at, since)
            self.memories[memory.id] = replace(memory, state=State.DISPUTED, updated_at=time)

    def record(self, reason: str, changes: Mapping[str, Change]) -> None:
        """Record each that is not so already, `changes` saying why."""
        decision = self.decision
        for memory_id, memory in self.memories.items():
            known = decision.view.memory(memory_id)
            change = changes.get(memory_id, Change.RESTORED)
            if known is None or known == memory:
                continue
            moved = replace(memory, version=known.version + 1)
            if memory_id in changes:
                moved = replace(moved, updated_at=decision.now)
            decision.record(MemoryRecorded(change, moved, None, decision.request.actor, reason))
        for memory_id in self.created:
            known = decision.view.memory(memory_id)
            if known is not None and known.state is not State.DELETED:
                soft_delete(decision, known, "the resolution that created it was taken back")


def as_they_are(decision: Decision, conflict: Conflict) -> Taken:
    """The memories of a conflict that changes nothing any more."""
    there = (decision.view.memory(memory_id) for memory_id in conflict.memories)
    return Taken(decision, {memory.id: memory for memory in there if memory is not None})


def take_back(decision: Decision, conflict: Conflict) -> Taken:
    memories: dict[str, Memory] = {}
    for memory_id in conflict.memories:
        if (known := decision.view.memory(memory_id)) is not None:
            memories[memory_id] = known
    for before in conflict.before:
        known = decision.view.memory(before.memory_id)
        if known is None:
            continue
        disputed = is_disputed(decision.view, before.memory_id, conflict.id)
        is_open = conflict.state is ConflictState.OPEN
        back = undisputed(known, before, disputed) if is_open else as_before(known, before, disputed)
        if back.updated_at <= _changed_at(conflict):
            # Nothing has changed it since the conflict did.
            back = replace(back, updated_at=before.updated_at)
        elif back != known:
            back = replace(back, updated_at=decision.now)
        memories[before.memory_id] = back
    created = _created(conflict)
    for memory_id in created:
        memories.pop(memory_id, None)
    return Taken(decision, memories, created)


def _created(conflict: Conflict) -> tuple[str, ...]:
    if conflict.resolution is Resolution.REPLACED:
        return (conflict.winner,) if conflict.winner else ()
    if conflict.resolution is not Resolution.CHANGED:
        return ()
    known = {conflict.winner, *(before.memory_id for before in conflict.before)}
    return tuple(memory_id for memory_id in conflict.memories if memory_id not in known)
