"""What the rules may ask of a partition while they decide, and a view that sees their own earlier decisions."""

from __future__ import annotations

from typing import Protocol

from memsidecar.domain.events import Event
from memsidecar.domain.fold import Delta, apply
from memsidecar.domain.memory import Entity, Episode, Memory, State
from memsidecar.domain.text import entity_key


class PartitionView(Protocol):
    """A partition at one revision, or on top of one. Reads only; answers at once."""

    def memory(self, memory_id: str) -> Memory | None:
        """The newest version, deleted ones included, purged ones not."""
        ...

    def by_digest(self, digest: bytes) -> str | None:
        """The live memory with that content."""
        ...

    def entity(self, key: str) -> str | None:
        """The live entity with that name or alias (`entity_key`)."""
        ...

    def last_episode(self, session: str) -> str | None:
        """The newest episode of a session."""
        ...

    def has_vectors(self, memory_id: str) -> bool:
        """Whether its vectors are there."""
        ...


def entity_keys(entity: Entity) -> tuple[str, ...]:
    """The keys under which an entity is found: its name first, then its aliases."""
    keys = dict.fromkeys(entity_key(name) for name in (entity.display_name, *entity.aliases))
    keys.pop("", None)
    return tuple(keys)


class Overlay:
    """A PartitionView over another one with the effects of events that are decided but not yet committed."""

    def __init__(self, under: PartitionView) -> None:
        self._under = under
        self._memories: dict[str, Memory | None] = {}
        self._digests: dict[bytes, str] = {}
        self._entities: dict[str, str] = {}
        self._last: dict[str, str] = {}
        self._vectors: set[str] = set()

    def add(self, event: Event) -> None:
        delta = apply(event)
        if delta.purged:
            self._memories[delta.subject] = None
        if delta.vectors is not None:
            self._vectors.add(delta.subject)
        if delta.put is not None:
            self._put(delta)

    def _put(self, delta: Delta) -> None:
        memory = delta.put
        if memory is None:
            return
        self._memories[memory.id] = memory
        if memory.state is State.DELETED:
            return
        if memory.digest:
            self._digests[memory.digest] = memory.id
        if isinstance(memory.body, Entity):
            for key in entity_keys(memory.body):
                self._entities[key] = memory.id
        if isinstance(memory.body, Episode) and memory.scope.session and memory.version == 1:
            self._last[memory.scope.session] = memory.id

    def memory(self, memory_id: str) -> Memory | None:
        return self._memories[memory_id] if memory_id in self._memories else self._under.memory(memory_id)

    def by_digest(self, digest: bytes) -> str | None:
        found = self._digests.get(digest) or self._under.by_digest(digest)
        return found if found is not None and self._live(found) and self._digest_holds(found, digest) else None

    def entity(self, key: str) -> str | None:
        found = self._entities.get(key) or self._under.entity(key)
        return found if found is not None and self._live(found) else None

    def last_episode(self, session: str) -> str | None:
        return self._last.get(session) or self._under.last_episode(session)

    def has_vectors(self, memory_id: str) -> bool:
        return memory_id in self._vectors or self._under.has_vectors(memory_id)

    def _live(self, memory_id: str) -> bool:
        if memory_id not in self._memories:
            return True
        memory = self._memories[memory_id]
        return memory is not None and memory.state is not State.DELETED

    def _digest_holds(self, memory_id: str, digest: bytes) -> bool:
        memory = self._memories.get(memory_id)
        return memory is None or memory.digest == digest
