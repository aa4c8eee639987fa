from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain.conversation import MOST, bearing
from memsidecar.domain.session import Message, Role


def user(text: str, seq: int = 1) -> Message:
    return Message(Role.USER, text, seq)


def test_a_message_with_more_of_the_question_comes_first() -> None:
    messages = [user("I like tea", 1), user("The bakery in Lisbon sells tea", 2), user("Good night", 3)]
    found = bearing("Which bakery sells tea?", messages)
    assert [hit.message.seq for hit in found] == [2, 1]
    assert 0 < found[1].score < found[0].score <= 1


def test_equal_scores_have_the_newest_first() -> None:
    found = bearing("tea?", [user("tea please", 1), user("tea again", 2)])
    assert [hit.message.seq for hit in found] == [2, 1]


def test_chinese_is_matched_without_spaces() -> None:
    assert [hit.message.seq for hit in bearing("我的猫叫什么？", [user("我的猫叫小花", 1), user("今天下雨", 2)])] == [1]


def test_the_question_itself_and_tool_traffic_are_left_out() -> None:
    messages = [Message(Role.TOOL, "tea 3.50", 1), Message(Role.SYSTEM, "tea expert", 2), user("tea?", 3)]
    assert bearing("tea?", messages) == ()


@given(st.text(max_size=50), st.lists(st.text(max_size=50), max_size=15))
def test_scores_are_shares(text: str, said: list[str]) -> None:
    found = bearing(text, [user(each, n) for n, each in enumerate(said)])
    assert len(found) <= MOST
    assert all(0 < hit.score <= 1 + 1e-9 for hit in found)
