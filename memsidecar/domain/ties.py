"""Edges that a record draws between others, with what is known of them.

A fact ties its subject to its object, a preference ties whose wish it is to itself, a source that says a memory again
is tied to it, and a conflict ties the memories that it judges. Nothing here is text: what words a tie has are read from
the record that draws it, so that a purge takes them along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from memsidecar.domain.conflict import Conflict, Policy, Resolution, Rule
from memsidecar.domain.fold import Edge, Relation, conflict_edges_of
from memsidecar.domain.memory import Fact, Kind, Memory, Preference, State

_VALUES = (Kind.FACT, Kind.PREFERENCE)
_USER = None
# What has slots; and entities, of which one may turn out to be another.
_JUDGED: frozenset[tuple[Kind | None, Kind]] = frozenset({*product(_VALUES, _VALUES), (Kind.ENTITY, Kind.ENTITY)})

ENDS: Mapping[Relation, frozenset[tuple[Kind | None, Kind]]] = {
    Relation.SUPPORTS: frozenset((Kind.EPISODE, kind) for kind in (*_VALUES, Kind.PROCEDURE)),
    Relation.RELATED: frozenset({(Kind.ENTITY, Kind.ENTITY)}),
    Relation.PREFERS: frozenset({(_USER, Kind.PREFERENCE), (Kind.ENTITY, Kind.PREFERENCE)}),
    Relation.SUPERSEDES: _JUDGED,
    Relation.CONTRADICTS: _JUDGED,
}
"""What each tie may join, source first; None is the user. Between others it is not drawn."""


@dataclass(frozen=True, slots=True)
class Tie:
    """An edge with its reasons. Times are microseconds since 1970-01-01 UTC.

    `drawn_by` is the memory, or for SUPERSEDES and CONTRADICTS the conflict, that says so; `recorded_at` is since when.
    `valid_from` and `valid_to` are the time in which the drawing memory is true, for a judgement the judged one (its
    target). An empty source is the user. Rule, policy and resolution are a judgement's.
    """

    source: str
    relation: Relation
    target: str
    drawn_by: str
    recorded_at: int
    valid_from: int | None = None
    valid_to: int | None = None
    negated: bool = False
    rule: Rule | None = None
    policy: Policy | None = None
    resolution: Resolution = Resolution.NONE

    @property
    def edge(self) -> Edge:
        return Edge(self.source, self.relation, self.target)


def ties_of(memory: Memory) -> tuple[Tie, ...]:
    """The ties that a memory draws, each once, in a stable order."""

    def tie(source: str, relation: Relation, target: str, negated: bool = False) -> Tie:
        return Tie(source, relation, target, memory.id, memory.created_at, memory.valid_from, memory.valid_to, negated)

    ties: list[Tie] = []
    match memory.body:
        case Fact(subject=subject, object_entity=target, negated=negated) if subject and target and _holds(memory):
            if subject != target:
                ties.append(tie(subject, Relation.RELATED, target, negated))
        case Preference(subject=subject) if _holds(memory):
            ties.append(tie(subject, Relation.PREFERS, memory.id))
        case _:
            pass
    if memory.kind in (*_VALUES, Kind.PROCEDURE):
        ties += (tie(source, Relation.SUPPORTS, memory.id) for source in _saying_again(memory))
    return tuple(ties)


def _saying_again(memory: Memory) -> tuple[str, ...]:
    """The memories that said it after it was known: those of every source but the first."""
    first = set(memory.provenance[0].derived_from) if memory.provenance else set()
    later = dict.fromkeys(i for source in memory.provenance[1:] for i in source.derived_from)
    return tuple(i for i in later if i not in first and i != memory.id)


def _holds(memory: Memory) -> bool:
    """Whether it held when it was last recorded: what will be superseded at a later time holds until then."""
    if memory.state is State.SUPERSEDED:
        return memory.superseded_at is not None and memory.superseded_at > memory.updated_at
    return memory.state is not State.DELETED


def judgements_of(conflict: Conflict) -> tuple[Tie, ...]:
    """The ties that a conflict draws as it stands, without their validity, which the judged memories have."""
    recorded_at = conflict.created_at if conflict.resolved_at is None else conflict.resolved_at
    return tuple(
        Tie(
            edge.source,
            edge.relation,
            edge.target,
            conflict.id,
            recorded_at,
            rule=conflict.rule,
            policy=conflict.policy,
            resolution=conflict.resolution,
        )
        for edge in dict.fromkeys(conflict_edges_of(conflict))
        if edge.source != edge.target
    )
