"""Of a text that is too long, the part that answers is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.context.cutting import ELLIPSIS, excerpt
from memsidecar.domain.context.passage import Asked
from tests.domain.context.test_cutting import CLUSTERS, characters

ENGLISH = "The meeting went on about the budget and the weather. " * 60
CHINESE = "会议上大家谈了预算和天气。" * 100
FACT = "The spare key is under the blue flowerpot. "
QUESTION = "Where is the spare key?"


@pytest.mark.parametrize("before", [0, 1, 30, 59, 60])
@pytest.mark.parametrize("most", [60, 150, 600])
def test_what_answers_is_shown_wherever_it_stands(before: int, most: int) -> None:
    sentence = ENGLISH[: len(ENGLISH) // 60]
    text = (sentence * before + FACT + sentence * (60 - before)).strip()
    shown = Asked.of(QUESTION).passage(text, most, characters)
    assert FACT.strip() in shown
    assert len(shown) <= most
    inner = shown.removeprefix(ELLIPSIS).removesuffix(ELLIPSIS)
    assert inner in text
    assert shown.startswith(ELLIPSIS) is not text.startswith(inner)
    assert shown.endswith(ELLIPSIS) is not text.endswith(inner)


def test_of_chinese_what_answers_is_shown() -> None:
    text = CHINESE + "备用钥匙在蓝色花盆下面。" + CHINESE
    shown = Asked.of("备用钥匙在哪里？").passage(text, 80, characters)
    assert "备用钥匙在蓝色花盆下面。" in shown
    assert shown.removeprefix(ELLIPSIS)[:2] in ("会议", "备用")


def test_a_part_begins_and_ends_with_a_sentence() -> None:
    shown = Asked.of(QUESTION).passage(ENGLISH + FACT + ENGLISH, 400, characters)
    inner = shown.removeprefix(ELLIPSIS).removesuffix(ELLIPSIS)
    assert inner.startswith("The ")
    assert inner.endswith(".")


def test_rare_words_count_more_than_those_that_are_everywhere() -> None:
    text = ENGLISH + "Only the plumber has a weather vane. " + ENGLISH
    shown = Asked.of("What did the plumber say in the meeting about the budget?").passage(text, 200, characters)
    assert "plumber" in shown


@pytest.mark.parametrize("question", ["", "Who is Ben?", "the and of"])
def test_without_a_word_of_the_question_it_is_the_beginning(question: str) -> None:
    text = ENGLISH + FACT
    assert Asked.of(question).passage(text, 200, characters) == excerpt(text, 200, characters)


def test_a_text_that_fits_stays_itself() -> None:
    text = "It fits."
    assert Asked.of("fits").passage(text, 8, characters) is text


@given(st.lists(st.sampled_from([*CLUSTERS, " ", ". ", "key "]), max_size=80), st.integers(0, 60))
def test_a_part_cuts_no_character_that_a_reader_sees(parts: list[str], most: int) -> None:
    text = "".join(parts)
    shown = Asked.of("the key").passage(text, most, characters)
    assert len(shown) <= most
    ends, at = {0}, 0
    for part in parts:
        ends.update(range(at, at + len(part)) if part == "key " else ())
        at += len(part)
        ends.add(at)
    inner = shown.removeprefix(ELLIPSIS).removesuffix(ELLIPSIS)
    places = [at for at in range(len(text) - len(inner) + 1) if text.startswith(inner, at)]
    assert any(_is_whole(text, at, at + len(inner), ends) for at in places)


def _is_whole(text: str, start: int, end: int, ends: set[int]) -> bool:
    """White space at the end is trimmed."""
    return start in ends and (end in ends or any(text[end:e].isspace() for e in ends if e > end))
