"""The session's messages in a context."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memsidecar.domain.context.assemble import assemble
from memsidecar.domain.context.values import Format, Material, Part, Reason
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.session import Role, ToolCall
from tests.domain.context.making import ALL, MESSAGES, asked, count, hit, said, wanted, whole

FORMATS = pytest.mark.parametrize("form", list(Format), ids=lambda form: form.name.lower())


@FORMATS
def test_a_newest_message_over_the_budget_is_shortened_and_leaves_the_others_their_share(form: Format) -> None:
    long = said(41, "First of all. " + "<b>word</b> " * 3000 + "What does it mean?")
    hits = tuple(hit(f"f{at}", f"Fact {at} about the orders of the week.") for at in range(60))
    context = assemble(wanted(form, 1000), replace(ALL, hits=hits, messages=(*MESSAGES, long)), count)
    text = whole(context)
    assert "First of all. " in text
    assert " […] " in text
    assert "What does it mean?" in text
    assert "Fact 3 about" in text
    assert 900 < context.token_count <= 1000
    window = next(found for found in context.sections if found.part is Part.WINDOW)
    assert window.truncated
    assert window.token_count > 300
    assert 41 not in {omission.message_seq for omission in context.omissions}
    alone = assemble(wanted(form, 1000), Material(messages=(long,)), count)
    assert 900 < alone.token_count <= 1000
    with pytest.raises(InvalidField, match="max_tokens"):
        assemble(wanted(form, 12), Material(messages=(long,)), count)


@FORMATS
def test_the_newest_message_is_there_though_its_share_is_too_small(form: Format) -> None:
    call = said(41, "", Role.ASSISTANT, tool_calls=(ToolCall("c", "f", "{}"),))
    answer = said(42, "word " * 150, Role.TOOL, tool_call_id="c")
    context = assemble(wanted(form, 300), replace(ALL, messages=(*MESSAGES, call, answer)), count)
    assert "word word" in whole(context)
    assert context.token_count <= 300


def test_a_message_that_the_budget_left_out_is_not_said_to_be_unrelated() -> None:
    call = said(41, "", Role.ASSISTANT, tool_calls=(ToolCall("c", "f", "{}"),))
    answer = said(42, "word " * 3000, Role.TOOL, tool_call_id="c")
    filler = tuple(said(seq, "Fine.") for seq in range(1, 41))
    talk = Material(messages=(*filler, call, answer, said(45, "And then?")))
    context = assemble(wanted(tokens=1000, question=asked("zebra")), talk, count)
    reasons = {omission.message_seq: omission.reason for omission in context.omissions}
    assert (reasons[41], reasons[42]) == (Reason.BUDGET, Reason.BUDGET)
    # These are older than the window would ever have been.
    assert reasons[2] is Reason.LOW_SCORE
    talk = Material(messages=(said(1, "hi"), said(2, "stone " * 3000), said(3, "And then?")))
    context = assemble(wanted(tokens=1000, question=asked("zebra")), talk, count)
    assert {omission.message_seq: omission.reason for omission in context.omissions}[2] is Reason.BUDGET


@FORMATS
def test_calls_that_were_left_are_left_out_and_say_why(form: Format) -> None:
    calls = (ToolCall("c1", "f", "{}"), ToolCall("c2", "g", "{}"))
    talk = (
        said(1, "hi"),
        said(2, "", Role.ASSISTANT, tool_calls=calls),
        said(3, "r1", Role.TOOL, tool_call_id="c1"),
        said(4, "never mind"),
        said(5, "r9", Role.TOOL, tool_call_id="c9"),
        said(6, "so?"),
    )
    context = assemble(wanted(form), Material(messages=talk), count)
    assert [(o.message_seq, o.reason) for o in context.omissions] == [(seq, Reason.UNPAIRED) for seq in (2, 3, 5)]
    assert "never mind" in whole(context)
    assert "r1" not in whole(context)
    in_flight = assemble(wanted(form), Material(messages=talk[:3]), count)
    assert not in_flight.omissions
    assert "r1" in whole(in_flight)


def test_the_newest_message_is_whole_rather_than_beside_a_frame_for_memories() -> None:
    last = said(1, "word " * 30)
    context = assemble(wanted(Format.MESSAGES, 50), replace(ALL, messages=(last,)), count)
    assert context.messages == (last,)
    long = said(1, "word " * 3000)
    context = assemble(wanted(Format.MESSAGES, 50), replace(ALL, messages=(long,)), count)
    assert 40 < context.token_count <= 50
