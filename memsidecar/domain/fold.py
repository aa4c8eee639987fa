"""What an event means for every projection: the pure `apply`.

The resident partition, the graph and the keyword index all follow the same Delta, so they cannot disagree on rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from memsidecar.domain.conflict import Conflict, ConflictState, Resolution
from memsidecar.domain.events import (
    ConflictRecorded,
    Event,
    FeedbackGiven,
    MemoryPurged,
    MemoryRecorded,
    Vectors,
    VectorsRecorded,
)
from memsidecar.domain.feedback import Feedback
from memsidecar.domain.memory import Episode, Fact, Memory, Preference


class Relation(StrEnum):
    """The edges of the graph. The first four issue from a memory; the others are ties (`domain.ties`)."""

    MENTIONS = "MENTIONS"  # memory -> entity
    ABOUT = "ABOUT"  # fact or preference -> its subject and object entities
    DERIVED_FROM = "DERIVED_FROM"  # memory -> memory
    FOLLOWS = "FOLLOWS"  # episode -> the one before it in its session
    SUPPORTS = "SUPPORTS"  # episode -> what it says again
    RELATED = "RELATED"  # a fact's subject -> its object, both entities
    PREFERS = "PREFERS"  # user or entity -> a wish of theirs
    SUPERSEDES = "SUPERSEDES"  # winner -> loser
    CONTRADICTS = "CONTRADICTS"  # later -> earlier, while their conflict is open or both are kept


ISSUING = (Relation.MENTIONS, Relation.ABOUT, Relation.DERIVED_FROM, Relation.FOLLOWS)
# Between memories of one slot, drawn by a conflict.
JUDGEMENTS = frozenset({Relation.SUPERSEDES, Relation.CONTRADICTS})


@dataclass(frozen=True, slots=True)
class ConflictEdge:
    """An edge that a conflict draws, with the conflict's id: rule, strategy, evidence and both clocks are there."""

    source: str
    relation: Relation
    target: str
    conflict_id: str


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between memories, by their ids; an empty source is the user (PREFERS only)."""

    source: str
    relation: Relation
    target: str


@dataclass(frozen=True, slots=True, eq=False)
class Delta:
    """`put` replaces a memory and all edges that issue from it; `vectors` belong to `subject`; `purged` is gone.

    `feedback` are all verdicts on what `subject` says. A `put` with another text takes the earlier ones away: they were
    about what it said before. `conflict` replaces a conflict and the edges between its memories; `subject` is its id.
    """

    subject: str
    put: Memory | None = None
    vectors: Vectors | None = None
    purged: bool = False
    feedback: Feedback | None = None
    conflict: Conflict | None = None


def apply(event: Event) -> Delta:
    """The change that an event makes. Total, pure, and idempotent: applying it twice is applying it once."""
    match event:
        case MemoryRecorded(memory=memory, vectors=vectors):
            return Delta(memory.id, put=memory, vectors=vectors)
        case VectorsRecorded(memory_id=memory_id, vectors=vectors):
            return Delta(memory_id, vectors=vectors)
        case MemoryPurged(memory_id=memory_id):
            return Delta(memory_id, purged=True)
        case FeedbackGiven(memory_id=memory_id, counts=counts):
            return Delta(memory_id, feedback=counts)
        case ConflictRecorded(conflict=conflict):
            return Delta(conflict.id, conflict=conflict)
        case _:
            assert_never(event)


def edges_of(memory: Memory) -> tuple[Edge, ...]:
    """The edges that issue from a memory, each once, in a stable order."""
    edges: dict[Edge, None] = {}

    def add(relation: Relation, *targets: str) -> None:
        for target in targets:
            if target and target != memory.id:
                edges[Edge(memory.id, relation, target)] = None

    match memory.body:
        case Fact(subject=subject, object_entity=target):
            add(Relation.ABOUT, subject, target)
        case Preference(subject=subject):
            add(Relation.ABOUT, subject)
        case Episode(participants=participants, follows=follows):
            add(Relation.MENTIONS, *participants)
            add(Relation.FOLLOWS, follows)
        case _:
            pass
    add(Relation.MENTIONS, *memory.mentions)
    for source in memory.provenance:
        add(Relation.DERIVED_FROM, *source.derived_from)
    return tuple(edges)


def conflict_edges_of(conflict: Conflict) -> tuple[ConflictEdge, ...]:
    """The edges that a conflict draws as it stands: none once it is dismissed or undone, or has lost its memories."""
    if len(conflict.memories) < 2:
        return ()
    if conflict.state is ConflictState.RESOLVED and conflict.winner:
        superseded = (loser for loser in conflict.losers if loser != conflict.winner)
        return tuple(ConflictEdge(conflict.winner, Relation.SUPERSEDES, i, conflict.id) for i in superseded)
    kept = conflict.state is ConflictState.RESOLVED and conflict.resolution is Resolution.KEPT_BOTH
    if conflict.state is ConflictState.OPEN or kept:
        earlier, later = conflict.memories[:-1], conflict.memories[-1]
        return tuple(ConflictEdge(later, Relation.CONTRADICTS, i, conflict.id) for i in earlier)
    return ()
