"""A conflict with all that is needed to say it in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.memory import Fact, Memory
from memsidecar.domain.view import PartitionView


@dataclass(frozen=True, slots=True)
class Shown:
    """`memories` are those of the conflict, the entities that they name and the sources of its evidence, by id; purged
    ones are not there."""

    conflict: Conflict
    memories: Mapping[str, Memory]

    @property
    def sides(self) -> tuple[Memory, ...]:
        """The conflict's own memories that are there, in their order."""
        found = (self.memories.get(memory_id) for memory_id in self.conflict.memories)
        return tuple(memory for memory in found if memory is not None)

    @property
    def chars(self) -> int:
        """Characters of all texts."""
        return sum(len(memory.text) for memory in self.memories.values())


def shown(view: PartitionView, conflict: Conflict) -> Shown:
    """The conflict with the newest versions of its memories."""
    found: dict[str, Memory] = {}

    def find(memory_ids: Iterable[str]) -> None:
        for memory_id in memory_ids:
            if memory_id and memory_id not in found and (memory := view.memory(memory_id)) is not None:
                found[memory_id] = memory

    find(ids_of(conflict))
    find(named_by(found.values()))
    return Shown(conflict, found)


def ids_of(conflict: Conflict) -> tuple[str, ...]:
    """The memories that a conflict names, each once."""
    ids = (*conflict.memories, conflict.subject, *(each.source_id for each in conflict.evidence))
    return tuple(memory_id for memory_id in dict.fromkeys(ids) if memory_id)


def named_by(memories: Iterable[Memory]) -> list[str]:
    """The entities that are the values of facts: it takes their names, too, to say it in words."""
    return [m.body.object_entity for m in memories if isinstance(m.body, Fact) and m.body.object_entity]
