"""What the Chinese rules share: values, times and manners of a clause."""

from __future__ import annotations

import re
from collections.abc import Callable

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.extraction.chinese_subject import Subject
from memsidecar.domain.extraction.reading import Reading
from memsidecar.domain.extraction.times import chinese_time
from memsidecar.domain.extraction.values import han_trimmed

Found = re.Match[str]

Rule = Callable[[Reading, Subject, Found], None]

_CHANGED = re.compile(r"已经|不再|再也|了\s*$|刚刚?")

# How long, after where: 北京三年了.
_DURATION = re.compile(r"(?:已经|快|有)*(?:\d{1,2}|[一二两三四五六七八九十几半]{1,3})多?(?:年|个月|个?星期)多?了?\s*$")


def manner_of(reading: Reading, subject: Subject, *, negated: bool = False) -> Manner:
    if subject.was or (negated and _CHANGED.search(reading.text[reading.start : subject.end])):
        return Manner.CHANGED
    return subject.manner


def find_time(reading: Reading, subject: Subject) -> None:
    reading.time = chinese_time(reading.text, reading.start, subject.end)


def value_in(reading: Reading, start: int, end: int) -> Span | None:
    """A value without the time that stands in it or before it."""
    time = reading.time
    if time is not None and start <= time.outer.start < end:
        if time.outer.start - start < 2:
            start = time.outer.end
        else:
            end = time.outer.start
    return han_trimmed(reading.text, start, end)


def written(reading: Reading, span: Span) -> str:
    return reading.text[span.start : span.end]


def place_in(reading: Reading, start: int, end: int) -> Span | None:
    if long := _DURATION.search(reading.text, start, end):
        end = long.start()
    return value_in(reading, start, end)


def plain(attribute: str) -> Rule:
    def rule(reading: Reading, subject: Subject, found: Found) -> None:
        span = han_trimmed(reading.text, *found.span("what"))
        if span is not None and len(written(reading, span)) <= 20:
            reading.add(attribute, span, subject=subject.text, manner=subject.manner)

    return rule
