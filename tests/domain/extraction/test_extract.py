from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.claims import Claim, Manner
from memsidecar.domain.extraction.extract import MAX_CLAIMS, MAX_READ, extract
from memsidecar.domain.memory import Kind

PIECES = [
    "I live in ", "my sister Anna ", "I'm ", "and ", ", ", ". ", "? ", '"', "'", "“", "```", "`", "\n", "not ", "I like tea, jazz and hiking", "because ", "since 2020 ", "last week ",
    "used to ", "the deadline moved to March 3", "我", "住在", "上海", "喜欢", "，", "。", "不", "以前", "对", "过敏", "叫", "的", "了", "《", "》", "🙂", "\ufffc", "MY ", "favourite colour is ",
]  # fmt: skip
TEXTS = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
HOSTILE = [
    "I ", "I'm a ", "I like a, ", "I like a and ", "my ", "my sister ", "not ", '"', "'I", "“", "`", "[", "<a", "I live in A", "和", "我", "我喜欢和", "我住在", "最近", "现在", "了", "and I ",
    ", ", "I have a a ", "I moved from a ", "1", "A ", "in 20", "January ", "我对", "从一月起", "( ", "- ", "I was ", "http://", "\n", "    ", "haha ", "I love the ", "a-", "I 'm ",
]  # fmt: skip


def _only(text: str) -> Claim:
    claims = extract(text)
    assert len(claims) == 1, claims
    return claims[0]


@given(TEXTS)
def test_any_text_is_read_without_an_error_and_every_span_is_inside_it(text: str) -> None:
    for claim in extract(text):
        assert 0 <= claim.span.start < claim.span.end <= len(text)
        assert claim.time is None or 0 <= claim.time.start < claim.time.end <= len(text)
        assert claim.value.strip() and claim.statement.strip()
        assert len(claim.statement) <= 300
        assert -1 <= claim.polarity <= 1 and 0 <= claim.confidence <= 1 and 0 <= claim.importance <= 1
        assert (claim.kind is Kind.PREFERENCE) == (claim.polarity != 0)


@given(TEXTS)
def test_the_same_text_gives_the_same_claims(text: str) -> None:
    assert extract(text) == extract(text)


@given(TEXTS)
def test_a_question_mark_after_it_never_makes_a_text_say_more(text: str) -> None:
    assert len(extract(text.rstrip(".!。！") + "?")) <= len(extract(text)) + 1


@pytest.mark.parametrize("piece", HOSTILE)
def test_half_a_megabyte_of_one_pattern_takes_no_time(piece: str) -> None:
    text = piece * (524_288 // len(piece))
    began = time.thread_time()
    extract(text)
    # A few ms; a pattern that backtracks takes minutes.
    assert time.thread_time() - began < 2


def test_no_more_is_read_and_given_than_promised() -> None:
    assert extract("x" * MAX_READ + ". I live in Oslo.") == ()
    many = " ".join(f"I like thing{i}." for i in range(MAX_CLAIMS * 2))
    assert len(extract(many)) == MAX_CLAIMS


def test_the_statement_is_the_clause_as_written() -> None:
    claims = extract("I'm Canadian, but I live in Oslo with two cats.")
    assert [claim.statement for claim in claims] == ["I'm Canadian", "I live in Oslo with two cats"]


def test_a_clause_without_a_subject_of_its_own_is_stated_with_the_one_before_it() -> None:
    claims = extract("I hate smoke and refuse to stay in hotels. 我叫李娜，住在上海。")
    assert [claim.statement for claim in claims] == [
        "I hate smoke",
        "I hate smoke and refuse to stay in hotels",
        "我叫李娜",
        "我叫李娜，住在上海",
    ]


def test_the_span_is_where_the_evidence_stands() -> None:
    text = "Hello! I work at Acme. Bye."
    claim = _only(text)
    assert text[claim.span.start : claim.span.end] == "I work at Acme"


def test_four_wishes_about_the_answers_said_at_once_are_one() -> None:
    claim = _only("From now on, be brief, use bullet points, avoid jargon and no emojis.")
    assert (claim.attribute, claim.kind) == ("answer_style", Kind.PREFERENCE)


def test_strength_is_in_the_polarity() -> None:
    strengths = [
        _only(text).polarity
        for text in ("I hate rain.", "I don't like rain.", "I like rain.", "I absolutely love rain.")
    ]
    assert strengths == sorted(strengths)
    assert strengths[0] < strengths[1] < 0 < strengths[2] < strengths[3]


def test_a_second_sentence_may_take_the_first_for_a_joke() -> None:
    assert extract("I love Mondays. Just kidding.") == ()


@pytest.mark.parametrize(
    "text",
    ["No, I live in Bergen.", "Actually, I live in Bergen.", "I live in Bergen, not Oslo.", "不对，我住在Bergen。"],
)
def test_a_correction_is_told_from_a_change(text: str) -> None:
    assert _only(text).manner is Manner.CORRECTED


@pytest.mark.parametrize(
    "text", ["I moved to Bergen.", "I now live in Bergen.", "I no longer live in Bergen.", "我搬到Bergen了。"]
)
def test_a_change_is_told_from_a_correction(text: str) -> None:
    assert _only(text).manner is Manner.CHANGED


@pytest.mark.parametrize(
    "text",
    [
        "My sister Anna loves jazz.",
        "She said my sister Anna loves jazz.",
        "My friends like sushi and they hate rain.",
        "我妹妹喜欢爵士乐。",
    ],
)
def test_what_others_like_is_nobodys_preference(text: str) -> None:
    assert [claim for claim in extract(text) if claim.kind is Kind.PREFERENCE] == []


def test_code_around_a_statement_does_not_hide_it() -> None:
    text = "I live in Oslo.\n```python\nname = 'I live in Rome'\n```\nI work at Acme."
    assert [claim.value for claim in extract(text)] == ["Oslo", "Acme"]
