from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.cues import Cues, asks_for_history, is_polar, read_cues


@pytest.mark.parametrize(
    ("text", "cues"),
    [
        ("Can you suggest a hotel in Rome?", Cues()),
        ("What would you recommend for dinner?", Cues()),
        ("When did I finish the marathon?", Cues(past=True, narrow=True)),
        ("Which book did you recommend to me?", Cues(assistant=True)),
        ("What was the recipe you gave me?", Cues(assistant=True, narrow=True)),
        ("What books has Ann read?", Cues(broad=True)),
        ("Which of her paintings did Ann sell?", Cues(broad=True)),
        ("What is his address?", Cues(narrow=True)),
        ("What has she been up to lately?", Cues(broad=True, recent=True)),
        ("她什么时候搬家的？", Cues(narrow=True)),
        ("他最近怎么样", Cues(recent=True)),
        ("How many times did Ann go to the beach?", Cues(broad=True)),
        ("我上次说过什么", Cues(past=True)),
        ("你之前推荐过哪些餐厅", Cues(assistant=True, broad=True)),
        ("今晚吃什么好", Cues()),
        ("", Cues()),
    ],
)
def test_the_wording_says_what_a_question_is_after(text: str, cues: Cues) -> None:
    assert read_cues(text) == cues


@given(st.text())
def test_any_text_has_cues(text: str) -> None:
    read_cues(text)


@pytest.mark.parametrize("unit", ["what ", "did you ", "我", "my "])
@pytest.mark.timeout(10)
def test_pages_are_read_at_once(unit: str) -> None:
    read_cues(unit * (64_000 // len(unit)))


@pytest.mark.parametrize(
    ("text", "history"),
    [
        ("How much did my time improve from May to June?", True),
        ("Which of the two did I visit first?", True),
        ("How long did it take me to finish the course?", True),
        ("List the order in which I brought these up.", True),
        ("Where did I live originally?", True),
        ("Where did I live before Berlin?", True),
        ("What do I have to pack before the trip?", False),
        ("我的体重从一月到现在变了多少", True),
        ("我以前住在哪里", True),
        ("Where do I live now?", False),
        ("What is the deadline of the first sprint?", False),
        ("How many commits have been merged?", False),
        ("我现在住在哪里", False),
        ("", False),
    ],
)
def test_a_question_after_what_was_is_told_from_one_after_what_is(text: str, history: bool) -> None:
    assert asks_for_history(text) is history


@pytest.mark.parametrize(
    ("text", "polar"),
    [
        ("Do I still have the old car?", True),
        ("我还在那里工作吗？", True),
        ("Which car do I have?", False),
        ("", False),
    ],
)
def test_what_yes_answers_is_polar(text: str, polar: bool) -> None:
    assert is_polar(text) is polar


@pytest.mark.parametrize("unit", ["which ", "how did ", "从", "from a ", "between"])
@pytest.mark.timeout(10)
def test_pages_are_told_apart_at_once(unit: str) -> None:
    asks_for_history(unit * (64_000 // len(unit)))
    is_polar(unit * (64_000 // len(unit)))
