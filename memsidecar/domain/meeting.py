"""Whether one memory meets a filter: the definition that searching many at once keeps to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memsidecar.domain.conflicts.chain import covers
from memsidecar.domain.fold import Relation, edges_of
from memsidecar.domain.memory import Entity, Memory, State
from memsidecar.domain.recall import Filter
from memsidecar.domain.scope import Scope

USUAL_STATES = frozenset({State.ACTIVE, State.DISPUTED})
"""States that meet a filter that names none."""
_ALL_STATES = frozenset(State)

_ABOUT = (Relation.MENTIONS, Relation.ABOUT)


def stored_states(wanted: Filter) -> frozenset[State]:
    """The states of today in which a memory is seen in one that the filter wants, if all else is met: what was true at
    `valid_at` and has been superseded since is ACTIVE then."""
    states = wanted.states or USUAL_STATES
    if wanted.valid_at is None:
        return states
    return states | {State.SUPERSEDED} if State.ACTIVE in states else states - {State.SUPERSEDED}


def state_seen(memory: Memory, now: int, known: int, valid_at: int | None = None) -> State:
    """The state that a question which is asked at `now` sees in a store that is read at `known`: what was superseded by
    then is, even if the question was asked before; whether it has expired is a matter of the question's time. To a
    question about what was true at `valid_at` nothing that was so then is superseded."""
    state = memory.state_at(max(now, known) if memory.state is State.SUPERSEDED else now)
    superseded_since = state is State.SUPERSEDED and valid_at is not None and covers(memory, valid_at)
    return State.ACTIVE if superseded_since else state


def meets(memory: Memory, scope: Scope, wanted: Filter, now: int, known: int | None = None) -> bool:
    """Whether a memory of the scope's partition is of its agent and session, and meets every condition at `now`.

    `known` is when the store is read, default `now` (`state_seen`).
    """
    own = memory.scope
    return (
        state_seen(memory, now, now if known is None else known, wanted.valid_at) in (wanted.states or USUAL_STATES)
        and _is_of_kind(memory, wanted)
        and (not scope.agent or own.agent in ("", scope.agent))
        and (not scope.session or own.session == scope.session)
        and (not wanted.sessions or own.session in wanted.sessions)
        and own.session not in wanted.exclude_sessions
        and _is_within(memory.created_at, wanted.min_created, wanted.max_created)
        and _is_within(memory.said_at, wanted.min_said, wanted.max_said)
        and (wanted.min_importance is None or memory.importance >= wanted.min_importance)
        and (wanted.min_confidence is None or memory.confidence >= wanted.min_confidence)
        and (wanted.valid_at is None or covers(memory, wanted.valid_at))
        and all(memory.labels.get(key) == value for key, value in wanted.labels.items())
        and _is_about(memory, wanted.entities)
    )


@dataclass(frozen=True, slots=True)
class Sight:
    """What a question may see, whatever the state of a memory and the time that the question is about."""

    scope: Scope
    filter: Filter

    def sees(self, memory: Memory) -> bool:
        return meets(memory, self.scope, replace(self.filter, states=_ALL_STATES, valid_at=None), 0)

    def may_name(self, memory: Memory) -> bool:
        """Whether a memory that was not asked for may be told beside one that was: labels and agents decide."""
        return meets(memory, replace(self.scope, session=""), Filter(states=_ALL_STATES, labels=self.filter.labels), 0)


def _is_of_kind(memory: Memory, wanted: Filter) -> bool:
    if wanted.kinds:
        return memory.kind in wanted.kinds
    return not (isinstance(memory.body, Entity) and memory.body.discovered)


def _is_within(time: int, start: int | None, end: int | None) -> bool:
    return (start is None or start <= time) and (end is None or time < end)


def _is_about(memory: Memory, entities: tuple[str, ...]) -> bool:
    if not entities:
        return True
    about = {edge.target for edge in edges_of(memory) if edge.relation in _ABOUT}
    return about.issuperset(entities)
