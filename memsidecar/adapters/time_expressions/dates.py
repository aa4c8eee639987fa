"""Days and months of the calendar, in digits and in the month names of seven languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from re import Match

from memsidecar.adapters.time_expressions.english import PART, YEAR, part_of, rule, year_of
from memsidecar.adapters.time_expressions.hit import Cycle, Reading, Rule, latest
from memsidecar.adapters.time_expressions.words import (
    ALL_MONTHS,
    FOREIGN_MONTHS,
    FOREIGN_WEEKDAYS,
    MONTHS,
    SHORT_MONTHS,
    TWOFOLD_MONTHS,
    WEEKDAYS,
    either,
)
from memsidecar.domain.calendar_spans import Days, month, one

_NAME = rf"(?P<month>{either(ALL_MONTHS)})\.?"
_NAME2 = rf"(?P<month2>{either(ALL_MONTHS)})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.|o|a)?"
_DAY2 = r"(?P<day2>\d{1,2})(?:st|nd|rd|th|er|\.)?"
_NOT_A_CLOCK = r"(?![\d:]|\s?[ap]m\b)"
_OF = r"(?: of| de| del| di)?"
_TO = r"\s?(?:-|–|—|to|until|till|through|thru|and|al|au|bis|a|y|et|e|und)\s?"
_LEAD = re.compile(
    r"(?:\b(?:(?:week|weekend|month|[a-z]{0,6}day) of|"
    r"in|since|during|until|till|by|from|through|before|after|between|around|en|im|em|au|nel|a) )$"
)
_ON = rf"(?:{either(WEEKDAYS, FOREIGN_WEEKDAYS)},? )?"
_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)| of ")
_YEAR4 = r"(?P<year>\d{4})(?!\d)"


def _leads(match: Match[str]) -> bool:
    """Whether a word stands before that makes a month of "may"."""
    return _LEAD.search(match.string, max(0, match.start() - 16), match.start()) is not None


def _year(match: Match[str], now: datetime) -> int | None:
    return year_of(match["year"], now) if match["year"] else None


def _most_recent(number: int, day: int, today: date) -> date:
    """The last such day up to today; 29 February is not every year."""
    for year in range(today.year, today.year - 9, -1):
        try:
            found = date(year, number, day)
        except ValueError:
            continue
        if found <= today:
            return found
    return date(today.year, number, day)


def _day(match: Match[str], now: datetime) -> Reading | None:
    number, day, year = ALL_MONTHS[match["month"]], int(match["day"]), _year(match, now)
    if year is not None:
        return Reading(one(date(year, number, day)))
    # "Step 2 may fail": a day only when the words around say so.
    if match["month"] in ("may", "mar") and not (
        _leads(match) or match.group() == match.string.strip() or _ORDINAL.search(match.group())
    ):
        return None
    return Reading(one(_most_recent(number, day, now.date())), cycle=Cycle.YEAR)


def _year_first(match: Match[str], now: datetime) -> Reading | None:
    number, year = MONTHS[match["month"]], int(match["year"])
    if match["day"]:
        return Reading(one(date(year, number, int(match["day"]))))
    # "In 2024 may" goes on with a verb.
    return None if match["month"] == "may" else Reading(month(year, number))


def _days(match: Match[str], now: datetime) -> Reading:
    second = ALL_MONTHS[match["month2"] or match["month"]]
    first = ALL_MONTHS[match["month"] or match["month2"]]
    year = _year(match, now)
    last = date(year, second, int(match["day2"])) if year else _most_recent(second, int(match["day2"]), now.date())
    begin = date(last.year, first, int(match["day"]))
    return Reading(Days(begin if begin <= last else begin.replace(year=last.year - 1), last))


def _month(match: Match[str], now: datetime) -> Reading | None:
    name, today = match["month"], now.date()
    number, part, vague = ALL_MONTHS[name], match["part"], match["part"] is not None
    if match["year"]:
        return Reading(part_of(month(year_of(match["year"], now), number), part), vague=vague)
    alone = match.group() == match.string.strip()
    if match["dir"] is None and part is None:
        lead = _leads(match)
        foreign = name in FOREIGN_MONTHS and name not in MONTHS
        if name in SHORT_MONTHS or (not lead and (foreign or name in TWOFOLD_MONTHS) and not (alone and name != "may")):
            return None
    if name in SHORT_MONTHS and part is None:
        return None
    days = latest(lambda year: month(year, number), today)
    if match["dir"] == "last" and days.last >= today:
        days = month(days.first.year - 1, number)
    elif match["dir"] == "this":
        days = month(today.year, number)
    elif match["dir"] == "next":
        days = month(days.first.year + 1, number)
    return Reading(part_of(days, part), vague=vague, cycle=Cycle.NONE if match["dir"] else Cycle.YEAR)


def _months(match: Match[str], now: datetime) -> Reading | None:
    """June to August 2024, November 2023 to January 2024."""
    first, last = ALL_MONTHS[match["month"]], ALL_MONTHS[match["month2"]]
    if "may" in (match["month"], match["month2"]) and not match["from"] and not match["year2"]:
        return None
    if " and " in match.group() and match["from"] != "between":
        return None
    year2 = int(match["year2"]) if match["year2"] else None
    if year2 is None:
        year2 = int(match["year"]) if match["year"] else latest(lambda y: month(y, last), now.date()).first.year
    year = int(match["year"]) if match["year"] else year2 if first <= last else year2 - 1
    begin, end = month(year, first), month(year2, last)
    return Reading(Days(begin.first, end.last)) if begin.first <= end.last else None


def _iso(match: Match[str], now: datetime) -> Reading:
    return Reading(one(date(int(match["y"]), int(match["m"]), int(match["d"]))))


def _month_first(match: Match[str], now: datetime) -> Reading:
    """As Americans write it, unless the first number can be no month."""
    number, day, year = int(match["m"]), int(match["d"]), int(match["y"])
    if number > 12:
        number, day = day, number
    return Reading(one(date(year + 2000 if len(match["y"]) == 2 else year, number, day)))


def _iso_month(match: Match[str], now: datetime) -> Reading:
    return Reading(month(int(match["y"]), int(match["m"])))


# Not a part of a longer number, of a path or of a name.
_BEFORE, _AFTER = r"(?<![a-z0-9_@/.=:-])(?<!\d,)", r"(?![a-z0-9_]|[/@=]|[-.][a-z0-9_])"
_TIME = r"(?:[t ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:z|[+-]\d{2}:?\d{2})?)?"
_ALL_MONTHS = tuple(ALL_MONTHS)


def _digits(pattern: str, read: Callable[[Match[str], datetime], Reading | None]) -> Rule:
    return Rule(re.compile(_BEFORE + pattern + _AFTER), read)


DIGITS = (
    _digits(r"(?P<y>\d{4})(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})" + _TIME, _iso),
    _digits(r"(?P<m>\d{1,2})(?P<sep>[/-])(?P<d>\d{1,2})(?P=sep)(?P<y>\d{4}|\d{2}(?=\D|$))", _month_first),
    _digits(r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})", _iso),
    _digits(r"(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])", _iso_month),
)
NAMES = (
    rule(
        rf"(?:in )?{_YEAR4},? (?P<month>{either(MONTHS)})"
        rf"(?: (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?{_NOT_A_CLOCK}|(?! \d))",
        _year_first,
        *MONTHS,
    ),
    rule(
        rf"{_ON}(?:the |el |le |il |den |am )?{_DAY}{_OF} {_NAME}(?:(?:,| of| de| del)? {_YEAR4})?", _day, *_ALL_MONTHS
    ),
    rule(rf"{_ON}{_NAME} (?:the )?{_DAY}{_NOT_A_CLOCK}(?:,? {_YEAR4})?", _day, *_ALL_MONTHS),
    rule(rf"(?:from |between )?{_NAME} {_DAY}{_TO}(?:{_NAME2} )?{_DAY2}(?:,? {_YEAR4})?", _days, *_ALL_MONTHS),
    rule(
        rf"(?:from |between )?(?:the )?{_DAY}(?:{_OF} {_NAME})?{_TO}(?:the )?{_DAY2}{_OF} {_NAME2}(?:,? {_YEAR4})?",
        _days,
        *_ALL_MONTHS,
    ),
    rule(
        rf"(?:the )?(?:{PART}[ -])?(?:(?P<dir>last|this|next|past) )?{_NAME}(?:(?:,| of| de| del)? {YEAR})?",
        _month,
        *_ALL_MONTHS,
    ),
    rule(
        rf"(?:(?P<from>from|between) )?{_NAME}(?: {_YEAR4})?{_TO}{_NAME2}(?: (?P<year2>\d{{4}}))?",
        _months,
        *_ALL_MONTHS,
    ),
)
