from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain.context.cutting import GAP
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.session import Message, Role, ToolCall, Window
from memsidecar.domain.shortening import SMALLEST, Shortening, plain_cost
from memsidecar.domain.window import MESSAGE_OVERHEAD, cut_window, least_window
from tests.domain.context.making import count, said

WORDS = Shortening(count, plain_cost(count))
LONG = "First of all. " + "Filler words here. " * 200 + "What does it mean?"


def cut(messages: list[Message], budget: int, most: int = 20) -> Window:
    return cut_window(messages, [], budget, most, shortening=WORDS)


def test_the_newest_message_is_shortened_when_it_is_over_the_budget_by_itself() -> None:
    window = cut([said(1, "Hello."), said(2, LONG)], 60)
    (message,) = window.messages
    assert message.text.startswith("First of all. ")
    assert message.text.endswith(" What does it mean?")
    assert message.text.count(GAP) == 1
    assert message.seq == 2
    assert 40 < message.token_count == count(message.text) == window.token_count - MESSAGE_OVERHEAD <= 56
    assert (window.shortened, window.omitted) == (True, 1)


def test_what_fits_is_not_shortened_and_older_messages_never_are() -> None:
    talk = [said(1, LONG), said(2, "Short.")]
    window = cut(talk, 60)
    assert (window.messages, window.shortened, window.omitted) == ((talk[1],), False, 1)
    assert cut(talk, 10_000).messages == tuple(talk)


def test_a_newest_message_that_does_not_fit_at_its_shortest_is_an_error_that_names_the_field() -> None:
    prompt = said(1, "word " * 50, Role.SYSTEM)
    with pytest.raises(InvalidField) as error:
        cut([prompt, said(2, LONG)], 60)
    assert error.value.violations[0][0] == "max_tokens"
    assert cut([prompt], 10).messages == (prompt,)


def test_of_a_call_the_long_results_are_shortened_and_the_arguments_are_not() -> None:
    call = said(1, "I look.", Role.ASSISTANT, tool_calls=(ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "f", "{}")))
    short, long = said(2, "Nothing.", Role.TOOL, tool_call_id="a"), said(3, LONG, Role.TOOL, tool_call_id="b")
    window = cut([call, short, long], 100)
    assert window.messages[:2] == (call, short)
    assert GAP in window.messages[2].text
    assert 80 < window.token_count <= 100
    arguments = said(1, "", Role.ASSISTANT, tool_calls=(ToolCall("a", "f", "[" + "1," * 200 + "1]"),))
    with pytest.raises(InvalidField, match="max_tokens"):
        cut([Message(arguments.role, "", 1, token_count=400, tool_calls=arguments.tool_calls)], 100)


def test_the_newest_call_is_whole_though_it_has_more_results_than_there_may_be_messages() -> None:
    calls = tuple(ToolCall(str(at), "f") for at in range(5))
    results = [said(2 + at, "Ok.", Role.TOOL, tool_call_id=str(at)) for at in range(5)]
    talk = [said(1, "", Role.ASSISTANT, tool_calls=calls), *results]
    assert cut(talk, 1000, most=2).messages == tuple(talk)


def test_what_the_system_says_last_does_not_take_the_place_of_the_newest_turn() -> None:
    note = said(3, "Be kind.", Role.SYSTEM)
    window = cut([said(1, "hi"), said(2, LONG), note], 60)
    assert [message.seq for message in window.messages] == [2, 3]
    pinned = said(3, "And this?", pinned=True)
    assert cut([said(1, "hi"), said(2, LONG), pinned], 60).messages == (pinned,)


def test_a_count_of_the_callers_own_is_believed() -> None:
    message = Message(Role.USER, "word " * 100, 1, token_count=1000)
    window = cut([message], 500)
    assert window.shortened
    assert count(window.messages[0].text) <= 50
    assert 300 < window.token_count <= 500


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text("ab 字👍🏽é\n.", max_size=400), min_size=1, max_size=5),
    st.integers(0, 300),
    st.integers(1, 5),
)
def test_the_newest_message_is_there_or_there_is_an_error(texts: list[str], budget: int, times: int) -> None:
    talk = [Message(Role.USER, text, seq, token_count=count(text) * times) for seq, text in enumerate(texts, 1)]
    least = least_window(talk, WORDS)
    if budget < least:
        with pytest.raises(InvalidField):
            cut(talk, budget)
        return
    window = cut(talk, budget)
    assert window == cut(talk, budget)
    assert window.token_count <= budget
    assert window.messages[-1].seq == len(talk)
    assert window.shortened == (window.messages[-1] != talk[-1])
    assert least <= (SMALLEST + MESSAGE_OVERHEAD) * 5 * times
