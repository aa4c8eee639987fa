"""The times that a question names, for the ranking and for a filter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from memsidecar.domain.dates import Span
from memsidecar.ports.time_expressions import TimeExpressions

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What datetime can say; beyond it, and close to its ends, where a time expression could lead out, nothing is read.
_FIRST = (datetime(2, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST = (datetime(9998, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_ALWAYS = 2**62


@dataclass(frozen=True, slots=True)
class Times:
    """`bonus` are spans that what was said in them gains by, with some slack where the words are vague; `whole` is the
    time that the question is about as a whole, or None."""

    bonus: tuple[Span, ...] = ()
    whole: Span | None = None


NO_TIMES = Times()


class NamedTimes:
    def __init__(self, expressions: TimeExpressions) -> None:
        self._expressions = expressions

    def named(self, text: str, now: int, zone: str) -> Times:
        """Seen from `now` (microseconds) in a time zone (IANA name). What lies in the future is nobody's memory."""
        if not _FIRST <= now <= _LAST:
            return NO_TIMES
        reference = (_EPOCH + timedelta(microseconds=now)).astimezone(UTC if zone == "UTC" else ZoneInfo(zone))
        found = self._expressions.find(text, reference)
        if not found:
            return NO_TIMES
        bonus = []
        for span in found:
            start = -_ALWAYS if span.start is None else span.start - span.slack
            end = _ALWAYS if span.end is None else span.end + span.slack
            if start <= now:
                bonus.append((start, end))
        first = found[0]
        whole = (-_ALWAYS if first.start is None else first.start, _ALWAYS if first.end is None else first.end)
        return Times(tuple(bonus), whole)
