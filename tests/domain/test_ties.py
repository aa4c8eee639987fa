"""What records draw between others, apart from any graph."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memsidecar.domain.conflict import Conflict, ConflictState, Resolution, Rule
from memsidecar.domain.fold import Relation
from memsidecar.domain.memory import Fact, Memory, Preference, Provenance, State
from memsidecar.domain.scope import Scope
from memsidecar.domain.ties import judgements_of, ties_of

OPEN = Conflict("k", "", "lives_in", Rule.VALUE, ("a", "b", "c"), created_at=1, updated_at=1)
RESOLVED = replace(OPEN, state=ConflictState.RESOLVED, resolved_at=7, winner="c", losers=("a", "b"))
FACT = Memory("f", Scope("n", "u"), Fact("s", subject="x", object_entity="y"), created_at=3, updated_at=5)


def drawn(conflict: Conflict) -> list[tuple[str, str, str]]:
    return [(tie.source, tie.relation.value, tie.target) for tie in judgements_of(conflict)]


def test_an_open_conflict_contradicts_and_a_resolved_one_supersedes() -> None:
    assert drawn(OPEN) == [("c", "CONTRADICTS", "a"), ("c", "CONTRADICTS", "b")]
    assert drawn(RESOLVED) == [("c", "SUPERSEDES", "a"), ("c", "SUPERSEDES", "b")]
    assert {tie.recorded_at for tie in judgements_of(RESOLVED)} == {7}
    assert drawn(replace(RESOLVED, winner="", losers=(), resolution=Resolution.KEPT_BOTH)) == drawn(OPEN)


@pytest.mark.parametrize("state", [ConflictState.DISMISSED, ConflictState.UNDONE])
def test_a_conflict_that_is_none_draws_nothing(state: ConflictState) -> None:
    assert drawn(replace(RESOLVED, state=state)) == []


@pytest.mark.parametrize("memories", [(), ("a",)])
@pytest.mark.parametrize("state", list(ConflictState))
def test_a_conflict_whose_memories_were_purged_draws_nothing(memories: tuple[str, ...], state: ConflictState) -> None:
    assert drawn(replace(OPEN, memories=memories, state=state, resolution=Resolution.KEPT_BOTH)) == []


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, True),
        ({"state": State.DISPUTED}, True),
        ({"state": State.DELETED}, False),
        ({"state": State.SUPERSEDED, "superseded_at": 4}, False),
        ({"state": State.SUPERSEDED}, False),
        ({"state": State.SUPERSEDED, "superseded_at": 6}, True),
    ],
)
def test_only_what_held_when_it_was_recorded_relates(changes: dict[str, object], holds: bool) -> None:
    fact = replace(FACT, **changes)  # type: ignore[arg-type]  # a test's own words
    assert [tie.relation for tie in ties_of(fact)] == [Relation.RELATED] * holds
    wish = replace(fact, body=Preference("s"))
    assert [tie.relation for tie in ties_of(wish)] == [Relation.PREFERS] * holds


def test_the_first_source_does_not_support_and_none_does_twice() -> None:
    sources = tuple(Provenance(derived_from=ids) for ids in (("p", "q"), ("q", "r"), ("r", "f"), ("t",)))
    fact = replace(FACT, body=Fact("s"), provenance=sources)
    assert [tie.source for tie in ties_of(fact)] == ["r", "t"]
