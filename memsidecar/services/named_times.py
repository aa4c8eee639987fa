"""The times that a question names, for the ranking and for a filter, and when a claim is true."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from memsidecar.domain.claims import TimeRole
from memsidecar.domain.time_span import TimeSpan
from memsidecar.ports.time_expressions import TimeExpressions

# What leaves open which one is meant: a weekday, a month, a day of one, without a year or a word such as "last".
_DAYS_OPEN = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|(?:周|星期|礼拜)[一二三四五六日天]", re.IGNORECASE
)
_MONTHS_OPEN = re.compile(
    r"\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\b|\b(?:spring|summer|autumn|fall|winter)\b"
    r"|[\d一二三四五六七八九十]+月|[春夏秋冬]天",
    re.IGNORECASE,
)
_SETTLED = re.compile(r"\d{4}|\b(?:last|past|previous|ago|this|next)\b|上|去|前|这|今|下|明|后", re.IGNORECASE)
_AHEAD = re.compile(
    r"\b(?:will|shall|going to|gonna|plan(?:s|ning)?|about to|due|deadline"
    r"|(?:mov|leav|start|fly|travell?|go|com|gett|tak)ing|'ll|from)\b|将|会|要|打算|准备|计划|截止|起",
    re.IGNORECASE,
)
# A number is a year for the word before it, which a claim's time leaves out: "since 2020".
_BARE_YEAR = re.compile(r"\s*(?:19|20)\d\d\s*")
_BEFORE_YEAR = {TimeRole.AT: "in ", TimeRole.FROM: "since ", TimeRole.UNTIL: "until "}
_WEEK, _YEAR = timedelta(days=7), timedelta(days=365)
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

    def interval(
        self, words: str, role: TimeRole, around: str, said: int, zone: str = "UTC"
    ) -> tuple[int | None, int | None]:
        """From when until when (half-open; None has no end) a claim is true that names its time with `words`, said at
        `said`; `around` is the sentence. Words that name no time say nothing: true from when it was said.

        What the words leave open ("on Friday", "in March") is the next such time when the sentence looks ahead.
        """
        if _BARE_YEAR.fullmatch(words):
            words = _BEFORE_YEAR[role] + words.strip()
        span = self._meant(words, around, said, zone)
        if span is None:
            return said, None
        match role:
            case TimeRole.UNTIL:
                return None, _told(span.end if span.start is None else span.start)
            case TimeRole.FROM:
                return _told(span.end if span.start is None else span.start), None
            case TimeRole.AT:
                return _told(span.start), _told(span.end)

    def _meant(self, words: str, around: str, said: int, zone: str) -> TimeSpan | None:
        if not _FIRST <= said <= _LAST:
            return None
        reference = (_EPOCH + timedelta(microseconds=said)).astimezone(UTC if zone == "UTC" else ZoneInfo(zone))
        span = self._expressions.resolve(words, reference)
        if span is None or span.end is None or span.end > said or _SETTLED.search(words) or not _AHEAD.search(around):
            return span
        period = _WEEK if _DAYS_OPEN.search(words) else _YEAR if _MONTHS_OPEN.search(words) else None
        ahead = None if period is None else self._expressions.resolve(words, reference + period)
        return span if ahead is None else ahead


def _told(time: int | None) -> int | None:
    return None if time is None else min(max(time, _BEGINNING), _END)
