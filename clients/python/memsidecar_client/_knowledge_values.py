"""What memories say together, as values: conflicts, slots, entities that are one, neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memsidecar_client._enums import ConflictPolicy, ConflictResolution, ConflictRule, ConflictState
from memsidecar_client._memory_values import Memory, Scope


@dataclass(frozen=True, slots=True)
class ConflictEvidence:
    """What supports one side of a conflict: `quote` are the words of the memory `source` that say it, empty when they
    are gone."""

    memory: str
    source: str
    quote: str = ""


@dataclass(frozen=True, slots=True)
class MemoryConflict:
    """Memories of one slot that cannot all hold, and what was made of it; also the record of every superseding.

    The slot is what is said of whom: `subject` is the name of an entity memory, empty for the user, and `attribute`
    such as lives_in. `memories` are names in the order in which they became true; `winner` and `losers` are set once it
    is resolved. `explanation` is one sentence; `question` is what an agent can ask the user, in the language
    `question_language`, and whatever he answers resolves it (`resolve_conflict(name, answer=...)`). `severity` is 0
    to 1.
    """

    name: str
    scope: Scope
    state: ConflictState
    rule: ConflictRule
    attribute: str
    memories: tuple[str, ...]
    subject: str = ""
    policy: ConflictPolicy = ConflictPolicy.UNSPECIFIED
    resolution: ConflictResolution = ConflictResolution.UNSPECIFIED
    winner: str = ""
    losers: tuple[str, ...] = ()
    explanation: str = ""
    question: str = ""
    question_language: str = ""
    severity: float = 0.0
    evidence: tuple[ConflictEvidence, ...] = ()
    create_time: datetime | None = None
    update_time: datetime | None = None
    resolve_time: datetime | None = None
    resolved_by: str = ""
    reason: str = ""
    etag: str = ""


@dataclass(frozen=True, slots=True)
class ConflictDetails:
    """A conflict and its memories, in its order; purged ones are left out."""

    conflict: MemoryConflict
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """A conflict and its memories as they are now, and the revision of the write."""

    conflict: MemoryConflict
    memories: tuple[Memory, ...]
    revision: str


@dataclass(frozen=True, slots=True)
class SlotValue:
    """One value that a slot held. `ended_by` is the name of the conflict that ended it, empty when none did."""

    memory: Memory
    ended_by: str = ""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A memory that was reached over `depth` edges; the last one leads from `from_memory` to `to_memory`."""

    memory: Memory
    depth: int
    from_memory: str
    relation: str
    to_memory: str


@dataclass(frozen=True, slots=True)
class MergedEntities:
    """The entity that stayed, how many memories name it now instead of another, and the names of the conflicts that
    this has opened."""

    entity: Memory
    moved_memories: int
    conflicts: tuple[str, ...]
    revision: str


@dataclass(frozen=True, slots=True)
class PartedEntities:
    """The entity that was merged as it is again, and the one that it had become."""

    entities: tuple[Memory, ...]
    moved_memories: int
    revision: str
