"""A change that is told after something else was stated, and lies before that: "moved last week"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain.claims import Manner
from memsidecar.domain.conflict import ConflictState, Policy
from memsidecar.domain.conflicts.chain import never_true
from memsidecar.domain.draft import Action
from tests.domain.conflicts.knowledge import Knowledge, is_fact, said


@dataclass(frozen=True)
class Told:
    """Said at `said`; since `start`, or None: nothing is said of since when."""

    value: str
    said: int
    start: int | None = None

    def to(self, known: Knowledge, **more: Any) -> None:
        start = self.said if self.start is None else self.start
        known.says(self.value, start, source=said(self.said), **more)


MUNICH, BERLIN = Told("Munich", 100), Told("Berlin", 200, 50)


def tell(*told: Told, **more: Any) -> Knowledge:
    known = Knowledge()
    known.now = 10_000
    for each in told:
        each.to(known, **more)
    return known


@pytest.mark.parametrize("told", [(MUNICH, BERLIN), (BERLIN, MUNICH)])
def test_what_was_stated_holds_until_a_change_that_is_told_later(told: tuple[Told, ...]) -> None:
    known = tell(*told)
    assert known.spans() == [("Munich", None, 50, "SUPERSEDED"), ("Berlin", 50, None, "ACTIVE")]
    assert known.conflicts(ConflictState.OPEN) == []
    (conflict,) = known.conflicts()
    known.undo(conflict.id)
    assert sorted(known.spans()) == [("Berlin", 50, None, "ACTIVE"), ("Munich", 100, None, "ACTIVE")]


@pytest.mark.parametrize("told", [(MUNICH, Told("Berlin", 90, 50)), (Told("Berlin", 90, 50), MUNICH)])
def test_a_change_that_was_told_before_is_history(told: tuple[Told, ...]) -> None:
    assert tell(*told).spans() == [("Berlin", 50, 100, "SUPERSEDED"), ("Munich", 100, None, "ACTIVE")]


@pytest.mark.parametrize("told", [(Told("Oslo", 100, 80), BERLIN), (BERLIN, Told("Oslo", 100, 80))])
def test_of_two_changes_the_later_one_holds_whichever_is_told_last(told: tuple[Told, ...]) -> None:
    assert tell(*told).spans() == [("Berlin", 50, 80, "SUPERSEDED"), ("Oslo", 80, None, "ACTIVE")]


def test_what_is_told_at_the_same_time_is_told_in_the_order_of_its_arrival() -> None:
    assert tell(MUNICH, Told("Berlin", 100, 50)).current() == ["Berlin"]


def test_what_says_that_it_is_over_takes_nothing_s_place() -> None:
    known = tell(MUNICH)
    known.says("Berlin", 20, source=said(200), valid_to=60)
    known.says("Rome", None, source=said(200), valid_to=90)
    assert known.current() == ["Berlin", "Munich", "Rome"]
    assert known.at(200) == ["Munich"]


def test_what_was_true_before_what_was_stated_ends_before_it() -> None:
    known = tell(Told("Rome", 10), MUNICH, BERLIN)
    assert known.spans() == [
        ("Rome", 10, 49, "SUPERSEDED"),
        ("Munich", 49, 50, "SUPERSEDED"),
        ("Berlin", 50, None, "ACTIVE"),
    ]


def test_who_states_it_again_after_the_change_is_back() -> None:
    known = tell(MUNICH, BERLIN, Told("Munich", 300))
    assert known.spans() == [
        ("Munich", None, 50, "SUPERSEDED"),
        ("Berlin", 50, 300, "SUPERSEDED"),
        ("Munich", 300, None, "ACTIVE"),
    ]
    Told("Munich", 120).to(known)
    assert len(known.spans()) == 3, "what comes late belongs to the first time"


def test_who_moves_back_is_back() -> None:
    known = tell(Told("Berlin", 10), MUNICH, BERLIN)
    assert known.spans() == [
        ("Berlin", 10, 49, "SUPERSEDED"),
        ("Munich", 49, 50, "SUPERSEDED"),
        ("Berlin", 50, None, "ACTIVE"),
    ]


def test_who_says_since_when_it_has_been_so_is_believed_over_what_was_stated_in_between() -> None:
    known = tell(Told("Berlin", 90), MUNICH, BERLIN)
    assert known.spans() == [("Munich", None, 50, "SUPERSEDED"), ("Berlin", 50, None, "ACTIVE")]


def test_a_denial_of_what_was_stated_may_lie_before_it() -> None:
    known = Knowledge()
    known.says("Acme", 100, "employer", source=said(100))
    known.says("Acme", 50, "employer", source=said(200), negated=True, manner=Manner.CHANGED)
    assert known.current() == ["not Acme"]


def test_a_correction_of_what_was_stated_leaves_it_no_time() -> None:
    known = tell(MUNICH)
    known.corrects("Berlin", 50, source=said(200))
    assert known.current() == ["Berlin"]
    assert known.at(120) == ["Berlin"]
    assert known.at(70) == ["Berlin"]


def test_a_fact_that_nobody_dates_the_saying_of_counts_as_said_when_it_begins() -> None:
    known = tell(MUNICH)
    late = known.says("Berlin", 50)
    assert (late.action, known.current()) == (Action.SUPERSEDED, ["Munich"])


def test_a_contradiction_that_somebody_must_decide_changes_no_time() -> None:
    known = tell(MUNICH, BERLIN, policy=Policy.FLAG)
    assert sorted(known.spans()) == [("Berlin", 50, None, "DISPUTED"), ("Munich", 100, None, "DISPUTED")]


_TIMES = st.integers(1, 12).map(lambda n: n * 100)
_told = st.lists(st.tuples(_TIMES, st.none() | st.integers(1, 12)), min_size=2, max_size=6, unique_by=lambda t: t[0])


def _statements(drawn: list[tuple[int, int | None]]) -> list[Told]:
    """Each with a value of its own, changes before they are told, none at the time of another."""
    found = []
    for number, (time, before) in enumerate(drawn):
        start = None if before is None else time - before * 100 + 7 * (number + 1)
        found.append(Told(f"V{number}", time, None if start is None else min(start, time - number - 1)))
    return found


def _holds_now(told: list[Told]) -> str:
    """The last change, or what was stated last after that was told."""
    change = max((t for t in told if t.start is not None), key=lambda t: t.start or 0, default=None)
    stated = [t for t in told if t.start is None and (change is None or t.said > change.said)]
    newest = max(stated, key=lambda t: t.said, default=change)
    assert newest is not None
    return newest.value


_SAMPLED = range(-1_200, 1_300, 50)


def _check(known: Knowledge, told: list[Told]) -> None:
    assert known.current() == [_holds_now(told)]
    assert not any(never_true(m) for m in known.state.memories.values() if is_fact(m)), "everything has its time"
    assert all(len(known.at(time)) <= 1 for time in _SAMPLED)


@settings(max_examples=60, deadline=None)
@given(_told)
def test_what_is_told_in_order_holds_as_a_listener_would_say(drawn: list[tuple[int, int | None]]) -> None:
    told = sorted(_statements(drawn), key=lambda t: t.said)
    _check(tell(*told), told)


@settings(max_examples=60, deadline=None)
@given(_told, st.data())
def test_whatever_the_order_of_arrival_the_same_is_true_at_each_time(
    drawn: list[tuple[int, int | None]], data: st.DataObject
) -> None:
    """Of two statements, or of several of which one is a change."""
    told = _statements(drawn)
    changes = [t for t in told if t.start is not None]
    told = told[:2] if data.draw(st.booleans()) else [t for t in told if t.start is None or t is changes[0]]
    known = tell(*data.draw(st.permutations(told)))
    _check(known, told)
    in_order = tell(*sorted(told, key=lambda t: t.said))
    assert [known.at(time) for time in _SAMPLED] == [in_order.at(time) for time in _SAMPLED]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("AB"), _TIMES, st.none() | st.integers(1, 12)),
        min_size=1,
        max_size=5,
        unique_by=lambda each: each[1],
    )
)
def test_there_and_back_again_one_value_is_true_at_a_time(drawn: list[tuple[str, int, int | None]]) -> None:
    known = tell()
    before: list[tuple[str, int | None, int | None, str]] = []
    for value, time, back in sorted(drawn, key=lambda d: d[1]):
        before, conflicts = known.spans(), set(known.state.conflicts)
        Told(value, time, None if back is None else time - back * 100 + 7).to(known)
        assert len(set(known.current())) == 1
        assert all(len(known.at(at)) <= 1 for at in _SAMPLED)
    made = [i for i in known.state.conflicts if i not in conflicts]
    if len(made) == 1 and len(known.spans()) == len(before) + 1:
        known.undo(made[0])
        assert [s for s in before if s not in known.spans()] == [], "an undo gives back every time"
