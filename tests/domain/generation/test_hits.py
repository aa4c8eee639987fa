from __future__ import annotations

import pytest

from memsidecar.domain.errors import InvalidField, ProtocolViolation
from memsidecar.domain.generation.values import (
    Reason,
    Retract,
    Send,
    Trigger,
    Watermark,
)
from memsidecar.domain.memory import Memory
from tests.domain.generation.making import ANN, Stream, candidate, change, key, memory, sent


def test_without_credit_hits_wait_and_the_best_of_now_is_sent_when_there_is_some() -> None:
    stream = Stream(initial_credit=1)
    stream.write("Anna")
    assert sent(stream.answer(stream.flushed(), candidate("a", 0.9), candidate("b", 0.8))) == ["a"]
    assert stream.last is not None
    assert stream.last.withheld == 1
    stream.write(" Bo")
    assert stream.answer(stream.flushed(), candidate("c", 0.85), candidate("d", 0.2)) == []
    (send,) = stream.credit(1)
    assert isinstance(send, Send)
    assert (send.candidate, send.trigger_seq, send.remaining_credit) == (candidate("c", 0.85), 2, 0)


@pytest.mark.parametrize("hits", [0, -1, 1001])
def test_credit_is_1_to_1000(hits: int) -> None:
    with pytest.raises(InvalidField, match=r"^credit\.hits"):
        Stream().credit(hits)


def test_when_nothing_can_be_sent_any_more_nothing_is_searched_for() -> None:
    stream = Stream(Trigger(min_interval=0.0), max_total_hits=1)
    stream.write("He left. ")
    stream.answer(stream.evaluation(), candidate("a"))
    stream.write("She stayed. ")
    assert stream.asked() is None
    stream.out()
    assert stream.last == Watermark(2, 0, 0, False)


def test_what_was_sent_and_has_changed_is_taken_back_at_once_and_without_credit() -> None:
    stream = Stream(initial_credit=1)
    stream.write("Anna")
    stream.answer(stream.flushed(), candidate("a"))
    successor = memory("b")
    assert stream.change(change("a", Reason.SUPERSEDED, 3, successor), change("x", Reason.DELETED, 3)) == [
        Retract(key("a"), Reason.SUPERSEDED, successor)
    ]


def test_an_evaluation_that_read_a_form_before_it_changed_does_not_send_it() -> None:
    stream = Stream()
    stream.write("Anna")
    evaluation = stream.flushed()
    stream.change(change("a", Reason.UPDATED, 2))
    assert stream.answer(evaluation, candidate("a", version=1)) == []
    stream.write(" Bo")
    assert sent(stream.answer(stream.flushed(), candidate("a", version=2))) == ["a"]


def test_a_rewind_drops_text_and_counts_on_from_there() -> None:
    stream = Stream()
    stream.write("Anna", " lives", " in Rome")
    stream.answer(stream.flushed())
    stream.rewind(2)
    stream.write(" in Bonn")
    evaluation = stream.flushed()
    assert (evaluation.text, evaluation.new_text, evaluation.trigger_seq) == ("Anna lives in Bonn", " in Bonn", 3)
    stream.answer(evaluation)
    assert stream.last == Watermark(3, 0, 0, False, 1)


def test_a_rewind_to_the_beginning_drops_all_text() -> None:
    stream = Stream(first_seq=5)
    stream.write("Anna", " lives")
    stream.answer(stream.flushed())
    stream.rewind(4)
    assert stream.machine.evaluated_seq == 4
    stream.write("Bo")
    assert stream.flushed().text == "Bo"


def test_what_dropped_text_brings_is_not_sent_and_what_stands_of_it_is_evaluated_again() -> None:
    stream = Stream()
    stream.write("Anna", " lives", " in Rome")
    evaluation = stream.flushed()
    stream.rewind(2)
    stream.write(" in Bonn")
    assert stream.asked() is None
    assert stream.answer(evaluation, candidate("rome")) == []
    assert stream.last == Watermark(0, 0, 0, False, 1)
    assert stream.evaluation().text == "Anna lives in Bonn"


def test_text_that_was_dropped_stays_dropped_when_as_much_is_written_again() -> None:
    stream = Stream()
    stream.write("Anna", " lives")
    evaluation = stream.flushed()
    stream.rewind(0)
    stream.write("Bo", " sleeps all day", " long")
    stream.rewind(2)
    assert stream.answer(evaluation, candidate("a")) == []
    assert stream.flushed().text == "Bo sleeps all day"


def test_an_evaluation_of_text_that_stands_survives_a_rewind() -> None:
    stream = Stream()
    stream.write("Anna")
    evaluation = stream.flushed()
    stream.write(" lives", " in Rome")
    stream.rewind(1)
    assert sent(stream.answer(evaluation, candidate("a"))) == ["a"]
    assert stream.last == Watermark(1, 0, 0, False, 1)


def test_the_prompts_evaluation_survives_a_rewind_of_everything() -> None:
    stream = Stream(prompt="Where?")
    evaluation = stream.evaluation()
    stream.write("Anna")
    stream.rewind(0)
    assert sent(stream.answer(evaluation, candidate("a"))) == ["a"]


@pytest.mark.parametrize("seq", [3, 7])
def test_a_rewind_stays_within_the_text(seq: int) -> None:
    stream = Stream(first_seq=5)
    stream.write("a", "b")
    with pytest.raises(ProtocolViolation):
        stream.rewind(seq)


def test_a_hit_names_the_partition_that_it_lives_in() -> None:
    stream = Stream()
    stream.write("Anna")
    (send,) = stream.answer(stream.flushed(), candidate("a"))
    assert isinstance(send, Send)
    assert isinstance(send.candidate.hit.memory, Memory)
    assert send.candidate.key == (ANN, "a")
    assert stream.machine.has_told(key("a"))
    assert stream.machine.held() == [candidate("a")]
