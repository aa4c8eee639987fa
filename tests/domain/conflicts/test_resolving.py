from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memsidecar.domain.conflict import ConflictState, Policy, Resolution
from memsidecar.domain.conflicts.resolving import Answer, Choice, Dismiss, Keep, Part, Replace, Split
from memsidecar.domain.decide import remember
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Draft
from memsidecar.domain.errors import ConflictBlocked, EtagMismatch, InvalidField, NotFound
from memsidecar.domain.memory import Fact, Memory, Preference, State
from tests.domain.conflicts.knowledge import Knowledge, said


def _lives(value: str) -> Draft:
    return Draft(Fact(f"lives in {value}", predicate="lives_in", object_text=value), "replacement")


@pytest.fixture
def known() -> Knowledge:
    """Rome from 10 and Oslo from 20, in dispute as conflict g0002; g0000 and g0001 are the memories."""
    known = Knowledge()
    known.says("Rome", 10)
    known.says("Oslo", 20, policy=Policy.ASK)
    return known


ROME, OSLO, CONFLICT = "g0000", "g0001", "g0002"


def test_keeping_the_newer_one_ends_the_older(known: Knowledge) -> None:
    conflict = known.resolve(CONFLICT, Keep(OSLO))
    assert known.spans() == [("Rome", 10, 20, "SUPERSEDED"), ("Oslo", 20, None, "ACTIVE")]
    assert (conflict.state, conflict.resolution) == (ConflictState.RESOLVED, Resolution.CHANGED)
    assert (conflict.winner, conflict.losers, conflict.reason) == (OSLO, (ROME,), "because")
    assert (conflict.resolved_by, conflict.resolved_at) == ("test", known.now)


def test_keeping_the_older_one_leaves_the_newer_no_time(known: Knowledge) -> None:
    known.resolve(CONFLICT, Keep(ROME))
    assert known.spans() == [("Rome", 10, None, "ACTIVE"), ("Oslo", 20, 20, "SUPERSEDED")]
    assert known.at(30) == ["Rome"]


def test_a_correction_gives_the_winner_the_losers_time(known: Knowledge) -> None:
    known.resolve(CONFLICT, Keep(OSLO, correction=True))
    assert known.spans() == [("Rome", 10, 10, "SUPERSEDED"), ("Oslo", 10, None, "ACTIVE")]


def test_a_replacement_takes_the_place_of_all(known: Knowledge) -> None:
    conflict = known.resolve(CONFLICT, Replace(_lives("Lima")))
    assert known.current() == ["Lima"]
    assert conflict.resolution is Resolution.REPLACED
    assert conflict.losers == (ROME, OSLO)
    assert known.at(15) == ["Rome", "Oslo"][:1]
    undone = known.undo(CONFLICT)
    assert (undone.state, undone.memories) == (ConflictState.OPEN, (ROME, OSLO))
    assert [known.memory(i).state for i in (ROME, OSLO)] == [State.DISPUTED, State.DISPUTED]
    assert known.memory(conflict.winner).state is State.DELETED


def test_a_replacement_may_correct_all(known: Knowledge) -> None:
    known.resolve(CONFLICT, Replace(_lives("Lima"), correction=True))
    assert known.at(10) == known.at(30) == ["Lima"]


def test_a_split_gives_each_its_time(known: Knowledge) -> None:
    known.resolve(CONFLICT, Split((Part(OSLO, None, 15), Part(ROME, 15))))
    assert [known.at(t) for t in (0, 14, 15, 99)] == [["Oslo"], ["Oslo"], ["Rome"], ["Rome"]]
    assert known.memory(OSLO).state is State.SUPERSEDED
    assert known.current() == ["Rome"]


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ((Part(OSLO, 1, 2), Part(OSLO, 2)), "temporal_split.parts[1].memory"),
        ((Part(OSLO, 1, 2), Part("other", 2)), "temporal_split.parts[1].memory"),
        ((Part(OSLO, 1, 2), Part(ROME, 3, 3)), "temporal_split.parts[1].interval"),
        ((Part(OSLO, 4, 2), Part(ROME, 3)), "temporal_split.parts[0].interval"),
        ((Part(OSLO, 1, 4), Part(ROME, 3)), "temporal_split.parts[1].interval"),
        ((Part(OSLO, 1), Part(ROME, 3)), "temporal_split.parts[1].interval"),
        ((Part(OSLO, 1, 2), Part(ROME, None)), "temporal_split.parts[1].interval"),
        ((Part(OSLO, 1, 2),), "temporal_split.parts"),
        ((), "temporal_split.parts"),
    ],
)
def test_a_split_that_is_none_is_refused(known: Knowledge, parts: tuple[Part, ...], field: str) -> None:
    assert known.refused(lambda: known.resolve(CONFLICT, Split(parts)), InvalidField).startswith(f"{field}: ")


def test_a_dismissal_leaves_everything_as_it_would_be_without(known: Knowledge) -> None:
    conflict = known.resolve(CONFLICT, Dismiss())
    assert known.spans() == [("Rome", 10, None, "ACTIVE"), ("Oslo", 20, None, "ACTIVE")]
    assert conflict.state is ConflictState.DISMISSED
    known.refused(lambda: known.resolve(CONFLICT, Keep(ROME)), InvalidField)
    known.refused(lambda: known.undo(CONFLICT), InvalidField)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Oslo", OSLO),
        ("I live in OSLO now.", OSLO),
        ("Not Rome, Oslo!", OSLO),
        ("rome", ROME),
        ("it is Rome, not Oslo", ROME),
        ("住在 Rome", ROME),
        ("I never lived in Oslo, it is still Rome", ROME),
        ("I used to live in Rome but now it's Oslo", OSLO),
        ("I moved to Oslo.", OSLO),
    ],
)
def test_an_answer_decides_for_the_value_that_it_names(known: Knowledge, text: str, kept: str) -> None:
    assert known.resolve(CONFLICT, Answer(text)).winner == kept


@pytest.mark.parametrize(
    "text",
    [
        *("", "neither", "Rome or Oslo", "Romeo", "not Rome", "both Rome and Oslo"),
        *("I don't know if it's Oslo", "Not sure, Oslo?", "Why do you ask? I never lived in Oslo!", "Is it Rome?"),
    ],
)
def test_an_answer_that_names_none_or_both_is_refused(known: Knowledge, text: str) -> None:
    assert known.refused(lambda: known.resolve(CONFLICT, Answer(text)), InvalidField).startswith("answer: ")


def test_an_answer_may_name_the_longer_of_two_names() -> None:
    known = Knowledge()
    known.says("York", 10)
    known.says("New York", 20, policy=Policy.ASK)
    assert known.resolve(CONFLICT, Answer("New York of course")).winner == OSLO
    known.undo(CONFLICT)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("北京", ROME),
        ("我现在住在上海。", OSLO),
        ("不是北京，是上海", OSLO),
        ("以前住在北京，现在上海", OSLO),
        ("我没住过上海，北京", ROME),
    ],
)
def test_an_answer_in_chinese(text: str, kept: str) -> None:
    known = Knowledge()
    known.says("北京", 10)
    known.says("上海", 20, policy=Policy.ASK)
    assert known.resolve(CONFLICT, Answer(text)).winner == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Yes, I do", ROME),
        ("no", OSLO),
        ("不喜欢", OSLO),
        ("喜欢", ROME),
        ("没错", ROME),
        ("是的", ROME),
        ("没有", OSLO),
    ],
)
def test_yes_and_no_answer_what_was_affirmed_and_denied(text: str, kept: str) -> None:
    known = Knowledge()
    known.likes("tea", 1.0)
    known.likes("tea", -1.0, policy=Policy.ASK)
    assert known.resolve(CONFLICT, Answer(text)).winner == kept


@pytest.mark.parametrize("text", ["Now I wonder", "I don't know", "not sure", "不知道", "Norway", "why do you ask"])
def test_who_says_neither_yes_nor_no_has_not_answered(text: str) -> None:
    known = Knowledge()
    known.likes("tea", 1.0)
    known.likes("tea", -1.0, policy=Policy.ASK)
    assert known.refused(lambda: known.resolve(CONFLICT, Answer(text)), InvalidField).startswith("answer: ")


def test_a_correction_takes_nothing_from_what_was_true_before(known: Knowledge) -> None:
    known.resolve(CONFLICT, Keep(ROME, correction=True))
    assert known.spans() == [("Rome", 10, None, "ACTIVE"), ("Oslo", 20, 20, "SUPERSEDED")]


def test_a_resolved_one_can_be_settled_otherwise(known: Knowledge) -> None:
    known.resolve(CONFLICT, Keep(OSLO))
    known.resolve(CONFLICT, Keep(ROME))
    assert known.current() == ["Rome"]
    replaced = known.resolve(CONFLICT, Replace(_lives("Lima")))
    known.resolve(CONFLICT, Keep(OSLO, correction=True))
    assert known.current() == ["Oslo"]
    assert known.memory(replaced.winner).state is State.DELETED
    assert known.state.conflicts[CONFLICT].version == 5


def test_what_was_superseded_by_the_rules_can_be_kept_after_all() -> None:
    known = Knowledge()
    known.says("Rome", 10)
    known.says("Oslo", 20)
    known.resolve(CONFLICT, Keep(ROME))
    assert known.spans() == [("Rome", 10, None, "ACTIVE"), ("Oslo", 20, 20, "SUPERSEDED")]


def _times(memory: Memory) -> tuple[Any, ...]:
    return memory.state, memory.valid_from, memory.valid_to, memory.superseded_at, memory.updated_at


@pytest.mark.parametrize(
    "choice",
    [
        Keep(OSLO),
        Keep(ROME, correction=True),
        Split((Part(OSLO, None, 15), Part(ROME, 15))),
        Replace(_lives("Lima")),
        Answer("Rome"),
    ],
)
def test_an_undo_gives_back_what_was_before_to_the_byte(choice: Choice) -> None:
    known = Knowledge()
    known.says("Rome")
    known.says("Oslo", policy=Policy.FLAG)
    before = [replace(known.memory(i), version=0) for i in (ROME, OSLO)]
    known.resolve(CONFLICT, choice)
    assert known.undo(CONFLICT).state is ConflictState.OPEN
    assert [replace(known.memory(i), version=0) for i in (ROME, OSLO)] == before
    known.resolve(CONFLICT, choice)
    assert known.memory(OSLO).state is not State.DISPUTED


def test_what_was_undone_can_be_resolved_again() -> None:
    known = Knowledge()
    known.says("Rome", 10)
    (conflict_id,) = known.says("Oslo", 20).conflicts
    known.undo(conflict_id)
    assert known.current() == ["Oslo", "Rome"]
    known.resolve(conflict_id, Keep(ROME))
    assert known.current() == ["Rome"]
    assert known.undo(conflict_id).state is ConflictState.UNDONE
    assert known.current() == ["Oslo", "Rome"]


def test_a_later_conflict_blocks_an_undo() -> None:
    known = Knowledge()
    known.says("Rome", 10)
    first = known.says("Oslo", 20).conflicts[0]
    second = known.says("Lima", 30).conflicts[0]
    assert second in known.refused(lambda: known.undo(first), ConflictBlocked)
    assert second in known.refused(lambda: known.resolve(first, Keep(ROME)), ConflictBlocked)
    known.undo(second)
    known.undo(first)
    assert known.spans() == [("Rome", 10, None, "ACTIVE"), ("Oslo", 20, None, "ACTIVE"), ("Lima", 30, None, "ACTIVE")]


def test_an_undo_of_what_was_said_twice_makes_one_of_it_again() -> None:
    known = Knowledge()
    rome = known.says("Rome", source=said(10)).memory.id
    known.says("Rome", source=said(30))
    before = _times(known.memory(rome))
    late = known.says("Oslo", 20, source=said(20))
    for conflict_id in reversed(late.conflicts):
        known.undo(conflict_id)
    assert _times(known.memory(rome)) == before
    assert sorted(known.current()) == ["Oslo", "Rome"]


def test_an_etag_is_the_version(known: Knowledge) -> None:
    known.refused(lambda: known.resolve(CONFLICT, Keep(OSLO), etag="7"), EtagMismatch)
    known.resolve(CONFLICT, Keep(OSLO), etag="1")
    known.refused(lambda: known.undo(CONFLICT, etag="1"), EtagMismatch)
    known.undo(CONFLICT, etag="2")
    known.refused(lambda: known.undo("nothing"), NotFound)
    known.refused(lambda: known.resolve("nothing", Dismiss()), NotFound)


def test_only_a_memory_of_the_conflict_can_be_kept(known: Knowledge) -> None:
    assert known.refused(lambda: known.resolve(CONFLICT, Keep("other")), InvalidField).startswith("keep_memory: ")


@pytest.mark.parametrize("way", ["delete", "purge"])
def test_a_conflict_that_has_lost_a_side_is_dismissed(known: Knowledge, way: str) -> None:
    getattr(known, way)(OSLO)
    assert known.state.conflicts[CONFLICT].state is ConflictState.DISMISSED
    assert known.current() == ["Rome"]


def test_a_purge_leaves_no_id_in_any_record(known: Knowledge) -> None:
    known.resolve(CONFLICT, Keep(OSLO))
    known.purge(OSLO)
    assert OSLO not in repr(known.state.conflicts[CONFLICT])
    assert known.state.conflicts[CONFLICT].state is ConflictState.RESOLVED
    known.purge(ROME)
    assert ROME not in repr(known.state.conflicts)


def test_an_undo_after_a_purge_restores_what_is_left(known: Knowledge) -> None:
    known.resolve(CONFLICT, Keep(OSLO))
    known.purge(OSLO)
    known.undo(CONFLICT)
    assert known.spans() == [("Rome", 10, None, "ACTIVE")]


def test_two_that_agree_stay_together(known: Knowledge) -> None:
    more = known.remember(
        Preference("unrelated", "likes", "tea", 1.0),
    )
    twin = known.remember(Fact("my flat is in Rome", predicate="lives_in", object_text="Rome"), policy=Policy.FLAG)
    known.resolve(CONFLICT, Keep(ROME))
    assert known.memory(twin).state is State.ACTIVE
    assert known.memory(more).state is State.ACTIVE
    assert known.memory(OSLO).state is State.SUPERSEDED


def test_an_update_that_agrees_ends_the_conflict(known: Knowledge) -> None:
    known.update(OSLO, object_text="Rome")
    assert known.state.conflicts[CONFLICT].state is ConflictState.DISMISSED
    assert known.current() == ["Rome", "Rome"]


def test_an_update_that_contradicts_still_is_settled_anew(known: Knowledge) -> None:
    known.update(OSLO, object_text="Lima")
    assert known.spans() == [("Rome", 10, 20, "SUPERSEDED"), ("Lima", 20, None, "ACTIVE")]


def test_what_comes_back_meets_what_is_known_by_now() -> None:
    known = Knowledge()
    known.says("Rome", 10)
    known.delete(ROME)
    known.says("Oslo", 20)
    assert known.undelete(ROME).state is State.SUPERSEDED
    assert known.spans() == [("Rome", 10, 20, "SUPERSEDED"), ("Oslo", 20, None, "ACTIVE")]
    known.delete(ROME)
    assert known.undelete(ROME).valid_to == 20, "history comes back as history"


def test_what_comes_back_into_an_open_conflict_is_disputed_again(known: Knowledge) -> None:
    third = known.says("Lima", 30, policy=Policy.FLAG).memory.id
    known.delete(third)
    assert known.state.conflicts[CONFLICT].state is ConflictState.OPEN
    assert known.undelete(third).state is State.DISPUTED


def test_what_was_dated_while_it_was_disputed_stays_dated() -> None:
    known = Knowledge()
    known.says("Rome")
    known.says("Oslo", policy=Policy.FLAG)
    late = known.says("Lima", 10)
    known.resolve(CONFLICT, Dismiss())
    assert known.memory(ROME).valid_from == 1_001
    known.undo(late.conflicts[0])
    assert known.memory(ROME).state is State.ACTIVE
    assert known.memory(ROME).valid_from is None


def test_a_batch_that_is_decided_at_once_is_undone_in_its_order() -> None:
    known = Knowledge()

    def batch(decision: Decision) -> list[str]:
        drafts = [replace(_lives(value), valid_from=at) for value, at in (("Rome", 10), ("Oslo", 20), ("Lima", 30))]
        outcomes = [remember(decision, draft, (), None) for draft in drafts]
        return [conflict_id for outcome in outcomes for conflict_id in outcome.conflicts]

    first, second = known.run(batch)
    assert known.spans() == [
        ("Rome", 10, 20, "SUPERSEDED"),
        ("Oslo", 20, 30, "SUPERSEDED"),
        ("Lima", 30, None, "ACTIVE"),
    ]
    assert second in known.refused(lambda: known.undo(first), ConflictBlocked)
    known.undo(second)
    known.undo(first)
    assert known.current() == ["Lima", "Oslo", "Rome"]
