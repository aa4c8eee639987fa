"""Two entities that are one: merged by name or by hand, never by likeness, and parted again exactly as they were. Pure.

A merge is kept as a resolved conflict of the attribute `IDENTITY`: the target is the winner, the source the loser. Its
`before` are the memories that were recorded anew, as they were; its `evidence` are the places in them where the source
stood, and where the target had stood beside it: `start` is the role, `end` the place in a list of that role.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from memsidecar.domain.claims import Manner
from memsidecar.domain.conflict import Conflict, ConflictState, Evidence, Policy, Resolution, Rule, Source
from memsidecar.domain.conflicts.chain import before_of
from memsidecar.domain.conflicts.closing import as_before, part
from memsidecar.domain.conflicts.rules import DEFAULT_RULES, ConflictRules
from memsidecar.domain.conflicts.settle import Challenge, settle
from memsidecar.domain.decision import Decision, Steps, finished
from memsidecar.domain.draft import Action
from memsidecar.domain.errors import ConflictBlocked, InvalidField, NotFound
from memsidecar.domain.events import Change, ConflictRecorded, MemoryRecorded
from memsidecar.domain.identity import digest_of
from memsidecar.domain.limits import MAX_REPEATED
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Memory, Preference, State
from memsidecar.domain.removal import discovered
from memsidecar.domain.scope import resource_name
from memsidecar.domain.view import IDENTITY

MAX_SOURCES = 16


class _Role(IntEnum):
    """Where an entity's id stands in a memory. Numbers are stored; never renumber."""

    SUBJECT = 1
    OBJECT = 2
    PARTICIPANT = 3
    MENTION = 4
    ALIAS = 5
    """Of the target: it had that one of the source's names before."""
    DISCOVERED = 6
    """Of the target: it had only been found in texts."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The entities concerned as they are now, the target first; how many memories name another one than before; and the
    conflicts that this has opened."""

    entities: tuple[Memory, ...]
    moved: int
    conflicts: tuple[str, ...] = ()


def merge(
    decision: Decision,
    target_id: str,
    source_ids: Sequence[str],
    reason: str = "",
    rules: ConflictRules = DEFAULT_RULES,
) -> Merged:
    """Fold entities into one. It gains their names; what named them names it; they are history.

    What contradicts one another by this is left open; nothing is superseded by a merge. Raises NotFound, InvalidField.
    """
    return finished(merging(decision, target_id, source_ids, reason, rules))


def merging(
    decision: Decision,
    target_id: str,
    source_ids: Sequence[str],
    reason: str = "",
    rules: ConflictRules = DEFAULT_RULES,
) -> Steps[Merged]:
    """`merge` in short steps: thousands of memories may name an entity."""
    _entity(decision, target_id, "target")
    for i, source_id in enumerate(source_ids):
        _entity(decision, source_id, f"sources[{i}]")
        if source_id == target_id or source_id in source_ids[:i]:
            raise InvalidField(f"sources[{i}]", "is named twice")
    if not source_ids or len(source_ids) > MAX_SOURCES:
        raise InvalidField("sources", f"must be 1 to {MAX_SOURCES} entities")
    moved: set[str] = set()
    opened: dict[str, None] = {}
    for source_id in source_ids:
        ids = yield from _merging_one(decision, target_id, source_id, reason, rules)
        moved.update(ids[0])
        opened.update(dict.fromkeys(ids[1]))
    entities = (_there(decision, target_id), *(_there(decision, i) for i in source_ids))
    return Merged(entities, len(moved), tuple(opened))


def _merging_one(
    decision: Decision, target_id: str, source_id: str, reason: str, rules: ConflictRules
) -> Steps[tuple[list[str], list[str]]]:
    actor = decision.request.actor
    source, target = _there(decision, source_id), _there(decision, target_id)
    before = [before_of(source), before_of(target)]
    places: list[Evidence] = []
    named = _united(target, source)
    named = replace(named, updated_at=decision.now)
    had = _names(target)
    places += [Evidence(target_id, target_id, _Role.ALIAS, i) for i, n in enumerate(_names(source)) if n in had]
    if discovered(target):
        places.append(Evidence(target_id, target_id, _Role.DISCOVERED))
    decision.record(MemoryRecorded(Change.UNITED, named, None, actor, reason))
    gone = replace(
        source,
        state=State.SUPERSEDED,
        superseded_at=decision.now,
        updated_at=decision.now,
        version=source.version + 1,
    )
    decision.record(MemoryRecorded(Change.UNITED, gone, None, actor, reason))
    moved, changed = [], []
    for memory_id in tuple(decision.view.naming(source_id)):
        if (known := decision.view.memory(memory_id)) is not None:
            moved.append(known)
        yield
    for memory in sorted(moved, key=lambda m: (m.created_at, m.id)):
        if memory.id in (source_id, target_id):
            continue
        before.append(before_of(memory))
        places += _places(memory, source_id, target_id)
        other = _naming(memory, source_id, target_id)
        other = replace(other, updated_at=decision.now, version=memory.version + 1)
        decision.record(MemoryRecorded(Change.UNITED, other, None, actor, reason))
        changed.append(other)
        yield
    record = Conflict(
        id=decision.new_id(),
        subject=target_id,
        attribute=IDENTITY,
        rule=Rule.VALUE,
        memories=(target_id, source_id, *(m.id for m in changed)),
        created_at=decision.now,
        updated_at=decision.now,
        policy=Policy.SUPERSEDE,
        state=ConflictState.RESOLVED,
        resolution=Resolution.CHANGED,
        winner=target_id,
        losers=(source_id,),
        resolved_at=decision.now,
        resolved_by=actor,
        reason=reason,
        severity=max(source.importance, target.importance),
        evidence=tuple(places),
        before=tuple(before),
    )
    decision.record(ConflictRecorded(record, actor, reason))
    opened = yield from _meeting(decision, changed, rules)
    return [m.id for m in changed], opened


def _meeting(decision: Decision, moved: Iterable[Memory], rules: ConflictRules) -> Steps[list[str]]:
    """What was about two entities is about one now: contradictions are left open."""
    opened: list[str] = []
    for memory in moved:
        yield
        known = decision.view.memory(memory.id)
        if known is None or known.state is not State.ACTIVE:
            continue
        challenge = Challenge(rules, Policy.FLAG, Manner.STATED, Source.USER)
        settled = settle(decision, known, challenge)
        if settled.action is not Action.CONFLICT_FLAGGED:
            continue
        new = replace(settled.memory, version=known.version + 1, updated_at=decision.now)
        settled.record(decision, MemoryRecorded(Change.DISPUTED, new, None, decision.request.actor))
        opened += [conflict.id for conflict in settled.conflicts]
    return opened


def unmerge(decision: Decision, source_id: str, reason: str = "") -> Merged:
    """Take a merge back: source, target and what named them are exactly as before; what was stored since keeps the
    target, and so does what was changed since to name it.

    Raises NotFound, InvalidField (the entity is in no other one), ConflictBlocked (a contradiction that came of the
    merge has been resolved, or the target is merged into another one since: undo that first).
    """
    return finished(unmerging(decision, source_id, reason))


def unmerging(decision: Decision, source_id: str, reason: str = "") -> Steps[Merged]:
    """`unmerge` in short steps."""
    if decision.view.memory(source_id) is None:
        raise NotFound(decision.name(source_id))
    record = _merge_of(decision, source_id)
    if record is None:
        raise InvalidField("source", f"{decision.name(source_id)} is not merged into another entity")
    actor, target_id = decision.request.actor, record.winner
    if (outer := _merge_of(decision, target_id)) is not None:
        # What named the source names neither of the two now.
        raise ConflictBlocked(resource_name(decision.partition, "conflicts", outer.id))
    _check_settled(decision, record)
    times = {b.memory_id: b.updated_at for b in record.before}
    moved = 0
    before = {b.memory_id: b for b in record.before}
    at: dict[str, list[Evidence]] = {}
    for evidence in record.evidence:
        at.setdefault(evidence.memory_id, []).append(evidence)
    for memory_id, was in before.items():
        yield
        known = decision.view.memory(memory_id)
        if known is None:
            continue
        places = at.get(memory_id, [])
        if memory_id in (source_id, target_id):
            back = _parted(known, decision.view.memory(source_id), places) if memory_id == target_id else known
            if memory_id == source_id:
                back = as_before(known, was)
        else:
            back = _named_apart(known, source_id, target_id, places)
            moved += back != known
        if back == known:
            continue
        untouched = known.updated_at == record.resolved_at
        back = replace(back, version=known.version + 1, updated_at=was.updated_at if untouched else decision.now)
        decision.record(MemoryRecorded(Change.PARTED, back, None, actor, reason))
    for memory_id in before:
        part(decision, memory_id, times)
        yield
    undone = replace(
        record,
        state=ConflictState.UNDONE,
        updated_at=decision.now,
        resolved_by=actor,
        reason=reason,
        version=record.version + 1,
    )
    decision.record(ConflictRecorded(undone, actor, reason))
    there = (decision.view.memory(i) for i in (target_id, source_id))
    return Merged(tuple(m for m in there if m is not None), moved)


def _check_settled(decision: Decision, record: Conflict) -> None:
    moved = {b.memory_id for b in record.before}
    for conflict_id in dict.fromkeys(c for i in moved for c in decision.view.conflicts_of(i)):
        conflict = decision.view.conflict(conflict_id)
        if conflict is None or conflict.attribute == IDENTITY or conflict.state is not ConflictState.RESOLVED:
            continue
        since = conflict.resolved_at is not None and conflict.resolved_at >= record.created_at
        if since and not moved.issuperset(conflict.memories):
            raise ConflictBlocked(resource_name(decision.partition, "conflicts", conflict_id))


def _merge_of(decision: Decision, source_id: str) -> Conflict | None:
    view = decision.view
    records = (view.conflict(i) for i in view.conflicts_of(source_id))
    merges = [c for c in records if c is not None and c.attribute == IDENTITY and source_id in c.losers]
    return next((c for c in reversed(merges) if c.state is ConflictState.RESOLVED), None)


def _entity(decision: Decision, entity_id: str, where: str) -> Memory:
    memory = decision.view.memory(entity_id)
    if memory is None:
        raise NotFound(decision.name(entity_id))
    if not isinstance(memory.body, Entity):
        raise InvalidField(where, f"{decision.name(entity_id)} is not an entity")
    if memory.state is State.DELETED:
        raise InvalidField(where, f"{decision.name(entity_id)} is deleted; undelete it first")
    if memory.state is State.SUPERSEDED:
        raise InvalidField(where, f"{decision.name(entity_id)} is merged into another entity already")
    return memory


def _there(decision: Decision, memory_id: str) -> Memory:
    memory = decision.view.memory(memory_id)
    if memory is None:
        raise NotFound(decision.name(memory_id))
    return memory


def _names(entity: Memory) -> tuple[str, ...]:
    return (entity.body.display_name, *entity.body.aliases) if isinstance(entity.body, Entity) else ()


def _united(target: Memory, source: Memory) -> Memory:
    """The target with the source's names."""
    body = target.body
    if not isinstance(body, Entity):
        return target
    names = dict.fromkeys((*body.aliases, *_names(source)))
    names.pop(body.display_name, None)
    new = replace(body, aliases=tuple(names)[: max(MAX_REPEATED, len(body.aliases))], discovered=False)
    return replace(target, body=new, version=target.version + 1, digest=digest_of(new, target.scope.agent))


def _naming(memory: Memory, old: str, new: str) -> Memory:
    """The memory with another entity in all places."""

    def swap(entity: str) -> str:
        return new if entity == old else entity

    def each(ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(swap, ids)))

    body: Body = memory.body
    match body:
        case Fact(subject=subject, object_entity=target):
            body = replace(body, subject=swap(subject), object_entity=swap(target))
        case Preference(subject=subject):
            body = replace(body, subject=swap(subject))
        case Episode(participants=participants):
            body = replace(body, participants=each(participants))
        case _:
            pass
    return _with_body(memory, body, each(memory.mentions))


def _with_body(memory: Memory, body: Body, mentions: tuple[str, ...]) -> Memory:
    digest = memory.digest if body == memory.body else digest_of(body, memory.scope.agent)
    return replace(memory, body=body, mentions=mentions, digest=digest)


def _lists(memory: Memory) -> list[tuple[_Role, tuple[str, ...]]]:
    lists = [(_Role.MENTION, memory.mentions)]
    match memory.body:
        case Fact(subject=subject, object_entity=target):
            lists += [(_Role.SUBJECT, (subject,)), (_Role.OBJECT, (target,))]
        case Preference(subject=subject):
            lists.append((_Role.SUBJECT, (subject,)))
        case Episode(participants=participants):
            lists.append((_Role.PARTICIPANT, participants))
        case _:
            pass
    return lists


def _places(memory: Memory, source_id: str, target_id: str) -> list[Evidence]:
    """Where the source stands; in a list that has it, where the target stands, too."""
    return [
        Evidence(memory.id, entity, role, place)
        for role, ids in _lists(memory)
        if source_id in ids
        for place, entity in enumerate(ids)
        if entity in (source_id, target_id)
    ]


def _named_apart(memory: Memory, source_id: str, target_id: str, places: Sequence[Evidence]) -> Memory:
    """The memory with the source back where it stood, unless it names the target there no longer."""
    stood: dict[int, list[Evidence]] = {}
    for place in places:
        stood.setdefault(place.start, []).append(place)

    def back(role: _Role, ids: tuple[str, ...]) -> tuple[str, ...]:
        if role not in stood or target_id not in ids:
            return ids
        kept = [i for i in ids if i not in (source_id, target_id)]
        for place in sorted(stood[role], key=lambda e: e.end):
            kept.insert(place.end, place.source_id)
        return tuple(kept)

    body: Body = memory.body
    match body:
        case Fact(subject=subject, object_entity=target):
            one, other = back(_Role.SUBJECT, (subject,)), back(_Role.OBJECT, (target,))
            body = replace(body, subject=one[0], object_entity=other[0])
        case Preference(subject=subject):
            body = replace(body, subject=back(_Role.SUBJECT, (subject,))[0])
        case Episode(participants=participants):
            body = replace(body, participants=back(_Role.PARTICIPANT, participants))
        case _:
            pass
    return _with_body(memory, body, back(_Role.MENTION, memory.mentions))


def _parted(target: Memory, source: Memory | None, places: Sequence[Evidence]) -> Memory:
    """The target without the names that it had from the source."""
    body = target.body
    if not isinstance(body, Entity) or source is None:
        return target
    had = {e.end for e in places if e.start == _Role.ALIAS}
    foreign = {name for i, name in enumerate(_names(source)) if i not in had}
    aliases = tuple(name for name in body.aliases if name not in foreign)
    found = any(e.start == _Role.DISCOVERED for e in places)
    return _with_body(target, replace(body, aliases=aliases, discovered=body.discovered or found), target.mentions)
