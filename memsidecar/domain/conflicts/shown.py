"""A conflict with all that is needed to say it in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.memory import Memory
from memsidecar.domain.view import PartitionView


@dataclass(frozen=True, slots=True)
class Shown:
    """`memories` are those of the conflict, its subject and the sources of its evidence, by id; purged ones are not
    there."""

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
    ids = dict.fromkeys((*conflict.memories, conflict.subject, *(e.source_id for e in conflict.evidence)))
    found = ((memory_id, view.memory(memory_id)) for memory_id in ids if memory_id)
    return Shown(conflict, {memory_id: memory for memory_id, memory in found if memory is not None})
