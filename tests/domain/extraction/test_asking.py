from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.extraction.asking import worth_asking
from memsidecar.domain.extraction.extract import extract
from tests.domain.extraction.labelled import sentences

WORTH = [
    "Last night my sister told us that she is expecting twins.",
    "I finally finished the thesis that I have been writing for years.",
    "We decided to use PostgreSQL for the billing service.",
    "I work at Acme, can you help me with my taxes?",
    "Lisa在学校参加了一次拼字比赛，得了第二名。",
    "Anna moved to Rome with her two dogs.",
    "Prefers direct answers without lengthy preamble.",
    "我昨晚和老同学聊了很久，聊到了大学的事。",
    "我们决定把会议改到周五。",
]
NOT_WORTH = [
    "",
    "Hi!",
    "Hello there, how are you?",
    "Thanks a lot!",
    "Ok, sounds good.",
    "I see, got it.",
    "I agree!",
    "What is the capital of France?",
    "How do I sort a list in Python?",
    "Can you explain what my options are?",
    "Write me a poem about my cat.",
    "The sky is blue.",
    "That sounds great.",
    "It was nice.",
    "```python\nmy_list = []\nI = 1\n```",
    "你好",
    "谢谢你，太好了。",
    "好的，没问题。",
    "我知道了。",
    "帮我写一首诗",
    "我该怎么做？",
    "Translate: I live in Hamburg and my name is Karl.",
]


@pytest.mark.parametrize("text", WORTH)
def test_a_turn_that_tells_something_is_worth_asking_about(text: str) -> None:
    assert worth_asking(text)


@pytest.mark.parametrize("text", NOT_WORTH)
def test_small_talk_questions_and_code_are_not(text: str) -> None:
    assert not worth_asking(text)


def test_hardly_anything_that_the_rules_read_is_held_back() -> None:
    read = [text for language in ("english", "chinese") for text in sentences(language) if extract(text)]
    kept = [text for text in read if worth_asking(text)]
    assert len(kept) >= 0.95 * len(read), sorted(set(read) - set(kept))


@given(st.text(max_size=300))
def test_any_text_gets_an_answer(text: str) -> None:
    assert worth_asking(text) in (True, False)
