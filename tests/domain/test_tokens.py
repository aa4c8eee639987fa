from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.tokens import STOP_WORDS, query_tokens, token_counts, tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Running dogs, ran a dog", ["run", "dog", "ran", "dog"]),
        ("24:10 and 5k", ["24", "10", "5k"]),
        ("bob@example.com", ["bob", "exampl", "com"]),
        ("#running @wren_99", ["run", "wren", "99"]),
        ("a|b ` C++ ~ | ``", ["b", "c"]),
        ("It's Melanie’s, don't, we’ll, who's", ["melani"]),
        ("O'Brien D'Angelo", ["o'brien", "d'angelo"]),
        ("what is it that you were", []),
        ("😀🇨🇳👨‍👩‍👧", []),
        ("ＦＵＬＬ width", ["full", "width"]),
        ("我在北京", ["北", "京", "我在", "在北", "北京"]),
        ("茶", ["茶"]),
        ("的", []),
        ("나 집에", ["나", "집에"]),
        ("カメラ", ["カメ", "メラ"]),
        ("佐々木", ["佐", "々", "木", "佐々", "々木"]),
        ("用Python写", ["用", "python", "写"]),
        ("हिन्दी कुमार", ["हिन्दी", "कुमार"]),
        ("กาแฟ", ["กา", "าแ", "แฟ"]),
        ("été", ["été"]),
    ],
)
def test_words_of_every_script(text: str, words: list[str]) -> None:
    assert tokens(text) == words


@given(st.text())
def test_any_text_has_words(text: str) -> None:
    found = tokens(text)
    assert all(word and "\n" not in word and len(word) <= 64 for word in found)
    asked = query_tokens(text)
    assert len(asked) == len(set(asked))
    # A question that is a memory's own text finds it by every word.
    assert set(asked) <= set(found)


@given(st.text(st.sampled_from("ab'’ 茶的我水カ나é\u0301一#@5_")))
def test_a_question_asks_only_for_what_is_indexed(text: str) -> None:
    assert set(query_tokens(text)) <= set(tokens(text))


@pytest.mark.parametrize("unit", ["a", "茶", "\u0301", "e\u0301", "'", "a'", "é'", "@", "1,", "A ", "ก", "한"])
@pytest.mark.timeout(20)
def test_long_texts_take_no_time_to_speak_of(unit: str) -> None:
    assert all(len(word) <= 64 for word in tokens(unit * 50_000))


def test_a_question_of_glue_asks_for_nothing() -> None:
    assert query_tokens(" ".join(sorted(STOP_WORDS))) == []
    assert query_tokens("的 了 是") == []


@pytest.mark.parametrize(
    "unit", ["我在北京，喝茶。", "Running dogs, ｒａｎ à dog's ", "カ\u3099ﾞメラ고양이 \u0301\u0323e", "กาแฟ"]
)
def test_long_text_has_the_words_of_its_parts(unit: str) -> None:
    # In between the parts stands what no word and no letter goes over.
    text = "\n".join([unit * 40] * 100)
    assert token_counts(text) == Counter(tokens(unit * 40) * 100)
    assert Counter(tokens(text)) == token_counts(text)
