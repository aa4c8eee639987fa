"""A contradiction that nobody has decided: the conflict that is opened, or the one that it joins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memsidecar.domain.conflict import Before, Conflict, ConflictState, Evidence, Policy, Resolution
from memsidecar.domain.conflicts.chain import before_of, order_of
from memsidecar.domain.conflicts.peers import Peer, Stance
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Action
from memsidecar.domain.events import Change
from memsidecar.domain.memory import Memory, State
from memsidecar.domain.view import PartitionView


@dataclass(frozen=True, slots=True)
class Opened:
    memory: Memory
    changed: tuple[tuple[Change, Memory], ...]
    conflict: Conflict
    action: Action
    explanation: str


def flag(decision: Decision, memory: Memory, stance: Stance, peers: Sequence[Peer], policy: Policy) -> Opened:
    """All of them are disputed. A peer that is so already brings its conflict, which the others join."""
    changed = []
    for peer in peers:
        known = peer.memory
        if known.state is not State.DISPUTED:
            disputed = replace(known, state=State.DISPUTED, updated_at=decision.now, version=known.version + 1)
            changed.append((Change.DISPUTED, disputed))
    conflict = _joined(decision, memory, peers)
    conflict = conflict or replace(_new(decision, memory, stance, peers, policy), opened=True)
    disputed = replace(memory, state=State.DISPUTED)
    explanation = "it contradicts what is known; all of it is disputed until the conflict is resolved"
    return Opened(disputed, tuple(changed), conflict, Action.CONFLICT_FLAGGED, explanation)


def keep_both(decision: Decision, memory: Memory, stance: Stance, peers: Sequence[Peer]) -> Opened:
    """All of them hold, and the record says that it was noticed."""
    conflict = replace(
        _new(decision, memory, stance, peers, Policy.KEEP_BOTH),
        state=ConflictState.RESOLVED,
        resolution=Resolution.KEPT_BOTH,
        resolved_at=decision.now,
        resolved_by=decision.request.actor,
        before=(),
    )
    return Opened(memory, (), conflict, Action.CREATED, "new; what it contradicts holds as well, as the policy says")


def open_conflicts_of(view: PartitionView, memory_id: str) -> list[Conflict]:
    conflicts = (view.conflict(conflict_id) for conflict_id in view.conflicts_of(memory_id))
    return [c for c in conflicts if c is not None and c.state is ConflictState.OPEN]


def evidence_of(memories: Iterable[Memory]) -> tuple[Evidence, ...]:
    """What supports each memory: what it was read from, or it itself when it was written as it is."""
    found: dict[Evidence, None] = {}
    for memory in memories:
        read_from = [Evidence(memory.id, i, p.start, p.end) for p in memory.provenance for i in p.derived_from]
        found.update(dict.fromkeys(read_from or [Evidence(memory.id, memory.id)]))
    return tuple(found)


def severity_of(memories: Iterable[Memory]) -> float:
    return max(memory.importance for memory in memories)


def _joined(decision: Decision, memory: Memory, peers: Sequence[Peer]) -> Conflict | None:
    known = next((c for peer in peers for c in open_conflicts_of(decision.view, peer.memory.id)), None)
    if known is None:
        return None
    before = {b.memory_id: b for b in known.before}
    members = {i: decision.view.memory(i) for i in known.memories}
    for new in (*(peer.memory for peer in peers), memory):
        if new.id not in members or members[new.id] is None:
            before.setdefault(new.id, before_of(new))
        members[new.id] = new
    there = sorted((m for m in members.values() if m is not None), key=order_of)
    added = [m for m in there if m.id not in known.memories]
    return replace(
        known,
        memories=tuple(m.id for m in there),
        updated_at=decision.now,
        severity=max(known.severity, severity_of(there)),
        evidence=(*known.evidence, *evidence_of(added)),
        before=tuple(before.values()),
        version=known.version + 1,
    )


def _new(decision: Decision, memory: Memory, stance: Stance, peers: Sequence[Peer], policy: Policy) -> Conflict:
    memories = sorted((*(peer.memory for peer in peers), memory), key=order_of)
    return Conflict(
        id=decision.new_id(),
        subject=stance.slot.subject,
        attribute=stance.slot.family,
        rule=peers[-1].rule,
        memories=tuple(m.id for m in memories),
        created_at=decision.now,
        updated_at=decision.now,
        policy=policy,
        severity=severity_of(memories),
        evidence=evidence_of(memories),
        before=_befores(memories),
    )


def _befores(memories: Iterable[Memory]) -> tuple[Before, ...]:
    return tuple(map(before_of, memories))
