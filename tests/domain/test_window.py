from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain.session import Message, Role, ToolCall
from memsidecar.domain.window import MESSAGE_OVERHEAD, cut_window


def said(seq: int, tokens: int = 10, role: Role = Role.USER, **more: object) -> Message:
    return Message(role, f"message {seq}", seq=seq, token_count=tokens, **more)  # type: ignore[arg-type]


def called(seq: int, *ids: str) -> Message:
    return said(seq, role=Role.ASSISTANT, tool_calls=tuple(ToolCall(name, "f") for name in ids))


def answered(seq: int, call: str, tokens: int = 10, pinned: bool = False) -> Message:
    return said(seq, tokens, Role.TOOL, tool_call_id=call, pinned=pinned)


def seqs(messages: tuple[Message, ...]) -> list[int]:
    return [message.seq for message in messages]


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    count = draw(st.integers(0, 25))
    first = draw(st.integers(1, 50))
    messages = []
    for seq in range(first, first + count):
        role = draw(st.sampled_from(Role))
        ids = draw(st.sets(st.sampled_from("abc"), max_size=2)) if role is Role.ASSISTANT else set()
        messages.append(
            Message(
                role=role,
                text=str(seq),
                seq=seq,
                token_count=draw(st.integers(0, 40)),
                tool_calls=tuple(ToolCall(name, "f") for name in sorted(ids)),
                tool_call_id=draw(st.sampled_from("abcd")),
                group_key=draw(st.sampled_from(["", "", "", "g", "h"])),
                pinned=draw(st.integers(0, 9)) == 0,
            )
        )
    return messages


def links(messages: list[Message]) -> tuple[list[tuple[int, int]], set[int]]:
    """Pairs of seqs that must share their fate, and those that no model accepts: results whose call is not there, and
    calls without all of their results that something else follows. An independent account."""
    together: list[tuple[int, int]] = []
    dangling: set[int] = set()
    for at, message in enumerate(messages):
        if message.role is Role.TOOL:
            callers = [
                earlier
                for earlier in messages[:at]
                if earlier.seq not in dangling and message.tool_call_id in {call.id for call in earlier.tool_calls}
            ]
            if not callers:
                dangling.add(message.seq)
                continue
            together.append((callers[-1].seq, message.seq))
    answers = {result: call for call, result in together}
    for at, message in enumerate(messages):
        if not message.tool_calls:
            continue
        own = [m for m in messages if answers.get(m.seq) == message.seq]
        others = [m for m in messages[at + 1 :] if m not in own and (m.role is not Role.TOOL or m.seq in answers)]
        if others and {call.id for call in message.tool_calls} != {m.tool_call_id for m in own}:
            dangling |= {message.seq, *(m.seq for m in own)}
    together = [(one, other) for one, other in together if one not in dangling]
    groups: dict[str, list[int]] = defaultdict(list)
    for message in messages:
        if message.group_key and message.seq not in dangling:
            groups[message.group_key].append(message.seq)
    together += [(group[0], other) for group in groups.values() for other in group[1:]]
    return together, dangling


def callers_of(messages: list[Message]) -> dict[int, int]:
    """For each result the newest call before it."""
    return {
        message.seq: earlier.seq
        for at, message in enumerate(messages)
        if message.role is Role.TOOL
        for earlier in messages[:at]
        if message.tool_call_id in {call.id for call in earlier.tool_calls}
    }


@settings(max_examples=150, deadline=None)
@given(conversations(), st.integers(0, 400), st.integers(0, 25))
def test_every_promise_holds_for_any_conversation(messages: list[Message], budget: int, most: int) -> None:
    together, dangling = links(messages)
    window = cut_window(messages, [], budget, most)
    kept = set(seqs(window.messages))

    assert seqs(window.messages) == sorted(kept, key=lambda seq: (callers_of(messages).get(seq, seq), seq))
    assert set(window.messages) <= set(messages)
    assert window.omitted == len(messages) - len(kept)
    assert window.token_count == sum(message.token_count + MESSAGE_OVERHEAD for message in window.messages)
    assert not kept & dangling
    assert all((one in kept) == (other in kept) for one, other in together)
    must = {message.seq for message in messages if message.pinned or message.role is Role.SYSTEM} - dangling
    assert must <= kept
    grew = True
    while grew:
        more = {seq for pair in together if must & set(pair) for seq in pair}
        grew = not more <= must
        must |= more
    if kept > must:
        assert window.token_count <= budget
        assert len(kept) <= most
    assert cut_window(messages, [], budget, most) == window


@settings(max_examples=50, deadline=None)
@given(conversations(), st.integers(0, 400))
def test_a_larger_budget_keeps_all_that_a_smaller_one_kept(messages: list[Message], budget: int) -> None:
    small = set(seqs(cut_window(messages, [], budget).messages))
    assert small <= set(seqs(cut_window(messages, [], budget + 50).messages))


@settings(max_examples=50, deadline=None)
@given(conversations())
def test_pinned_messages_given_apart_and_again_count_once(messages: list[Message]) -> None:
    stay = [message for message in messages if message.pinned or message.role is Role.SYSTEM]
    assert cut_window(messages, stay, 200) == cut_window(messages, [], 200)


def test_the_newest_messages_that_fit_are_kept() -> None:
    window = cut_window([said(seq) for seq in range(1, 11)], [], token_budget=3 * 14)
    assert seqs(window.messages) == [8, 9, 10]
    assert window.token_count == 42
    assert window.omitted == 7


def test_the_default_limit_is_twenty_messages() -> None:
    assert len(cut_window([said(seq) for seq in range(1, 31)], []).messages) == 20


def test_a_large_message_ends_the_window_and_leaves_no_hole() -> None:
    window = cut_window([said(1), said(2, 500), said(3)], [], token_budget=100)
    assert seqs(window.messages) == [3]


def test_the_system_prompt_stays_beyond_the_budget() -> None:
    prompt = said(1, 500, Role.SYSTEM)
    window = cut_window([said(7), said(8)], [prompt], token_budget=100)
    assert window.messages == (prompt,)
    assert window.omitted == 2


def test_a_call_that_does_not_fit_takes_its_results_along() -> None:
    messages = [called(1, "x", "y"), answered(2, "x", 60), answered(3, "y"), said(4)]
    assert seqs(cut_window(messages, [], token_budget=80).messages) == [4]
    assert seqs(cut_window(messages, [], token_budget=200).messages) == [1, 2, 3, 4]


def test_a_result_whose_call_was_trimmed_is_left_out() -> None:
    window = cut_window([answered(5, "gone"), said(6)], [answered(2, "gone", pinned=True)], token_budget=1000)
    assert seqs(window.messages) == [6]
    assert window.omitted == 2


def test_a_call_id_used_again_belongs_to_the_newest_call() -> None:
    messages = [called(1, "0"), answered(2, "0", 100), called(3, "0"), answered(4, "0")]
    assert seqs(cut_window(messages, [], token_budget=40).messages) == [3, 4]


def test_a_call_still_waiting_for_its_result_is_kept() -> None:
    assert seqs(cut_window([said(1), called(2, "x")], []).messages) == [1, 2]


def test_messages_without_a_seq_keep_their_order_at_the_end() -> None:
    fresh = Message(Role.USER, "now", token_count=1), Message(Role.ASSISTANT, "then", token_count=1)
    assert cut_window([said(1), *fresh], []).messages == (said(1), *fresh)


def test_a_call_that_was_never_fully_answered_is_left_out_with_the_results_it_has() -> None:
    talk = [said(1), called(2, "x", "y"), answered(3, "x"), said(4), said(5, role=Role.ASSISTANT), said(6)]
    window = cut_window(talk, [])
    assert seqs(window.messages) == [1, 4, 5, 6]
    assert window.omitted == 2
    # Without a result at all, pinned, or followed by another call: no model accepts it, either.
    assert seqs(cut_window([called(1, "x"), said(2)], []).messages) == [2]
    assert seqs(cut_window([replace(called(1, "x"), pinned=True), said(2)], []).messages) == [2]
    assert seqs(cut_window([called(1, "0"), called(2, "0"), answered(3, "0"), said(4)], []).messages) == [2, 3, 4]


@pytest.mark.parametrize("results", [[], ["x"], ["x", "gone"]])
def test_a_call_is_in_flight_while_nothing_but_its_results_has_come(results: list[str]) -> None:
    talk = [said(1), called(2, "x", "y"), *(answered(3 + at, call) for at, call in enumerate(results))]
    assert seqs(cut_window(talk, []).messages) == [1, 2, *([3] if results else [])]


def test_what_was_said_between_results_comes_after_them() -> None:
    talk = [called(1, "x", "y"), answered(2, "x"), said(3), said(4, pinned=True), answered(5, "y"), said(6)]
    assert seqs(cut_window(talk, []).messages) == [1, 2, 5, 3, 4, 6]
    # Until the last result is there, the call is one that was left.
    assert seqs(cut_window(talk[:4], []).messages) == [3, 4]
