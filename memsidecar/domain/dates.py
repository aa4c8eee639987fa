"""Dates written out in a text, as half-open spans of time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from memsidecar.domain.indexed_text import MONTHS

Span: TypeAlias = tuple[int, int]
"""From, included, to, excluded; microseconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS = {name.casefold(): number for number, name in enumerate(MONTHS, 1)}
_NUMBERS |= {name[:3]: number for name, number in list(_NUMBERS.items())}
_MONTH = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"\b(?P<iso>\d{{4}})-(?P<iso_month>\d\d)(?:-(?P<iso_day>\d\d))?\b"
    rf"|(?:\b{_DAY}\s+(?:of\s+)?)?\b(?P<month>{_MONTH})\b\.?(?:\s+{_DAY}\b)?(?:,?\s+(?P<year>\d{{4}})\b)?"
    r"|(?:(?P<zh_year>\d{4})年)(?:(?P<zh_month>\d{1,2})月(?:(?P<zh_day>\d{1,2})[日号])?)?"
    r"|\b(?:in|during|of)\s+(?P<alone>(?:19|20)\d\d)\b",
)
# A question of pages is not searched for dates for ever.
_READ = 4_000


def explicit_dates(text: str, reference: int) -> tuple[Span, ...]:
    """The days, months and years that a text writes out. A month without a year is the last one before `reference`."""
    return tuple(_spans(text[-_READ:].lower(), reference))


def _spans(text: str, reference: int) -> Iterator[Span]:
    for match in _DATE.finditer(text):
        year_text = match["iso"] or match["year"] or match["zh_year"] or match["alone"]
        month_text = match["iso_month"] or match["month"] or match["zh_month"]
        day_text = match["iso_day"] or match[4] or match[6] or match["zh_day"]
        # "may" and "march" are also verbs.
        if match["month"] and not (year_text or day_text) and month_text in ("may", "mar", "march"):
            continue
        month = _NUMBERS[month_text] if match["month"] else int(month_text or 0)
        try:
            yield _span(int(year_text or 0), month, int(day_text or 0), reference)
        except (ValueError, OverflowError):
            continue  # the 31st of June


def _span(year: int, month: int, day: int, reference: int) -> Span:
    if not year:
        now = _EPOCH + timedelta(microseconds=reference)
        year = now.year if month <= now.month else now.year - 1
    start = datetime(year, month or 1, day or 1, tzinfo=UTC)
    if day:
        end = start + timedelta(days=1)
    elif month:
        end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    else:
        end = datetime(year + 1, 1, 1, tzinfo=UTC)
    return _micros(start), _micros(end)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
