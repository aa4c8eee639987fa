"""What a watermark says of rewinds: which text it is about."""

from __future__ import annotations

import pytest

from memsidecar.domain.errors import ProtocolViolation
from memsidecar.domain.generation.values import Watermark
from tests.domain.generation.making import Stream, candidate, sent


def test_a_watermark_says_how_many_rewinds_were_taken() -> None:
    stream = Stream()
    stream.write("Anna")
    stream.answer(stream.flushed())
    assert stream.last == Watermark(1, 0, 0, False, 0)
    stream.rewind(0)
    stream.write("Bo")
    stream.answer(stream.flushed())
    assert stream.last == Watermark(1, 0, 0, False, 1)


@pytest.mark.parametrize("texts", [[], [""]])
def test_a_rewind_that_drops_no_text_counts_too(texts: list[str]) -> None:
    stream = Stream(heartbeat=10.0)
    stream.write(*texts)
    stream.rewind(0)
    stream.wait(10.0)
    stream.asked()
    stream.out()
    assert stream.last == Watermark(0, 0, 0, False, 1)


def test_a_rewind_that_is_refused_does_not_count() -> None:
    stream = Stream(heartbeat=10.0)
    with pytest.raises(ProtocolViolation):
        stream.rewind(1)
    stream.wait(10.0)
    stream.asked()
    stream.out()
    assert stream.last == Watermark(0, 0, 0, False, 0)


@pytest.mark.parametrize("second", ["Bo", ""])
def test_a_watermark_that_nobody_has_drained_is_about_the_text_that_is_left(second: str) -> None:
    stream = Stream()
    stream.write("Anna", second)
    stream.machine.evaluated(stream.flushed(), [candidate("a")], False, stream.now)
    stream.rewind(1)
    stream.write("Cy")
    assert sent(stream.out()) == ["a"]
    assert stream.last == Watermark(1, 0, 0, False, 1)


def test_a_rewind_alone_brings_no_watermark() -> None:
    stream = Stream()
    stream.write("Anna")
    stream.answer(stream.flushed())
    stream.rewind(0)
    stream.asked()
    stream.out()
    assert stream.last is None


def test_a_flush_before_a_rewind_is_answered_by_what_is_drained_after_it() -> None:
    stream = Stream()
    stream.write("Anna", " left")
    stream.machine.evaluated(stream.flushed(), [], False, stream.now)
    stream.rewind(1)
    assert stream.asked() is None
    stream.out()
    assert stream.last == Watermark(1, 0, 0, False, 1)
    assert stream.asked() is None
    stream.out()
    assert stream.last is None
