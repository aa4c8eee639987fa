from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.rewriting import leans_on_conversation, rewrite
from memsidecar.domain.session import Message, Role


def user(text: str) -> Message:
    return Message(Role.USER, text)


def assistant(text: str) -> Message:
    return Message(Role.ASSISTANT, text)


@pytest.mark.parametrize(
    "text", ["And where is that?", "like last time", "Why?", "那它在哪里？", "还是上次那样", "それはどこ？"]
)
def test_a_question_that_points_back_leans_on_the_conversation(text: str) -> None:
    assert leans_on_conversation(text)


@pytest.mark.parametrize(
    "text",
    [
        "When did Caroline move to Lisbon?",
        "What is the name of my dentist in Lisbon and when is the appointment?",
        "我妹妹在哪个城市工作，什么时候搬去的北京？",
    ],
)
def test_a_question_that_names_what_it_wants_stands_alone(text: str) -> None:
    assert not leans_on_conversation(text)
    assert rewrite(text, [user("My cat is called Miso.")]) == text


def test_names_and_words_of_the_last_turns_are_lent() -> None:
    turns = [user("I had lunch at Trattoria Bella with Marco."), assistant("How was the food at Trattoria Bella?")]
    rewritten = rewrite("and where is that?", turns)
    assert rewritten.startswith("and where is that?")
    assert "Trattoria Bella" in rewritten
    assert "lunch" in rewritten


def test_words_of_a_chinese_turn_are_lent() -> None:
    rewritten = rewrite("那它在哪里？", [user("我昨天在豫园吃了小笼包。")])
    assert "小笼包" in rewritten


def test_a_tool_result_and_the_question_itself_lend_nothing() -> None:
    turns = [Message(Role.TOOL, "Berlin 14 C"), user("why?")]
    assert rewrite("why?", turns) == "why?"


@given(st.text(max_size=60), st.lists(st.text(max_size=200), max_size=4))
def test_the_question_stays_at_the_front(text: str, turns: list[str]) -> None:
    assert rewrite(text, [user(turn) for turn in turns]).startswith(text)
