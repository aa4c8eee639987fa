from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.extraction.experience import experience_claims


def said(text: str) -> list[tuple[str, bool]]:
    return [(claim.value, claim.negated) for claim in experience_claims(text)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("I've never written any Flask routes, so help me.", "written any Flask routes"),
        ("I have never actually obtained an API key for this project.", "obtained an API key"),
        ("I haven't used Bootstrap yet.", "used Bootstrap"),
        ("We have never deployed it to the cloud.", "deployed it to the cloud"),
        ("Why is this hard, since I've never been to Japan?", "been to Japan"),
        ("我从来没有用过Flask。", "用过Flask"),
        ("我没去过日本。", "去过日本"),
    ],
)
def test_what_was_never_done_is_denied_in_its_own_words(text: str, what: str) -> None:
    assert (what, True) in said(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("I've managed to return static HTML.", "managed to return static HTML"),
        ("I attended a workshop on resume standards.", "attended a workshop on resume standards"),
        ("I've been using OpenWeather.", "using OpenWeather"),
        ("I recently fixed the autocomplete bug.", "fixed the autocomplete bug"),
        ("How do I use my API key obtained on Monday?", "API key obtained on Monday"),
        ("我用过Flask写接口。", "用过Flask写接口"),
    ],
)
def test_what_was_done_is_affirmed(text: str, what: str) -> None:
    assert said(text) == [(what, False)]


@pytest.mark.parametrize(
    "text",
    [
        "I never know what to say.",
        "I never give up.",
        "Have I ever used Flask?",
        "If I had never met you, I would be sad.",
        "She has never been to Japan.",
        'He told me "I\'ve never been to Japan".',
        "I'm wondering whether to go.",
        "I'm trying to understand recursion.",
        "I wish I lived in Japan.",
        "我累了。",
        "听说我要搬到上海了。",
        "",
    ],
)
def test_habits_wishes_questions_and_what_others_say_are_no_experiences(text: str) -> None:
    assert said(text) == []


_PIECES = st.sampled_from(
    "I|I've|never|haven't|used|written|any|Flask|or|,|.|?|before|```|我|从来没|过|去|，|。".split("|")
)


@given(st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=60).map(" ".join)))
def test_any_text_gives_the_same_claims_each_time_and_spans_within_it(text: str) -> None:
    claims = experience_claims(text)
    assert claims == experience_claims(text)
    for claim in claims:
        assert " ".join(text[claim.span.start : claim.span.end].split()) == claim.value


@pytest.mark.parametrize(
    "piece", ["I've never ", "I never used ", "never", "I ", "my a ", "我没", "我过", "I used to ", "a"]
)
def test_a_hostile_text_takes_no_longer_than_a_page_of_prose(piece: str) -> None:
    text = piece * (524_288 // len(piece))
    started = time.process_time()
    experience_claims(text)
    assert time.process_time() - started < 0.5
