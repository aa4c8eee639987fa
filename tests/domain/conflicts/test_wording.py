from __future__ import annotations

import pytest

from memsidecar.domain.attributes import Cardinality
from memsidecar.domain.conflict import Conflict, Policy
from memsidecar.domain.conflicts.resolving import Dismiss, Keep
from memsidecar.domain.conflicts.rules import ConflictRules
from memsidecar.domain.conflicts.wording import explanation, question
from memsidecar.domain.memory import Fact, Preference
from tests.domain.conflicts.knowledge import Knowledge


def _disputed(one: Fact | Preference, other: Fact | Preference) -> tuple[Knowledge, Conflict]:
    known = Knowledge()
    known.remember(one)
    known.remember(other, policy=Policy.ASK)
    return known, known.conflicts()[0]


ROME, OSLO = (Fact(f"I live in {c}", predicate="lives_in", object_text=c) for c in ("Rome", "Oslo"))


def test_a_listed_attribute_is_asked_in_its_own_words() -> None:
    known, conflict = _disputed(ROME, OSLO)
    assert question(conflict, known.state.memories) == ("Where do you live now: Rome or Oslo?", "en")
    assert explanation(conflict, known.state.memories) == (
        '"I live in Rome" and "I live in Oslo" are different values of what has one at a time; nothing is decided.'
    )


def test_the_language_is_that_of_the_memories() -> None:
    one, other = (Fact(f"我住在{c}", predicate="住址", object_text=c) for c in ("北京", "上海"))
    known, conflict = _disputed(one, other)
    assert question(conflict, known.state.memories) == ("你现在住在北京还是上海？", "zh")
    assert explanation(conflict, known.state.memories) == "“我住在北京”和“我住在上海”是同一件事的不同说法；尚未裁定。"


def test_a_qualified_attribute_says_of_what() -> None:
    one, other = (Preference(f"{c} is best", "favourite colour", c, 1.0) for c in ("blue", "green"))
    known, conflict = _disputed(one, other)
    text, _ = question(conflict, known.state.memories)
    assert "colour" in text
    assert "blue" in text
    assert "green" in text


def test_what_is_affirmed_and_denied_is_asked_once() -> None:
    known, conflict = _disputed(
        Preference("likes tea", "likes", "tea", 1.0), Preference("no tea", "likes", "tea", -1.0)
    )
    assert question(conflict, known.state.memories) == ("Do you like tea or not?", "en")


def test_an_entity_is_called_by_its_name() -> None:
    known = Knowledge()
    ada, rome = known.entity("Ada"), known.entity("Rome")
    known.remember(Fact("Ada lives in Rome", ada, "lives_in", rome))
    known.remember(Fact("Ada lives in Oslo", ada, "lives_in", object_text="Oslo"), policy=Policy.ASK)
    text, _ = question(known.conflicts()[0], known.state.memories)
    assert text == "Which is right about Ada: Rome or Oslo?"


def test_an_unlisted_attribute_is_asked_by_its_sentences() -> None:
    known = Knowledge(ConflictRules(Policy.ASK, cardinalities={"wall paint": Cardinality.SINGLE}))
    known.says("blue", 10, "wall paint")
    known.says("green", 20, "wall paint")
    text, _ = question(known.conflicts()[0], known.state.memories)
    assert text == 'Which of these is right: "wall paint blue" or "wall paint green"?'


@pytest.mark.parametrize(
    ("choice", "ending"),
    [
        (Keep("g0001"), '"I live in Oslo" holds now, the rest is history.'),
        (Keep("g0001", correction=True), '"I live in Oslo" holds, the rest never did.'),
        (Dismiss(), "it was dismissed."),
    ],
)
def test_what_is_settled_is_told_and_not_asked(choice: Keep | Dismiss, ending: str) -> None:
    known, conflict = _disputed(ROME, OSLO)
    settled = known.resolve(conflict.id, choice)
    assert explanation(settled, known.state.memories).endswith(ending)
    assert question(settled, known.state.memories) == ("", "")


def test_long_texts_are_shown_in_part_and_purged_ones_not_at_all() -> None:
    known, conflict = _disputed(ROME, Fact("long " * 10_000, predicate="lives_in", object_text="x" * 9_000))
    assert len(explanation(conflict, known.state.memories)) < 400
    assert len(question(conflict, known.state.memories)[0]) < 400
    known.purge("g0001")
    gone = known.state.conflicts[conflict.id]
    assert explanation(gone, known.state.memories) == "Memories of it were purged."
    assert question(gone, known.state.memories) == ("", "")


def test_what_begins_later_does_not_hold_now() -> None:
    known = Knowledge()
    known.says("Rome", 10)
    known.says("Oslo", 86_400_000_000)
    (conflict,) = known.conflicts()
    assert explanation(conflict, known.state.memories).endswith(
        '"lives_in Oslo" holds from 1970-01-02 on, the rest until then.'
    )
