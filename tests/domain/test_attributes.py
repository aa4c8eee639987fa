from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.attributes import ATTRIBUTES, Cardinality, attribute_of, slot_of
from memsidecar.domain.memory import Kind

MEANT = [
    ("lives_in", "lives_in", ""),
    ("Home_City", "lives_in", ""),
    ("homeCity", "lives_in", ""),
    ("user's current city", "lives_in", ""),
    ("住址", "lives_in", ""),
    ("我的住址", "lives_in", ""),
    ("Works-At", "employer", ""),
    ("is allergic to", "allergic_to", ""),
    ("老婆", "spouse", ""),
    ("favourite:Color", "favourite", "colour"),
    ("favorite_color", "favourite", "colour"),
    ("最喜欢的颜色", "favourite", "颜色"),
    ("report deadline", "deadline", "report"),
    ("deadline for the report", "deadline", "report"),
    ("deadline", "deadline", ""),
    ("wedding date", "date", "wedding"),
    ("5k personal best", "personal_best", "5k"),
]


@pytest.mark.parametrize(("predicate", "key", "qualifier"), MEANT)
def test_a_predicate_is_understood_however_it_is_written(predicate: str, key: str, qualifier: str) -> None:
    slot = slot_of(predicate)
    assert slot is not None
    assert (slot[0].key, slot[1]) == (key, qualifier)


@pytest.mark.parametrize("predicate", ["", " ", "xyz", "::", "the", "的", "🙂"])
def test_what_the_table_does_not_have_is_no_attribute(predicate: str) -> None:
    assert attribute_of(predicate) is None


@given(st.text(max_size=200))
def test_any_predicate_gets_an_answer(predicate: str) -> None:
    slot_of(predicate)


def test_no_name_means_two_attributes() -> None:
    names = [
        name for attribute in ATTRIBUTES.values() for name in (attribute.key.replace("_", " "), *attribute.synonyms)
    ]
    twice = {name for name in names if names.count(name) > 1}
    assert twice == set()


@pytest.mark.parametrize("key", sorted(ATTRIBUTES))
def test_every_attribute_can_be_asked_about_in_both_languages(key: str) -> None:
    attribute = ATTRIBUTES[key]
    qualifier = "X" if attribute.qualified else ""
    for language in ("en", "zh"):
        for question in (
            attribute.question("A1", "B2", language, qualifier),
            attribute.question("A1", "B2", language, subject="Anna"),
        ):
            assert "A1" in question
            assert "B2" in question
            assert "{" not in question
            assert question.endswith("？" if language == "zh" else "?")
    assert "X" in attribute.question("A1", "B2", "en", qualifier) or not attribute.qualified


def test_a_question_is_about_the_attribute() -> None:
    lives = ATTRIBUTES["lives_in"]
    assert lives.question("Oslo", "Bergen") == "Where do you live now: Oslo or Bergen?"
    assert lives.question("奥斯陆", "卑尔根", "zh-CN") == "你现在住在奥斯陆还是卑尔根？"
    assert (
        ATTRIBUTES["favourite"].question("red", "blue", "en", "colour")
        == "What is your favourite colour now: red or blue?"
    )
    assert ATTRIBUTES["deadline"].question("May 1", "May 2") == "When is the deadline: May 1 or May 2?"
    assert ATTRIBUTES["likes"].question("tea", "Tea") == "Do you like tea or not?"
    assert lives.question("{b}", "B") == "Where do you live now: {b} or B?"


def test_single_and_many_are_told_apart() -> None:
    single = {"name", "lives_in", "employer", "age", "status", "deadline", "favourite", "spouse", "diet"}
    many = {"likes", "visited", "knows", "sister", "pet", "allergic_to", "speaks", "plan", "event"}
    assert {ATTRIBUTES[key].cardinality for key in single} == {Cardinality.SINGLE}
    assert {ATTRIBUTES[key].cardinality for key in many} == {Cardinality.MULTI}
    assert ATTRIBUTES["favourite"].holds("colour") is Cardinality.SINGLE
    assert ATTRIBUTES["favourite"].holds() is Cardinality.MULTI
    assert ATTRIBUTES["deadline"].holds() is Cardinality.SINGLE
    assert {ATTRIBUTES[key].kind for key in ("likes", "prefers", "favourite")} == {Kind.PREFERENCE}
