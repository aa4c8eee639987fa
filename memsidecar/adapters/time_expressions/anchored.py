"""Times that count from another that the text names, or are a part of it: the week before 3 August, 五月第一周."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from memsidecar.adapters.time_expressions.amounts import COUPLE, FEW, Amount, away
from memsidecar.adapters.time_expressions.chinese_numbers import DIGITS, number
from memsidecar.adapters.time_expressions.hit import Hit, Reading
from memsidecar.adapters.time_expressions.pieces import CHINESE, ENGLISH, chinese_piece, english_piece
from memsidecar.adapters.time_expressions.words import NUMBERS, WEEKDAYS, either
from memsidecar.domain.calendar_spans import Days, one, shift_months, weekday_after, weekday_before, weekend

_LEAD = 48
_ENGLISH = re.compile(
    rf"\b(?:(?P<n>\d{{1,3}}|(?:a )?couple(?: of)?|(?:a )?few|several|{either(NUMBERS)}) |the |last |the last )"
    rf"(?P<unit>day|week|weekend|month|year|{either(WEEKDAYS)})s? "
    r"(?P<side>before|after|prior to|preceding|following)(?: the)? $"
)
_OWN_SIDE = re.compile(r"(?:before|after|of|in) (?:the )?")
_CHINESE = re.compile(
    rf"的?(?:之|以)?(?P<side>前|后)的?(?P<n>[几{DIGITS}]{{1,8}})个?(?P<unit>天|周|星期|礼拜|月|年)(?![前后])"
)
_HAN_UNITS = {"天": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}


@dataclass(frozen=True, slots=True)
class Anchored:
    """`start` and `end` are the place of all the words, the anchor's too."""

    start: int
    end: int
    reading: Reading


def anchored(text: str, hit: Hit) -> Anchored | None:
    """What the words around the anchor make of it, or None; raises ValueError or OverflowError beyond the calendar."""
    if hit.reading is None:
        return None
    # Some rules take the word before a name along: "after Christmas".
    own = _OWN_SIDE.match(text, hit.start)
    begin = own.end() if own is not None else hit.start
    match = _ENGLISH.search(text, max(0, begin - _LEAD), begin)
    if match is not None:
        found = _english(match, hit.reading.days)
        return Anchored(match.start(), hit.end, found) if found else None
    match = ENGLISH.search(text, max(0, begin - _LEAD), begin)
    if match is not None:
        found = english_piece(match, hit.reading.days)
        return Anchored(match.start(), hit.end, found) if found else None
    match = _CHINESE.match(text, hit.end)
    if match is not None:
        unit, before = _HAN_UNITS[match["unit"]], match["side"] == "前"
        count = FEW[0] if match["n"] == "几" else number(match["n"])
        return Anchored(hit.start, match.end(), Reading(_beside(hit.reading.days, count, unit, before=before)))
    match = CHINESE.match(text, hit.end)
    if match is not None:
        found = chinese_piece(match, hit.reading.days)
        return Anchored(hit.start, match.end(), found) if found else None
    return None


def _english(match: re.Match[str], anchor: Days) -> Reading | None:
    unit, before = match["unit"], match["side"] in ("before", "prior to", "preceding")
    if match["n"] is None:
        return Reading(_beside(anchor, 1, unit, before=before))
    if unit == "weekend" or unit in WEEKDAYS:
        return None
    day = anchor.first if before else anchor.last
    return away(datetime.combine(day, time()), _amount(match["n"]), unit, -1 if before else 1)


def _amount(words: str) -> Amount:
    if "couple" in words:
        return COUPLE
    if "few" in words or words == "several":
        return FEW
    return int(words) if words.isdecimal() else NUMBERS[words]


def _beside(anchor: Days, count: int, unit: str, *, before: bool) -> Days:
    """The `count` units that end before the anchor, or begin after it; the nearest weekend or Monday."""
    day = anchor.first if before else anchor.last
    if unit in WEEKDAYS:
        weekday = WEEKDAYS[unit]
        return one(weekday_before(day, weekday, or_same=False) if before else weekday_after(day, weekday))
    if unit == "weekend":
        if before:
            return weekend(weekday_before(day, 6, or_same=False))
        return weekend(weekday_after(day, 5))
    if unit in ("month", "year"):
        months = count * (12 if unit == "year" else 1)
        other = shift_months(day, -months if before else months)
    else:
        other = day + timedelta(count * (7 if unit == "week" else 1) * (-1 if before else 1))
    return Days(other, day - timedelta(1)) if before else Days(day + timedelta(1), other)
