"""Which memories stand against one another: same slot, and what they say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from memsidecar.domain import slots
from memsidecar.domain.conflict import Rule
from memsidecar.domain.conflicts.chain import never_true, start_of
from memsidecar.domain.conflicts.hints import learned_single
from memsidecar.domain.conflicts.rules import ConflictRules
from memsidecar.domain.memory import Entity, Fact, Memory, Preference, State
from memsidecar.domain.reading import sources_of
from memsidecar.domain.slot_places import Sought, entity_value, numbers_of, own_key, words_of
from memsidecar.domain.slot_words import Rarity, alike
from memsidecar.domain.slots import EXPERIENCE, OPPOSED, Slot, opposed, slot_of
from memsidecar.domain.view import PartitionView, called_keys


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
        case Fact(negated=negated):
            sign = -1 if negated else 1
        case Preference(polarity=polarity):
            sign = (polarity > 0) - (polarity < 0)
        case _:
            return None
    values = frozenset(_values(view, memory))
    return Stance(slot, values, sign, memory.scope.agent) if values else None


def _values(view: PartitionView, memory: Memory) -> Iterator[str]:
    if key := own_key(memory):
        yield key
    if isinstance(memory.body, Fact) and memory.body.object_entity:
        entity = view.memory(memory.body.object_entity)
        if entity is not None and isinstance(entity.body, Entity):
            yield from called_keys(entity.body)


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
    """The memories of one memory's slot, told apart by how they stand to it, as far as they are asked for. `changing`
    says that its words tell that something is otherwise now: then an attribute that nobody has listed has one value at
    a time, unless what became of its conflicts says more (`learned_single`)."""

    def __init__(
        self, view: PartitionView, memory: Memory, stance: Stance, rules: ConflictRules, changing: bool
    ) -> None:
        single = rules.single(stance.slot)
        if single is None:
            learned = learned_single(view, memory.id, stance.slot)
            single = changing if learned is None else learned
        self.stance, self.single = stance, single
        self._view, self._memory, self._rarity, self._changing = view, memory, view.rarity, changing
        self._values = numbers_of(stance.slot, _all_keys(view, stance.values))
        self._words = words_of(stance.slot)
        self._asked: tuple[int, int | None] | None = None
        self._answer: list[Peer] = []

    def alike(self, since: int | None = None) -> list[Memory]:
        """Those that say the same for the same agent, and hold at `since` (default: when the memory begins), or later,
        or are no history."""
        later = Sought(self._values, self._words, since=start_of(self._memory) if since is None else since)
        lasting = Sought(self._values, self._words, superseded=False)
        found = {m.id: m for sought in (later, lasting) for m in self._found(sought)}
        stance = self.stance
        theirs = ((m, stance_of(self._view, m)) for m in found.values())
        return [
            m
            for m, other in theirs
            if other is not None
            and stance.same_value(other)
            and (stance.sign, stance.agent) == (other.sign, other.agent)
            and self._rule(other) is None
        ]

    def against(self, since: int, until: int | None) -> list[Peer]:
        """Those that cannot hold at a time with it, and are true at some time from `since` to `until` (None: ever). The
        last answer is kept: a neighbourhood is of one moment of the store."""
        if self._asked != (since, until):
            self._asked, self._answer = (since, until), self._against(since, until)
        return self._answer

    def _against(self, since: int, until: int | None) -> list[Peer]:
        if self.stance.slot.family == EXPERIENCE:
            sought = Sought(words=self._words, negated=not self.stance.slot.negated, since=since, until=until)
        elif self.single:
            sought = Sought(words=self._words, since=since, until=until)
        else:
            sought = Sought(self._values, self._words, since=since, until=until)
        peers = []
        for other in self._found(sought):
            theirs = stance_of(self._view, other)
            if theirs is None or (rule := self._rule(theirs)) is None:
                continue
            if rule is Rule.VALUE and self.stance.slot.quantity is not None and _of_one_text(other, self._memory):
                continue  # "3 of the 5": a text may tell several amounts of one thing
            peers.append(Peer(other, theirs, rule))
        return peers

    def of_the_value(self) -> Iterator[Memory]:
        """At least those that have its value, of every time."""
        return self._found(Sought(self._values, self._words))

    def _found(self, sought: Sought) -> Iterator[Memory]:
        return in_slot(self._view, self._memory, self.stance.slot, self._changing, sought)

    def _rule(self, theirs: Stance) -> Rule | None:
        rule = rule_between(theirs, self.stance, self.single, self._rarity)
        return Rule.POLARITY if rule is Rule.NEGATION and isinstance(self._memory.body, Preference) else rule

    def sure(self, slot: Slot) -> float:
        """How sure it is that another slot is the same (`slots.same_slot`)."""
        return slots.same_slot(slot, self.stance.slot, changed=self._changing, rarity=self._rarity)


def _of_one_text(one: Memory, other: Memory) -> bool:
    """Whether both were read from the same text."""
    return not set(sources_of(one)).isdisjoint(sources_of(other))


def _all_keys(view: PartitionView, keys: Iterable[str]) -> Iterator[str]:
    """The keys, and those of the entities that are called so."""
    for key in keys:
        yield key
        yield from map(entity_value, view.called(key))


class SlotView(Protocol):
    """What finding the memories of a slot asks of a partition, as `PartitionView` says."""

    def memory(self, memory_id: str) -> Memory | None: ...

    def in_slot(self, subject: str, family: str, sought: Sought | None = None) -> Iterable[str]: ...

    def rarity(self, stem: str, /) -> float: ...


def in_slot(
    view: SlotView, memory: Memory, slot: Slot, changing: bool = True, sought: Sought | None = None
) -> Iterator[Memory]:
    """The other memories of a slot, at least those that are `sought`; deleted ones left out."""
    for memory_id in view.in_slot(slot.subject, slot.family, sought):
        other = view.memory(memory_id) if memory_id != memory.id else None
        if other is None or other.state is State.DELETED:
            continue
        theirs = slot_of(other)
        if theirs is not None and same_slot(theirs, slot, changing, view.rarity):
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
