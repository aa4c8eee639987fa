from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.text import (
    begin_place,
    chunks,
    display_name,
    entity_key,
    inside_character,
    nfkc,
    normalise,
    sentences,
)

WHOLE = [
    "a",
    " ",
    "é",
    "e\u0301",
    "👨‍👩‍👧",
    "🇨🇳",
    "👍🏽",
    "1️⃣",
    "हि",
    "क्ष",
    "한",
    "\u1112\u1161\u11ab",
    "\r\n",
    "กำ",
    "。",
    ".",
    " ",
    "字",
]
_texts = st.lists(st.sampled_from(WHOLE), max_size=120)


# No character twice: then a piece has one place.
_distinct = st.lists(st.characters(codec="utf-8"), unique=True, max_size=120).map("".join)


@given(_distinct, st.integers(1, 40), st.integers(0, 80))
def test_pieces_cover_the_text_and_fit(text: str, size: int, overlap: int) -> None:
    pieces = chunks(text, size, overlap)
    assert all(len(piece) <= size for piece in pieces)
    covered = 0
    for piece in pieces:
        at = text.find(piece)
        assert 0 <= at <= covered < at + len(piece) or text == piece == ""
        covered = at + len(piece)
    assert covered == len(text)


@pytest.mark.parametrize("text", ["x" * 5000, "\u0301" * 5000, "🇨🇳" * 3000, "字" * 5000, " " * 5000, "\u200d" * 5000])
@pytest.mark.parametrize("overlap", [0, 60, 400, 10_000])
def test_cutting_ends_whatever_the_text(text: str, overlap: int) -> None:
    pieces = chunks(text, 400, overlap)
    assert len(pieces) < 80
    assert all(pieces)


@given(_texts, st.integers(16, 40), st.integers(0, 20))
def test_no_character_that_a_reader_sees_is_cut(parts: list[str], size: int, overlap: int) -> None:
    text = "".join(parts)
    places, at = {0}, 0
    for part in parts:
        at += len(part)
        places.add(at)
    start = 0
    for piece in chunks(text, size, overlap):
        # Pieces may occur twice in a text; one of the places must be between characters on both sides.
        found = [i for i in range(start, len(text)) if text.startswith(piece, i)] or [0]
        assert any(i in places and i + len(piece) in places for i in found)


def test_a_cut_prefers_the_end_of_a_sentence_then_of_a_word() -> None:
    assert chunks("One two three. Four five six seven", 20, 0)[0] == "One two three. "
    assert chunks("Onetwo three fourfive sixseven", 20, 0)[0] == "Onetwo three "
    assert chunks("今天天气很好。我们去公园散步吧", 10, 0)[0] == "今天天气很好。"


@pytest.mark.parametrize(
    ("text", "at"), [("🇨🇳🇺🇸", 2), ("ab", 1), ("字母", 1), ("a\n", 1), ("👍👍", 1), ("", 0), ("a", 1)]
)
def test_between_characters_a_cut_is_free(text: str, at: int) -> None:
    assert not inside_character(text, at)


@given(st.text())
def test_what_is_normal_stays_so(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
    assert entity_key(entity_key(text)) == entity_key(text)
    assert display_name(display_name(text)) == display_name(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("스코프랩스", "스코프 랩스"),
        ("Wren 🕯️", "Wren 🗯️"),
        ("Acme\n Corp", "Acme Corp"),
        ("Acme\t\u00a0Corp.", "acme corp"),
        ("ＡＣＭＥ", "acme"),
        ("Straße", "STRASSE"),
        ("José", "Jose\u0301"),
        ("北京 大学", "北京大学"),
        ("“Wren”", "Wren"),
        ("《三体》", "三体"),
        ("👩🏽‍🚀 Ada", "Ada"),
    ],
)
def test_spellings_of_one_name_meet(one: str, other: str) -> None:
    assert entity_key(one) == entity_key(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("김민수", "김민석"),
        ("北京大学", "上海大学"),
        ("Merrivale", "Merryvale"),
        ("C++", "C#"),
        ("C++", "C"),
        ("C#", "C"),
        ("कुमार", "कमर"),
        ("José", "Jose"),
        ("Ann Arbor", "Annarbor"),
        ("กา", "กี"),
    ],
)
def test_different_names_stay_apart(one: str, other: str) -> None:
    assert entity_key(one) != entity_key(other)


@pytest.mark.parametrize("name", ["🙂", "👨‍👩‍👧", "🇨🇳", "", " ", "!!!", "👍🏽", "\u200b"])
def test_a_name_of_no_letters_has_no_key(name: str) -> None:
    assert entity_key(name) == ""


@given(
    st.lists(
        st.text(
            st.characters(
                min_codepoint=0x20,
                max_codepoint=0x3FFFF,
                exclude_categories=["Cs"],
                exclude_characters="⁰¹²³⁴⁵⁶⁷⁸⁹¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞",
            )
        ),
        max_size=6,
    )
)
def test_form_of_a_long_text_is_that_of_the_whole(texts: list[str]) -> None:
    text = "".join(part + "e\u0301가\u11a8か\u3099Å" * 3_000 for part in texts)
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize(
    ("text", "form"), [("10³", "10^3"), ("10⁻³", "10^-3"), ("1½", "1 1⁄2"), ("½", "1⁄2"), ("m²", "m2"), ("CO₂", "CO2")]
)
def test_powers_and_fractions_are_not_part_of_the_number_before_them(text: str, form: str) -> None:
    assert nfkc(text).replace("−", "-") == form
    assert nfkc(f"e\u0301{text} " * 5_000) == f"é{nfkc(text)} " * 5_000


@given(st.lists(st.sampled_from(["One. ", "二。", "three!\n", "4.5 ", "e\u0301", ".", "\n", "\u0301"]), max_size=20))
def test_sentences_are_the_text(parts: list[str]) -> None:
    text = "".join(parts)
    found = list(sentences(text))
    assert "".join(found) == text
    assert all(found)


def test_a_sentence_ends_at_a_full_stop_or_a_line_end() -> None:
    assert list(sentences("It is 4.5 m. Yes!\nNo 二。三")) == ["It is 4.5 m. ", "Yes!\n", "No 二。", "三"]


def test_a_part_begins_with_a_sentence_else_with_a_word_else_with_a_character() -> None:
    assert begin_place("One two. Three four", 2, 15) == 9
    assert begin_place("Onetwo threefour five", 2, 15) == 7
    assert begin_place("ae\u0301\u0301iou", 2, 6) == 4
    assert begin_place("One two. Three", 0, 9) == 0
