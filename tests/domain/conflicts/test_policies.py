"""What each policy makes of a contradiction, and what is learned of it."""

from __future__ import annotations

from typing import Any

import pytest

from memsidecar.domain.claims import Manner
from memsidecar.domain.conflict import ConflictState, Policy, Resolution, Source
from memsidecar.domain.conflicts.resolving import Dismiss
from memsidecar.domain.conflicts.rules import ConflictRules
from memsidecar.domain.draft import Action
from memsidecar.domain.errors import ConflictRejected
from memsidecar.domain.memory import Provenance, State
from tests.domain.conflicts.knowledge import Knowledge, said, value_of


@pytest.mark.parametrize(
    "more",
    [
        {"said_by": Source.ASSISTANT},
        {"said_by": Source.DOCUMENT, "source": Provenance(document="d", time=20)},
        {"confidence": 0.5},
        {"policy": Policy.FLAG},
        {"policy": Policy.ASK},
    ],
)
def test_what_is_not_plain_is_left_open(known: Knowledge, more: dict[str, Any]) -> None:
    rome = known.says("Rome", 10)
    oslo = known.says("Oslo", 20, **more)
    assert oslo.action is Action.CONFLICT_FLAGGED
    assert {known.memory(o).state for o in (rome, oslo)} == {State.DISPUTED}
    (conflict,) = known.conflicts(ConflictState.OPEN)
    assert conflict.memories == (rome.memory.id, oslo.memory.id)
    assert (known.memory(rome).valid_to, known.memory(oslo).valid_from) == (None, 20)


def test_a_third_value_joins_an_open_conflict(known: Knowledge) -> None:
    for value, at in (("Rome", 10), ("Oslo", 20), ("Lima", 15)):
        known.says(value, at, policy=Policy.FLAG)
    (conflict,) = known.conflicts()
    assert [value_of(known.memory(i)) for i in conflict.memories] == ["Rome", "Lima", "Oslo"]
    assert conflict.version == 2
    assert len(conflict.before) == 3
    plain = known.says("Paris", 40)
    assert plain.conflicts == (conflict.id,), "a statement alone does not settle what is open"
    again = known.says("Oslo", 21, source=said(21))
    assert again.action is Action.MERGED
    assert len(known.conflicts()) == 1


def test_saying_that_it_changed_settles_what_is_open(known: Knowledge) -> None:
    rome = known.says("Rome", 10, policy=Policy.FLAG)
    oslo = known.says("Oslo", 20, policy=Policy.FLAG)
    lima = known.says("Lima", 30, manner=Manner.CHANGED)
    (conflict,) = known.conflicts()
    assert (conflict.state, conflict.winner) == (ConflictState.RESOLVED, lima.memory.id)
    assert set(conflict.losers) == {rome.memory.id, oslo.memory.id}
    assert known.current() == ["Lima"]
    assert known.undo(conflict.id).state is ConflictState.OPEN
    assert [known.memory(m.memory.id).state for m in (rome, oslo, lima)] == [State.DISPUTED] * 3


def test_the_policy_refuses_and_nothing_is_recorded(known: Knowledge) -> None:
    rome = known.says("Rome", 10)
    problem = known.refused(lambda: known.says("Oslo", 20, policy=Policy.REJECT), ConflictRejected)
    assert "REJECT" in problem
    with pytest.raises(ConflictRejected) as caught:
        known.says("Oslo", 20, policy=Policy.REJECT, entity_names=("New Name",))
    assert rome.memory.id in caught.value.metadata["memories"]
    assert known.events == []
    known.says("Rome", 20, policy=Policy.REJECT)


def test_both_are_kept_when_the_policy_says_so(known: Knowledge) -> None:
    known.says("Rome", 10)
    known.says("Oslo", 20, policy=Policy.KEEP_BOTH)
    assert known.current() == ["Oslo", "Rome"]
    (conflict,) = known.conflicts()
    assert (conflict.state, conflict.resolution) == (ConflictState.RESOLVED, Resolution.KEPT_BOTH)


@pytest.mark.parametrize("order", [1, -1])
def test_the_surer_one_wins_in_any_order(known: Knowledge, order: int) -> None:
    for value, at, sure in [("Rome", 10, 0.9), ("Oslo", 20, 0.6)][::order]:
        known.says(value, at, confidence=sure, policy=Policy.MOST_CONFIDENT)
    assert known.current() == ["Rome"]
    assert (known.at(15), known.at(25)) == (["Rome"], ["Rome"])
    assert len(known.state.memories) == 2


def test_the_surer_newer_one_was_preceded_by_the_older(known: Knowledge) -> None:
    known.says("Rome", 10, confidence=0.6)
    known.says("Oslo", 20, confidence=0.9, policy=Policy.MOST_CONFIDENT)
    assert (known.at(15), known.at(25)) == (["Rome"], ["Oslo"])


def test_the_better_source_wins(known: Knowledge) -> None:
    known.says("Rome", 10, source=said(10))
    known.says("Oslo", 20, source=said(20, "assistant"), said_by=Source.ASSISTANT, policy=Policy.SOURCE_PRIORITY)
    assert known.current() == ["Rome"]
    known.says("Lima", 30, source=said(30), policy=Policy.SOURCE_PRIORITY)
    assert known.current() == ["Lima"]


def test_an_attribute_has_its_policy(known: Knowledge) -> None:
    known = Knowledge(ConflictRules(policies={"employer": Policy.FLAG}))
    for attribute in ("employer", "lives_in"):
        known.says("A", 10, attribute)
        known.says("B", 20, attribute)
    assert [c.attribute for c in known.conflicts(ConflictState.OPEN)] == ["employer"]


def test_what_an_agent_holds_ends_no_other_ones_memory(known: Knowledge) -> None:
    known.says("Rome", 10, agent="a")
    known.says("Oslo", 20, agent="b")
    known.says("Lima", 5)
    assert known.current() == ["Lima", "Oslo", "Rome"]
    known.says("Paris", 30)
    assert known.current() == ["Paris"], "what is said for all of them is for each of them"
    known.says("Kyiv", 40, agent="a")
    assert known.current() == ["Kyiv", "Paris"], "what one holds apart is not seen by the others"


def test_an_unlisted_attribute_changes_when_the_words_say_so(known: Knowledge) -> None:
    known.says("blue", 10, "wall paint")
    known.says("green", 20, "wall paint", manner=Manner.CHANGED)
    assert known.current() == ["green"]


def test_an_unlisted_attribute_is_learned_from_what_became_of_its_conflicts(known: Knowledge) -> None:
    for value, at in (("blue", 10), ("green", 20), ("grey", 30)):
        known.says(value, at, "wall paint", manner=Manner.CHANGED)
    assert len(known.conflicts()) == 2
    known.says("white", 40, "wall paint")
    assert known.current() == ["white"], "one was kept twice: it has one value at a time"


def test_what_was_dismissed_is_no_conflict_the_next_time(known: Knowledge) -> None:
    known.says("Mia", 10, "violin pupil")
    known.says("Tom", 20, "violin pupil", manner=Manner.CHANGED, policy=Policy.FLAG)
    known.resolve(known.conflicts()[0].id, Dismiss())
    known.says("Eva", 30, "violin pupil", manner=Manner.CHANGED)
    assert known.current() == ["Eva", "Mia", "Tom"]


def test_what_has_lost_is_one_memory_however_often_it_is_said(known: Knowledge) -> None:
    known.says("Rome", 10, confidence=0.9)
    for _ in range(3):
        lost = known.says("Oslo", 20, confidence=0.6, policy=Policy.MOST_CONFIDENT, source=Provenance(document="d"))
    assert len(known.state.memories) == 2
    assert lost.action is Action.DUPLICATE
    assert known.at(25) == ["Rome"]


def test_what_is_so_besides_ends_nothing(known: Knowledge) -> None:
    known.says("Acme", 10, "employer")
    more = known.says("Globex", 20, "employer", manner=Manner.ADDED)
    assert known.memory(more).state is State.ACTIVE
    assert known.current() == ["Acme", "Globex"]
    (conflict,) = known.conflicts()
    assert (conflict.state, conflict.resolution) == (ConflictState.RESOLVED, Resolution.KEPT_BOTH)
    known.says("Initech", 30, "employer", manner=Manner.CHANGED)
    assert known.current() == ["Initech"]
