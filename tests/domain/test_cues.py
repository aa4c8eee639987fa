from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.cues import Cues, read_cues


@pytest.mark.parametrize(
    ("text", "cues"),
    [
        ("Can you suggest a hotel in Rome?", Cues(polar=True)),
        ("What would you recommend for dinner?", Cues()),
        ("When did I finish the marathon?", Cues(past=True, narrow=True, history=True)),
        ("Which book did you recommend to me?", Cues(assistant=True)),
        ("What was the recipe you gave me?", Cues(assistant=True, narrow=True)),
        ("What books has Ann read?", Cues(broad=True)),
        ("Which of her paintings did Ann sell?", Cues(broad=True)),
        ("What is his address?", Cues(narrow=True)),
        ("What has she been up to lately?", Cues(broad=True, recent=True)),
        ("她什么时候搬家的？", Cues(narrow=True)),
        ("他最近怎么样", Cues(recent=True)),
        ("How many times did Ann go to the beach?", Cues(broad=True, history=True)),
        ("我上次说过什么", Cues(past=True)),
        ("你之前推荐过哪些餐厅", Cues(assistant=True, broad=True, history=True)),
        ("How much did my time improve from May to June?", Cues(past=True, narrow=True, history=True)),
        ("Which of the two did I visit first?", Cues(past=True, history=True)),
        ("Do I still have the old car?", Cues(narrow=True, polar=True)),
        ("我的体重从一月到现在变了多少", Cues(history=True)),
        ("今晚吃什么好", Cues()),
        ("", Cues()),
    ],
)
def test_the_wording_says_what_a_question_is_after(text: str, cues: Cues) -> None:
    assert read_cues(text) == cues


@given(st.text())
def test_any_text_has_cues(text: str) -> None:
    read_cues(text)


@pytest.mark.parametrize("unit", ["what ", "did you ", "我", "my ", "which ", "how did ", "从", "from a "])
@pytest.mark.timeout(10)
def test_pages_are_read_at_once(unit: str) -> None:
    read_cues(unit * (64_000 // len(unit)))
