from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.context.cutting import ELLIPSIS, GAP, both_ends, excerpt

# Each one character to a reader.
CLUSTERS = [
    "a",
    "é",
    "e\u0301",
    "👨‍👩‍👧",
    "🇨🇳",
    "👍🏽",
    "क्षि",
    "각",
    "\u1100\u1161\u11a8",
    "字",
    "ก็",
    "❤️",
    "\u06001",
    "\r\n",
]


def characters(text: str) -> int:
    return len(text)


@given(st.lists(st.sampled_from([*CLUSTERS, " ", ". "]), max_size=60), st.integers(0, 80))
def test_no_character_that_a_reader_sees_is_cut(parts: list[str], limit: int) -> None:
    text = "".join(parts)
    shown = excerpt(text, limit, characters)
    assert len(shown) <= limit
    if shown == text:
        return
    kept = shown.removesuffix(ELLIPSIS)
    assert text.startswith(kept)
    ends, at = {0}, 0
    for part in parts:
        at += len(part)
        ends.add(at)
    # White space before the ellipsis is trimmed.
    assert len(kept) in ends or any(text[len(kept) : end].isspace() for end in ends if end > len(kept))


@given(st.lists(st.sampled_from([*CLUSTERS, " ", ". "]), max_size=60), st.integers(0, 80))
def test_both_ends_are_cut_between_characters_that_a_reader_sees(parts: list[str], limit: int) -> None:
    text = "".join(parts)
    shown = both_ends(text, limit, characters)
    assert len(shown) <= limit
    if shown in ("", text):
        return
    places = {0}
    for part in parts:
        places.add(max(places) + len(part))
    begin, _, end = (f" {shown} ").partition(GAP)
    begin, end = begin.strip(), end.strip()
    # White space beside the mark is trimmed.
    assert any(text[:at].strip() == begin for at in places)
    assert any(text[at:].strip() == end for at in places)


def test_both_ends_are_there_with_a_mark_between() -> None:
    assert both_ends("One two. " + "Three four. " * 9 + "Five six?", 24, characters) == "One two. […] Five six?"
    assert both_ends("👨‍👩‍👧" * 9, 4, characters) == ""
    assert both_ends("short", 5, characters) == "short"
    assert both_ends("abc" + " " * 900 + "def", 11, characters) == "abc […] def"


def test_a_cut_ends_a_sentence_or_a_word() -> None:
    assert excerpt("One two. Three four five six seven", 12, characters) == "One two.…"
    assert excerpt("Onetwothree fourfivesix seven", 16, characters) == "Onetwothree…"
    assert excerpt("今天天气很好。我们去公园散步吧", 9, characters) == "今天天气很好。…"


@pytest.mark.parametrize(("text", "limit"), [("abc", 0), ("abc", -1), ("👨‍👩‍👧👨‍👩‍👧", 4), ("", 5)])
def test_nothing_is_shown_of_what_does_not_fit(text: str, limit: int) -> None:
    assert excerpt(text, limit, characters) == ""


def test_a_text_that_fits_is_itself() -> None:
    text = "It fits."
    assert excerpt(text, 8, characters) is text


def test_a_huge_text_is_not_counted_whole() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text.split())

    assert len(excerpt("word " * 100_000, 20, count).split()) <= 20
    assert max(counted) <= 20 * 12
