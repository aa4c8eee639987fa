from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from memsidecar.domain.errors import ProtocolViolation
from memsidecar.domain.generation.machine import MAX_CONTEXT, MAX_NEW
from memsidecar.domain.generation.trigger import QUIET
from memsidecar.domain.generation.values import (
    MAX_STREAM_BYTES,
    Backoff,
    Exchange,
    Finished,
    GenerationOutcome,
    Reason,
    Send,
    Source,
    Trigger,
    Watermark,
)
from tests.domain.generation.making import QUIET_TRIGGER, Stream, candidate, change, retracted, sent


def test_the_prompt_is_searched_for_at_once_and_before_any_text() -> None:
    stream = Stream(prompt="Where does Anna live?")
    stream.write("She lives")
    evaluation = stream.evaluation()
    assert (evaluation.text, evaluation.trigger_seq) == ("Where does Anna live?", 0)
    assert (evaluation.span_start, evaluation.span_end) == (0, 21)
    (send,) = stream.answer(evaluation, candidate("a"))
    assert isinstance(send, Send)
    assert (send.trigger_seq, send.span_start, send.span_end, send.remaining_credit) == (0, 0, 21, 15)
    assert stream.last == Watermark(0, 0, 0, False)


@pytest.mark.parametrize("prompt", ["", " \n", "?!"])
def test_a_prompt_without_a_word_is_not_searched_for(prompt: str) -> None:
    assert Stream(prompt=prompt).asked() is None


def test_of_a_long_prompt_the_end_is_searched_for() -> None:
    evaluation = Stream(prompt="x" * 10 + "y" * MAX_NEW).evaluation()
    assert (evaluation.text, evaluation.span_start) == ("y" * MAX_NEW, 10)


def test_one_evaluation_at_a_time_and_what_comes_meanwhile_is_one_more() -> None:
    stream = Stream(Trigger(min_interval=0.0))
    stream.write("He left. ")
    first = stream.evaluation()
    stream.write("She stayed. ", "It rained. ", "Then")
    assert stream.asked() is None
    stream.answer(first)
    second = stream.evaluation()
    assert second.text == "He left. She stayed. It rained. Then"
    assert second.new_text == "She stayed. It rained. Then"
    assert second.trigger_seq == 4
    stream.answer(second)
    assert stream.last == Watermark(4, 1, 0, False)


def test_nothing_is_evaluated_before_the_interval_has_passed() -> None:
    stream = Stream(Trigger(min_interval=0.5))
    stream.write("He left. ")
    stream.answer(stream.evaluation())
    stream.write("She stayed. ")
    assert stream.asked() is None
    assert stream.machine.due() == pytest.approx(stream.now + 0.5)
    stream.wait(0.5)
    assert stream.evaluation().new_text == "She stayed. "


def test_a_full_stop_at_the_end_is_evaluated_after_a_quiet_moment() -> None:
    stream = Stream(Trigger())
    stream.write("He left.")
    assert stream.asked() is None
    assert stream.machine.due() == pytest.approx(stream.now + QUIET)
    stream.wait(QUIET)
    assert stream.evaluation().text == "He left."


def test_another_source_ends_a_sentence() -> None:
    stream = Stream(Trigger())
    stream.write("He left.")
    stream.write("{", source=Source.TOOL)
    assert stream.evaluation().text == "He left.{"


def test_a_name_is_searched_for_at_once() -> None:
    stream = Stream(Trigger(), names=lambda text: "Anna" in text)
    stream.write("Then ", "Anna", " came")
    assert stream.evaluation().text == "Then Anna came"


def test_a_flush_evaluates_at_once_and_tells_when_it_is_done() -> None:
    stream = Stream(Trigger(min_interval=60.0), prompt="Where?")
    stream.answer(stream.evaluation())
    stream.write("She lives", " in")
    assert stream.asked() is None
    evaluation = stream.flushed()
    assert (evaluation.text, evaluation.trigger_seq) == ("She lives in", 2)
    stream.answer(evaluation)
    assert stream.last == Watermark(2, 0, 0, False)
    assert stream.asked() is None
    stream.out()
    assert stream.last is None


def test_a_flush_with_nothing_left_to_evaluate_is_answered_at_once() -> None:
    stream = Stream()
    stream.machine.flush(stream.now)
    assert stream.machine.due() is not None
    assert stream.machine.due() <= stream.now  # type: ignore[operator]
    assert stream.asked() is None
    stream.out()
    assert stream.last == Watermark(0, 0, 0, False)


def test_a_flush_while_all_is_under_way_waits_for_that() -> None:
    stream = Stream()
    stream.write("Anna")
    evaluation = stream.flushed()
    stream.machine.flush(stream.now)
    assert stream.asked() is None
    stream.out()
    assert stream.last is None
    stream.answer(evaluation)
    assert stream.last == Watermark(1, 0, 0, False)
    assert stream.asked() is None
    stream.out()
    assert stream.last is None


def test_a_flush_while_older_text_is_under_way_goes_on_after_it() -> None:
    stream = Stream(Trigger(min_interval=60.0))
    stream.write("He left. ")
    first = stream.evaluation()
    stream.write("She")
    stream.machine.flush(stream.now)
    stream.answer(first)
    second = stream.evaluation()
    assert second.new_text == "She"
    stream.answer(second)
    assert stream.last == Watermark(2, 0, 0, False)


def test_text_without_a_word_is_considered_without_a_search() -> None:
    stream = Stream()
    stream.write("...", " \n", "")
    stream.machine.flush(stream.now)
    assert stream.asked() is None
    stream.out()
    assert stream.last == Watermark(3, 0, 0, False)


def test_a_long_text_is_searched_for_in_pieces_and_none_is_left_out() -> None:
    stream = Stream(Trigger(min_interval=0.0))
    text = "".join(f"Sentence {number} of the tool's result. " for number in range(400))
    stream.write("Look: ")
    stream.write(text, source=Source.TOOL)
    searched = ""
    while (evaluation := stream.asked()) is not None:
        assert len(evaluation.new_text) <= MAX_NEW
        assert len(evaluation.text) - len(evaluation.new_text) <= MAX_CONTEXT
        assert evaluation.new_start == len(searched)
        assert evaluation.new_text.endswith((". ", "."))
        searched += evaluation.new_text
        stream.answer(evaluation)
        assert stream.last is not None
        assert stream.last.seq == (2 if searched == "Look: " + text else 1)
    assert searched == "Look: " + text


def test_places_are_code_points_of_all_the_text() -> None:
    stream = Stream(Trigger(min_interval=0.0))
    stream.write("🙂 记忆。")
    stream.answer(stream.evaluation())
    stream.write("👩‍👩‍👧 来了。")
    (send,) = stream.answer(stream.evaluation(), candidate("a"))
    assert isinstance(send, Send)
    assert (send.span_start, send.span_end) == (0, 14)
    assert len("🙂 记忆。👩‍👩‍👧 来了。") == 14


@pytest.mark.parametrize("seq", [0, 1, 2, 4])
def test_the_next_delta_must_have_the_next_seq(seq: int) -> None:
    stream = Stream()
    stream.write("a", "b")
    with pytest.raises(ProtocolViolation):
        stream.machine.text(seq, "x", Source.MODEL, stream.now)
    stream.write("c")


@pytest.mark.parametrize(
    "event",
    [
        lambda stream: stream.write("x"),
        lambda stream: stream.machine.flush(stream.now),
        lambda stream: stream.credit(1),
        lambda stream: stream.rewind(0),
        lambda stream: stream.finish(),
    ],
)
def test_nothing_comes_after_finish(event: Callable[[Stream], Any]) -> None:
    stream = Stream()
    stream.finish()
    with pytest.raises(ProtocolViolation, match="expected nothing after finish"):
        event(stream)


def test_finish_tells_the_totals_and_ends_evaluation() -> None:
    stream = Stream(Trigger(min_interval=0.0))
    stream.write("He left. ")
    stream.answer(stream.evaluation(), candidate("a"), candidate("b"))
    stream.change(change("a", Reason.DELETED, 3))
    stream.write("She stayed. ")
    evaluation = stream.evaluation()
    assert stream.finish() == Finished(GenerationOutcome.COMPLETED, True, 2, 1, 0, 1, 1)
    assert stream.answer(evaluation, candidate("c")) == []
    assert stream.change(change("b", Reason.DELETED, 3)) == []
    assert stream.asked() is None
    assert stream.machine.due() is None


def test_what_is_remembered_is_what_stands_of_the_model_and_of_the_user() -> None:
    stream = Stream(prompt="Where is Anna?")
    stream.write("Hm. ", source=Source.REASONING)
    stream.write("She is in Rome.", " Or", source=Source.UNSPECIFIED)
    stream.rewind(2)
    stream.write("{}", source=Source.TOOL)
    stream.write("sure?", source=Source.USER)
    stream.write(" Yes.")
    assert stream.machine.exchange() == Exchange(
        "Where is Anna?",
        ((Source.MODEL, "She is in Rome."), (Source.USER, "sure?"), (Source.MODEL, " Yes.")),
    )


def test_a_silent_stream_is_known_to_be_alive() -> None:
    stream = Stream(heartbeat=10.0)
    assert stream.machine.due() == stream.now + 10.0
    stream.wait(9.9)
    stream.asked()
    stream.out()
    assert stream.last is None
    stream.wait(0.1)
    stream.asked()
    stream.out()
    assert stream.last == Watermark(0, 0, 0, False)
    assert stream.machine.due() == stream.now + 10.0


def test_an_evaluation_that_takes_long_does_not_hold_the_heartbeat_up() -> None:
    stream = Stream(heartbeat=10.0)
    stream.write("Anna")
    stream.flushed()
    stream.wait(10.0)
    assert stream.asked() is None
    stream.out()
    assert stream.last == Watermark(0, 0, 0, False)


def test_a_degraded_evaluation_is_told_until_the_next_one() -> None:
    stream = Stream(heartbeat=10.0)
    stream.write("Anna")
    assert sent(stream.answer(stream.flushed(), candidate("a"), degraded=True)) == ["a"]
    assert stream.last == Watermark(1, 0, 0, True)
    stream.wait(10.0)
    stream.asked()
    stream.out()
    assert stream.last == Watermark(1, 0, 0, True)
    stream.write(" Bo")
    stream.answer(stream.flushed())
    assert stream.last == Watermark(2, 0, 0, False)


def test_what_was_too_near_to_the_text_before_is_considered_and_nothing_fades() -> None:
    stream = Stream(initial_credit=0)
    stream.write("Anna")
    stream.answer(stream.flushed(), candidate("a"))
    for _ in range(9):
        stream.write(" Anna")
        stream.machine.evaluated(stream.flushed(), None, False, stream.now)
    stream.out()
    assert stream.last == Watermark(10, 0, 1, False)


def test_text_that_comes_faster_than_it_is_searched_for_slows_the_trigger_down() -> None:
    stream = Stream(Trigger(on_entity_mention=False))
    outputs = []
    for _ in range(3):
        stream.write("He left. ")
        stream.wait(1.0)
        evaluation = stream.evaluation()
        stream.write("He left. ", "She stayed. ")
        stream.wait(1.0)
        outputs += stream.answer(evaluation)
    (backoff,) = outputs
    assert isinstance(backoff, Backoff)
    assert (backoff.min_chars, backoff.min_interval) == (80, 0.1)
    assert stream.machine.trigger.min_interval == 0.1


def test_outputs_that_nobody_drains_stay_few() -> None:
    stream = Stream(initial_credit=1000, heartbeat=1.0)
    for number in range(500):
        stream.write(" x")
        found = candidate(str(number % 7), version=number + 1, text=str(number))
        stream.machine.flush(stream.now)
        evaluation = stream.asked()
        if evaluation is not None:
            stream.machine.evaluated(evaluation, [found], False, stream.now)
        stream.machine.changed([change(str(number % 7), Reason.UPDATED, number + 2)], stream.now)
        stream.wait(1.0)
    outputs = stream.machine.outputs()
    assert (len(sent(outputs)), len(retracted(outputs))) == (64, 64)
    assert sum(isinstance(each, Watermark) for each in outputs) == 1
    assert len(outputs) == 129


def test_another_evaluation_than_the_one_under_way_is_not_taken() -> None:
    stream = Stream()
    stream.write("Anna")
    evaluation = stream.flushed()
    stream.answer(evaluation)
    with pytest.raises(ValueError, match="no such evaluation"):
        stream.answer(evaluation)


def test_a_mebibyte_in_single_characters_stays_fast() -> None:
    stream = Stream(Trigger(min_interval=0.01), names=lambda text: text.endswith("Anna"))
    words = "Then Anna said it was 3.14 or so. "
    began = time.perf_counter()
    for seq in range(1, MAX_STREAM_BYTES // 4 + 1):
        stream.machine.text(seq, words[seq % len(words)], Source.MODEL, seq / 1000)
        evaluation = stream.machine.evaluation(seq / 1000)
        if evaluation is not None:
            stream.machine.evaluated(evaluation, [], False, seq / 1000)
            stream.machine.outputs()
    assert time.perf_counter() - began < 30
    assert stream.machine.evaluated_seq > MAX_STREAM_BYTES // 4 - 100


def test_nothing_starts_an_evaluation_that_was_not_asked_for() -> None:
    stream = Stream(QUIET_TRIGGER, names=lambda text: True)
    stream.write("Anna left. ", "Then! ")
    stream.wait(9.0)
    assert stream.asked() is None
