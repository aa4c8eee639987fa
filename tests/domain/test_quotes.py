"""Quotes are found where they stand, and nowhere else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.claims import Span
from memsidecar.domain.quotes import QuotedText


def found(text: str, quote: str, near: str = "") -> str | None:
    place = text.rindex(near) if near else 0
    span = QuotedText(text).find(quote, Span(place, place + len(near)) if near else None)
    return text[span.start : span.end] if span else None


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("I live in Oslo.", "Oslo", "Oslo"),
        ("I live in Oslo.", "oslo", "Oslo"),
        ("I live in\n  New   York now", "new york", "New   York"),
        ("He said “I’m in” twice", '"I\'m in"', "“I’m in”"),
        ("2019—2021 in Bonn", "2019-2021", "2019—2021"),
        ("我住在Ｏｓｌｏ。", "oslo", "Ｏｓｌｏ"),
        ("我上个月搬到了成都高新区。", "搬到了成都", "搬到了成都"),
        ("cafe\u0301 noir", "café", "cafe\u0301"),
        ("café noir", "cafe\u0301 noir", "café noir"),
        ("I live in Oslo", '"I live in Oslo."', "I live in Oslo"),
        ("Straße 5", "STRASSE 5", "Straße 5"),
        ("par\u00adtial", "partial", "par\u00adtial"),
        ("my 5k time is 24:10", "24:10", "24:10"),
    ],
)
def test_another_spelling_of_the_same_words_is_found(text: str, quote: str, expected: str) -> None:
    assert found(text, quote) == expected


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("I started early", "art"),
        ("15k is far", "5k"),
        ("it took 24:10", "4:10"),
        ("it took 24:10", "24"),
        ("pi is 3.14", "14"),
        ("1,500 people", "1"),
        ("café", "caf"),
        ("cafe\u0301", "cafe"),
        ("각", "가"),
        ("I live in Oslo", "Bergen"),
        ("I live in Oslo", ""),
        ("wait... what?!", "..."),
        ("", "a"),
        ("👩‍👩‍👧 and a", "👩"),
    ],
)
def test_parts_of_words_and_numbers_and_what_is_not_there_are_not_found(text: str, quote: str) -> None:
    assert found(text, quote) is None


def test_a_number_ends_where_its_sentence_does() -> None:
    assert found("I am 36.", "36") == "36"
    assert found("at 5, or 6: never", "5") == "5"


def test_of_several_places_the_one_near_the_evidence_is_taken() -> None:
    text = "Rome was fine. I moved from Oslo to Rome."
    place = QuotedText(text).find("Rome", Span(text.index("I moved"), len(text)))
    assert place == Span(text.rindex("Rome"), text.rindex("Rome") + 4)
    assert QuotedText(text).find("Rome") == Span(0, 4)


def test_a_sentence_is_given_whole_and_on_one_line() -> None:
    text = "Hello there. I moved\nto Oslo in May. Bye."
    span = QuotedText(text).find("to Oslo")
    assert span is not None
    assert QuotedText(text).sentence(span, 100) == "to Oslo in May."
    assert QuotedText(text).sentence(span, 7) == "to Oslo"
    assert QuotedText(text).sentence(span, 2) == "to"


@pytest.mark.parametrize("text", ["a" * 6_000, "ab " * 2_000, "\u0301" * 6_000, "🇦" * 6_000, "… " * 3_000, "ﷺ" * 1_000])
def test_hostile_texts_cost_milliseconds(text: str) -> None:
    started = time.process_time()
    QuotedText(text).find("aab")
    QuotedText(text).find(text[:300])
    assert time.process_time() - started < 0.5


@given(st.text(max_size=60), st.text(max_size=20))
def test_what_is_found_is_a_part_of_the_text(text: str, quote: str) -> None:
    span = QuotedText(text).find(quote)
    assert span is None or 0 <= span.start < span.end <= len(text)


@given(st.text(alphabet="aB é한글中1.,:", max_size=30), st.data())
def test_a_whole_word_is_found_where_it_was_taken_from_or_before(text: str, data: st.DataObject) -> None:
    words = [word for word in text.split() if any(map(str.isalnum, word))]
    if not words:
        return
    word = data.draw(st.sampled_from(words))
    span = QuotedText(text).find(word)
    assert span is not None
    assert span.start <= text.rindex(word)
