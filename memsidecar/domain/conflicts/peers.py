"""Which memories stand against one another: same slot, and what they say of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from memsidecar.domain import slots
from memsidecar.domain.conflict import Rule
from memsidecar.domain.conflicts.chain import never_true
from memsidecar.domain.conflicts.hints import learned_single
from memsidecar.domain.conflicts.rules import ConflictRules
from memsidecar.domain.memory import Entity, Fact, Memory, Preference, State
from memsidecar.domain.slot_words import Rarity, alike
from memsidecar.domain.slots import EXPERIENCE, OPPOSED, Slot, opposed, slot_of, value_key
from memsidecar.domain.text import normalise
from memsidecar.domain.view import PartitionView


@dataclass(frozen=True, slots=True)
class Stance:
    """What a memory says of a slot: `values` are the keys of its value (an entity's id and all its names), any of which
    another one may share; `sign` is 1 or -1, 0 for a preference that leans to neither side."""

    slot: Slot
    values: frozenset[str]
    sign: int
    agent: str

    def same_value(self, other: Stance) -> bool:
        if self.slot.quantity is not None and other.slot.quantity is not None:
            return slots.same_value(self.slot, other.slot)
        return bool(self.values & other.values)


def stance_of(view: PartitionView, memory: Memory) -> Stance | None:
    """None for what has no slot, or says no value for it: nothing can stand against it."""
    slot = slot_of(memory)
    if slot is None:
        return None
    match memory.body:
        case Fact() as fact:
            values = frozenset(_values(view, fact))
            sign = -1 if fact.negated else 1
        case Preference(topic=topic, value=value, polarity=polarity):
            values = frozenset(key for key in (value_key(value or topic),) if key)
            sign = (polarity > 0) - (polarity < 0)
        case _:
            return None
    return Stance(slot, values, sign, memory.scope.agent) if values else None


def _values(view: PartitionView, fact: Fact) -> Iterator[str]:
    if fact.object_entity:
        yield f"@{fact.object_entity}"
        entity = view.memory(fact.object_entity)
        if entity is not None and isinstance(entity.body, Entity):
            yield from filter(None, map(value_key, (entity.body.display_name, *entity.body.aliases)))
    elif fact.object_text:
        yield value_key(fact.object_text)
    elif fact.object_value:
        yield _json_key(fact.object_value)


def _json_key(value: str) -> str:
    try:
        found = json.loads(value)
    except ValueError:
        return normalise(value)
    if isinstance(found, str):
        return value_key(found)
    return json.dumps(found, sort_keys=True, ensure_ascii=False)


def rule_between(one: Stance, other: Stance, single: bool, rarity: Rarity = alike) -> Rule | None:
    """Why two memories of one slot cannot both hold at a time; None when they can."""
    if one.slot.family == EXPERIENCE:
        return Rule.EXPERIENCE if opposed(one.slot, other.slot, rarity=rarity) >= OPPOSED else None
    if one.same_value(other):
        return Rule.NEGATION if one.sign * other.sign < 0 else None
    return Rule.VALUE if single and one.sign >= 0 and other.sign >= 0 else None


def same_slot(older: Slot, newer: Slot, changing: bool = True, rarity: Rarity = alike) -> bool:
    """Whether two slots are one. `changing` says that the words of the newer one tell that something is otherwise."""
    if older.family == newer.family == EXPERIENCE:
        return older.subject == newer.subject
    return slots.same_slot(older, newer, changed=changing, rarity=rarity) >= slots.SAME


@dataclass(frozen=True, slots=True)
class Peer:
    memory: Memory
    stance: Stance
    rule: Rule


class Neighbourhood:
    """All memories of one memory's slot, told apart by how they stand to it. `changing` says that its words tell that
    something is otherwise now: then an attribute that nobody has listed has one value at a time, unless what became of
    its conflicts says more (`learned_single`)."""

    def __init__(
        self, view: PartitionView, memory: Memory, stance: Stance, rules: ConflictRules, changing: bool
    ) -> None:
        others = list(in_slot(view, memory, stance.slot, changing, rules.rarity))
        single = rules.single(stance.slot)
        if single is None:
            learned = learned_single(view, stance.slot.family, others)
            single = changing if learned is None else learned
        self.stance, self.single = stance, single
        self.against: list[Peer] = []
        self.alike: list[Memory] = []
        for other in others:
            theirs = stance_of(view, other)
            if theirs is None:
                continue
            rule = rule_between(theirs, stance, self.single, rules.rarity)
            if (rule := _named(rule, memory)) is not None:
                self.against.append(Peer(other, theirs, rule))
            elif stance.same_value(theirs) and stance.sign == theirs.sign and stance.agent == theirs.agent:
                self.alike.append(other)


def _named(rule: Rule | None, memory: Memory) -> Rule | None:
    return Rule.POLARITY if rule is Rule.NEGATION and isinstance(memory.body, Preference) else rule


class SlotView(Protocol):
    """What finding the memories of a slot asks of a partition, as `PartitionView` says."""

    def memory(self, memory_id: str) -> Memory | None: ...

    def in_slot(self, subject: str, family: str) -> Iterable[str]: ...


def in_slot(
    view: SlotView, memory: Memory, slot: Slot, changing: bool = True, rarity: Rarity = alike
) -> Iterator[Memory]:
    """The other memories of a slot, deleted ones left out."""
    for memory_id in view.in_slot(slot.subject, slot.family):
        other = view.memory(memory_id) if memory_id != memory.id else None
        if other is None or other.state is State.DELETED:
            continue
        theirs = slot_of(other)
        if theirs is not None and same_slot(theirs, slot, changing, rarity):
            yield other


def reaches(later: str, earlier: str) -> bool:
    """Whether what one agent's memory says may end another's.

    What is said for every agent (empty) ends what any of them holds. What an agent holds for itself ends only its own:
    the others do not see it, and would be left without a value.
    """
    return later in ("", earlier)


def alive(peer: Memory, now: int) -> bool:
    """Whether a reader sees it as something that holds, or that is in dispute."""
    return peer.state_at(now) in (State.ACTIVE, State.DISPUTED, State.DORMANT) and not never_true(peer)
