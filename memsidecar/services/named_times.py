"""The times that a question names, for the ranking and for a filter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from memsidecar.domain.time_span import TimeSpan
from memsidecar.ports.time_expressions import TimeExpressions

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What datetime can say; beyond it, and close to its ends, where a time expression could lead out, nothing is read.
_FIRST = (datetime(2, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST = (datetime(9998, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
# What a Timestamp can say; a zone may lead out of it by half a day.
_BEGINNING = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_END = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Times:
    """`bonus` are the times that what was said in them gains by; `whole` (half-open, microseconds; a side that is None
    has no end) is the time that the question is about as a whole, or None."""

    bonus: tuple[TimeSpan, ...] = ()
    whole: tuple[int | None, int | None] | None = None


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
        first = found[0]
        bonus = tuple(span for span in found if span.start is None or span.start <= now)
        return Times(bonus, (_told(first.start), _told(first.end)))


def _told(time: int | None) -> int | None:
    return None if time is None else min(max(time, _BEGINNING), _END)
