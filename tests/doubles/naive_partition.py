"""A partition as its definition says: every question is answered by looking at every memory."""

from __future__ import annotations

from collections.abc import Set

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.events import Event, Vectors
from memsidecar.domain.feedback import NO_FEEDBACK, Feedback
from memsidecar.domain.fold import apply
from memsidecar.domain.indexed_text import embedded_text, indexed_text
from memsidecar.domain.memory import Entity, Episode, Memory, State
from memsidecar.domain.reading import sources_of
from memsidecar.domain.slot_places import Sought, place_of
from memsidecar.domain.slot_words import rarity_among
from memsidecar.domain.slots import slot_of, value_key
from memsidecar.domain.text import entity_key
from memsidecar.domain.tokens import tokens
from memsidecar.domain.view import names, oldest


class NaivePartition:
    """A PartitionView. `memories` are in the order in which they were created."""

    def __init__(self) -> None:
        self.memories: dict[str, Memory] = {}
        self.vectors: dict[str, Vectors] = {}
        self.verdicts: dict[str, Feedback] = {}
        self.conflicts: dict[str, Conflict] = {}

    def apply(self, event: Event) -> None:
        delta = apply(event)
        if delta.purged:
            self.memories.pop(delta.subject, None)
            self.vectors.pop(delta.subject, None)
            self.verdicts.pop(delta.subject, None)
        if delta.put is not None:
            known = self.memories.get(delta.subject)
            if known is not None and embedded_text(known.body) != embedded_text(delta.put.body):
                self.vectors.pop(delta.subject, None)
                self.verdicts.pop(delta.subject, None)
            self.memories[delta.subject] = delta.put
        if delta.vectors is not None and delta.subject in self.memories:
            if len(delta.vectors.rows):
                self.vectors[delta.subject] = delta.vectors
            else:
                self.vectors.pop(delta.subject, None)

        if delta.feedback is not None and delta.subject in self.memories:
            self.verdicts[delta.subject] = delta.feedback
        if delta.conflict is not None:
            self.conflicts[delta.subject] = delta.conflict

    def _live(self) -> list[Memory]:
        return [m for m in self.memories.values() if m.state is not State.DELETED]

    def memory(self, memory_id: str) -> Memory | None:
        return self.memories.get(memory_id)

    def by_digest(self, digest: bytes) -> str | None:
        return oldest(map(self.memory, self.holders(digest)))

    def holders(self, digest: bytes) -> list[str]:
        return [m.id for m in self._live() if m.digest == digest]

    def entity(self, key: str) -> str | None:
        return oldest(map(self.memory, self.named(key)))

    def named(self, key: str) -> list[str]:
        if not key:
            return []
        entities = ((m.id, m.body) for m in self._live() if isinstance(m.body, Entity))
        merged = {m.id for m in self.memories.values() if m.state is State.SUPERSEDED}
        named = ((i, map(entity_key, (body.display_name, *body.aliases))) for i, body in entities if i not in merged)
        return [i for i, keys in named if key in keys]

    def naming(self, entity_id: str) -> list[str]:
        return [m.id for m in self.memories.values() if names(m, entity_id)]

    def last_episode(self, session: str, without: Set[str] = frozenset()) -> str | None:
        episodes = [m for m in self.memories.values() if isinstance(m.body, Episode) and m.scope.session == session]
        return next((m.id for m in reversed(episodes) if session and m.id not in without), None)

    def has_vectors(self, memory_id: str) -> bool:
        return memory_id in self.vectors

    def feedback(self, memory_id: str) -> Feedback:
        return self.verdicts.get(memory_id, NO_FEEDBACK)

    def in_slot(self, subject: str, family: str, sought: Sought | None = None) -> list[str]:
        slots = ((m, slot_of(m)) for m in self.memories.values())
        return [
            m.id
            for m, slot in slots
            if slot is not None
            and (slot.subject, slot.family) == (subject, family)
            and (sought is None or sought.fits(place_of(m, slot)))
        ]

    def called(self, key: str) -> list[str]:
        entities = ((m.id, m.body) for m in self.memories.values() if isinstance(m.body, Entity))
        named = ((i, map(value_key, (body.display_name, *body.aliases))) for i, body in entities)
        return [i for i, keys in named if key and key in keys]

    def read_from(self, memory_id: str) -> list[str]:
        return [m.id for m in self.memories.values() if memory_id in sources_of(m)]

    def rarity(self, stem: str, /) -> float:
        texts = [set(tokens(indexed_text(m.body))) for m in self.memories.values()]
        return rarity_among(len(texts), lambda each: sum(each in text for text in texts))(stem)

    def conflict(self, conflict_id: str) -> Conflict | None:
        return self.conflicts.get(conflict_id)

    def conflicts_of(self, memory_id: str) -> list[str]:
        return [c.id for c in self.conflicts.values() if memory_id in c.memories]

    def conflicts_about(self, subject: str, attribute: str) -> list[str]:
        return [c.id for c in self.conflicts.values() if (c.subject, c.attribute) == (subject, attribute)]
