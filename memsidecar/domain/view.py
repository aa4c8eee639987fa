"""What the rules may ask of a partition while they decide, and a view that sees their own earlier decisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Protocol

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.events import Event
from memsidecar.domain.feedback import NO_FEEDBACK, Feedback
from memsidecar.domain.fold import Relation, apply, edges_of
from memsidecar.domain.indexed_text import embedded_text
from memsidecar.domain.memory import Entity, Episode, Memory, State
from memsidecar.domain.reading import sources_of
from memsidecar.domain.slot_places import Sought, place_of
from memsidecar.domain.slots import slot_of, value_key
from memsidecar.domain.text import entity_key

_NONE: frozenset[str] = frozenset()
IDENTITY = "same_as"
"""The attribute of the records of merges of entities: they are kept as resolved conflicts."""
# The edges by which a memory leads to an entity.
NAMING = frozenset({Relation.MENTIONS, Relation.ABOUT})


class PartitionView(Protocol):
    """A partition at one revision, or on top of one. Reads only; answers at once."""

    def memory(self, memory_id: str) -> Memory | None:
        """The newest version, deleted ones included, purged ones not."""
        ...

    def by_digest(self, digest: bytes) -> str | None:
        """The live memory with that content; the oldest one (`oldest`) when updates or undeletes made several."""
        ...

    def holders(self, digest: bytes) -> Iterable[str]:
        """All live memories with that content."""
        ...

    def entity(self, key: str) -> str | None:
        """The live entity with that name or alias (`entity_key`), none that is merged into another one; the oldest one
        when several share it."""
        ...

    def named(self, key: str) -> Iterable[str]:
        """All live entities with that name or alias, none that are merged into another one."""
        ...

    def naming(self, entity_id: str) -> Iterable[str]:
        """All memories that mention an entity or are about it, deleted ones included."""
        ...

    def last_episode(self, session: str, without: Set[str] = _NONE) -> str | None:
        """The newest episode of a session, deleted ones included, those of `without` passed over."""
        ...

    def has_vectors(self, memory_id: str) -> bool:
        """Whether the vectors of its present text are there."""
        ...

    def feedback(self, memory_id: str) -> Feedback:
        """The verdicts on what it says now."""
        ...

    def in_slot(self, subject: str, family: str, sought: Sought | None = None) -> Iterable[str]:
        """All memories whose slot has that subject (an entity id, empty for the user) and family, of every state; with
        `sought`, at least those of them that it fits. Whoever asks compares what he gets."""
        ...

    def called(self, key: str) -> Iterable[str]:
        """All entities with a name or alias of that value key (`slots.value_key`), of every state."""
        ...

    def read_from(self, memory_id: str) -> Iterable[str]:
        """All facts and preferences that were read from a memory, of every state."""
        ...

    def rarity(self, stem: str, /) -> float:
        """How much a stem tells among the texts of the partition (`slot_words.Rarity`)."""
        ...

    def conflict(self, conflict_id: str) -> Conflict | None:
        """The newest version."""
        ...

    def conflicts_of(self, memory_id: str) -> Iterable[str]:
        """Ids of the conflicts that a memory takes, or took, part in."""
        ...

    def conflicts_about(self, subject: str, attribute: str) -> Sequence[str]:
        """Ids of the conflicts with that subject and attribute, in the order in which they were first recorded."""
        ...


def entity_keys(entity: Entity) -> tuple[str, ...]:
    """The keys under which an entity is found: its name first, then its aliases."""
    keys = dict.fromkeys(entity_key(name) for name in (entity.display_name, *entity.aliases))
    keys.pop("", None)
    return tuple(keys)


def named_keys(memory: Memory) -> tuple[str, ...]:
    """The keys that lead to a memory: an entity's that is live and not merged into another one, else none."""
    if not isinstance(memory.body, Entity) or memory.state in (State.DELETED, State.SUPERSEDED):
        return ()
    return entity_keys(memory.body)


def called_keys(entity: Entity) -> tuple[str, ...]:
    """The keys of the values that an entity's names are."""
    keys = dict.fromkeys(value_key(name) for name in (entity.display_name, *entity.aliases))
    keys.pop("", None)
    return tuple(keys)


def names(memory: Memory, entity_id: str) -> bool:
    """Whether a memory mentions an entity or is about it."""
    return any(edge.target == entity_id and edge.relation in NAMING for edge in edges_of(memory))


def oldest(memories: Iterable[Memory | None]) -> str | None:
    """The id of the one created first, equal times by id: an order that every replay agrees on."""
    return min(((m.created_at, m.id) for m in memories if m is not None), default=(0, None))[1]


class Overlay:
    """A PartitionView over another one with the effects of events that are decided but not yet committed."""

    def __init__(self, under: PartitionView) -> None:
        self._under = under
        self._memories: dict[str, Memory | None] = {}
        # Who may have a content or a name: whether it still does is asked of the memory.
        self._digests: dict[bytes, dict[str, None]] = {}
        self._entities: dict[str, dict[str, None]] = {}
        self._episodes: dict[str, list[str]] = {}
        self._purged: set[str] = set()
        self._vectors: dict[str, bool] = {}
        self._feedback: dict[str, Feedback] = {}
        self._conflicts: dict[str, Conflict] = {}
        # Who may be in a slot, and in which conflicts a memory may take part.
        self._slots: dict[tuple[str, str], dict[str, None]] = {}
        self._called: dict[str, dict[str, None]] = {}
        self._readings: dict[str, dict[str, None]] = {}
        self._parts: dict[str, dict[str, None]] = {}

    def add(self, event: Event) -> None:
        """See what this event will do."""
        delta = apply(event)
        if delta.purged:
            self._memories[delta.subject] = None
            self._purged.add(delta.subject)
            self._vectors[delta.subject] = False
            self._feedback[delta.subject] = NO_FEEDBACK
        if delta.put is not None:
            self._put(delta.put)
        if delta.vectors is not None and self.memory(delta.subject) is not None:
            self._vectors[delta.subject] = len(delta.vectors.rows) > 0
        if delta.feedback is not None and self.memory(delta.subject) is not None:
            self._feedback[delta.subject] = delta.feedback
        if delta.conflict is not None:
            self._conflicts[delta.subject] = delta.conflict
            for memory_id in delta.conflict.memories:
                self._parts.setdefault(memory_id, {})[delta.subject] = None

    def _put(self, memory: Memory) -> None:
        known = self.memory(memory.id)
        if known is not None and embedded_text(known.body) != embedded_text(memory.body):
            self._vectors[memory.id] = False
            self._feedback[memory.id] = NO_FEEDBACK
        if known is None and isinstance(memory.body, Episode) and memory.scope.session:
            self._episodes.setdefault(memory.scope.session, []).append(memory.id)
        self._memories[memory.id] = memory
        if (slot := slot_of(memory)) is not None:
            self._slots.setdefault((slot.subject, slot.family), {})[memory.id] = None
        for source in sources_of(memory):
            self._readings.setdefault(source, {})[memory.id] = None
        if memory.digest:
            self._digests.setdefault(memory.digest, {})[memory.id] = None
        if isinstance(memory.body, Entity):
            for key in entity_keys(memory.body):
                self._entities.setdefault(key, {})[memory.id] = None
            for key in called_keys(memory.body):
                self._called.setdefault(key, {})[memory.id] = None

    def memory(self, memory_id: str) -> Memory | None:
        return self._memories[memory_id] if memory_id in self._memories else self._under.memory(memory_id)

    def by_digest(self, digest: bytes) -> str | None:
        if not self._memories:
            return self._under.by_digest(digest)
        return oldest(map(self.memory, self.holders(digest)))

    def holders(self, digest: bytes) -> Iterable[str]:
        found = [i for i in self._under.holders(digest) if i not in self._memories]
        for memory_id in self._digests.get(digest, ()):
            memory = self._live(memory_id)
            if memory is not None and memory.digest == digest:
                found.append(memory_id)
        return found

    def entity(self, key: str) -> str | None:
        if not self._memories:
            return self._under.entity(key)
        return oldest(map(self.memory, self.named(key)))

    def named(self, key: str) -> Iterable[str]:
        found = [i for i in self._under.named(key) if i not in self._memories]
        for memory_id in self._entities.get(key, ()):
            memory = self._live(memory_id)
            if memory is not None and key in named_keys(memory):
                found.append(memory_id)
        return found

    def naming(self, entity_id: str) -> Iterable[str]:
        found = [i for i in self._under.naming(entity_id) if i not in self._memories]
        found += [i for i, memory in self._memories.items() if memory is not None and names(memory, entity_id)]
        return found

    def last_episode(self, session: str, without: Set[str] = _NONE) -> str | None:
        for memory_id in reversed(self._episodes.get(session, ())):
            memory = self._memories.get(memory_id)
            if memory is not None and memory_id not in without and memory.scope.session == session:
                return memory_id
        return self._under.last_episode(session, without | self._purged)

    def has_vectors(self, memory_id: str) -> bool:
        known = self._vectors.get(memory_id)
        return self._under.has_vectors(memory_id) if known is None else known

    def feedback(self, memory_id: str) -> Feedback:
        known = self._feedback.get(memory_id)
        return self._under.feedback(memory_id) if known is None else known

    def in_slot(self, subject: str, family: str, sought: Sought | None = None) -> Iterable[str]:
        found = [i for i in self._under.in_slot(subject, family, sought) if i not in self._memories]
        for memory_id in self._slots.get((subject, family), ()):
            memory = self._memories.get(memory_id)
            slot = slot_of(memory) if memory is not None else None
            if memory is None or slot is None or (slot.subject, slot.family) != (subject, family):
                continue
            if sought is None or sought.fits(place_of(memory, slot)):
                found.append(memory_id)
        return found

    def rarity(self, stem: str, /) -> float:
        return self._under.rarity(stem)

    def called(self, key: str) -> Iterable[str]:
        found = [i for i in self._under.called(key) if i not in self._memories]
        for memory_id in self._called.get(key, ()):
            memory = self._memories.get(memory_id)
            if memory is not None and isinstance(memory.body, Entity) and key in called_keys(memory.body):
                found.append(memory_id)
        return found

    def read_from(self, memory_id: str) -> Iterable[str]:
        found = [i for i in self._under.read_from(memory_id) if i not in self._memories]
        own = ((i, self._memories.get(i)) for i in self._readings.get(memory_id, ()))
        return [*found, *(i for i, m in own if m is not None and memory_id in sources_of(m))]

    def conflict(self, conflict_id: str) -> Conflict | None:
        return self._conflicts.get(conflict_id) or self._under.conflict(conflict_id)

    def conflicts_of(self, memory_id: str) -> Iterable[str]:
        found = [i for i in self._under.conflicts_of(memory_id) if i not in self._conflicts]
        own = (i for i in self._parts.get(memory_id, ()) if memory_id in self._conflicts[i].memories)
        return [*found, *own]

    def conflicts_about(self, subject: str, attribute: str) -> Sequence[str]:
        known = self._under.conflicts_about(subject, attribute)
        if not self._conflicts:
            return known
        own = {i: (c.subject, c.attribute) == (subject, attribute) for i, c in self._conflicts.items()}
        return [i for i in dict.fromkeys((*known, *own)) if own.get(i, True)]

    def _live(self, memory_id: str) -> Memory | None:
        memory = self._memories.get(memory_id)
        return memory if memory is not None and memory.state is not State.DELETED else None
