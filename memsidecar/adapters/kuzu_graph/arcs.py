"""Edges as the writer compares them: what a record draws, in keys of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memsidecar.adapters.kuzu_graph.keys import conflict_end, memory_key, user_end
from memsidecar.adapters.kuzu_graph.schema import INVOLVES, UNSET
from memsidecar.domain.conflict import Conflict
from memsidecar.domain.fold import edges_of
from memsidecar.domain.memory import Memory
from memsidecar.domain.ties import Tie, judgements_of, ties_of


class Arc(NamedTuple):
    """An edge with all its columns; two are equal when there is nothing to do. A source is a memory's key, or an end
    made by `user_end` or `conflict_end`. `drawn_by` is empty for what issues from its source."""

    source: str
    relation: str
    target: str
    drawn_by: str = ""
    recorded_at: int = 0
    valid_from: int = UNSET
    valid_to: int = UNSET
    negated: int = 0
    rule: int = 0
    policy: int = 0
    resolution: int = 0


def arcs_of(memory: Memory, partition: str) -> Iterator[Arc]:
    """All that a memory draws; `partition` is a partition key."""
    for edge in edges_of(memory):
        yield Arc(memory_key(partition, edge.source), edge.relation.value, memory_key(partition, edge.target))
    for tie in ties_of(memory):
        yield _arc(tie, partition)


def arcs_of_conflict(conflict: Conflict, partition: str) -> Iterator[Arc]:
    """All that a conflict draws, with the edges to its memories by which what it drew is found again."""
    source = conflict_end(memory_key(partition, conflict.id))
    for memory_id in dict.fromkeys(conflict.memories):
        yield Arc(source, INVOLVES, memory_key(partition, memory_id))
    for tie in judgements_of(conflict):
        yield _arc(tie, partition)


def _arc(tie: Tie, partition: str) -> Arc:
    return Arc(
        memory_key(partition, tie.source) if tie.source else user_end(partition),
        tie.relation.value,
        memory_key(partition, tie.target),
        tie.drawn_by,
        tie.recorded_at,
        UNSET if tie.valid_from is None else tie.valid_from,
        UNSET if tie.valid_to is None else tie.valid_to,
        int(tie.negated),
        int(tie.rule or 0),
        int(tie.policy or 0),
        int(tie.resolution),
    )
