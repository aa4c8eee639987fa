"""English words that count from today: yesterday, last week, three days ago, on Monday."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from re import Match

from memsidecar.adapters.time_expressions.amounts import COUPLE, FEW, Amount, away, rolling
from memsidecar.adapters.time_expressions.festivals import ENGLISH
from memsidecar.adapters.time_expressions.hit import Cycle, Reading, Rule
from memsidecar.adapters.time_expressions.units import calendar_unit
from memsidecar.adapters.time_expressions.words import ALL_MONTHS, NUMBERS, SEASONS, UNITS, WEEKDAYS, either
from memsidecar.domain.calendar_spans import (
    EARLY,
    LATE,
    MIDDLE,
    Days,
    one,
    quarter,
    third,
    weekday,
    weekday_after,
    weekday_before,
    weekend,
)

# Not inside a word, a path or an address.
# Letters are a to z by now, so that Chinese may follow at once.
LEFT, RIGHT = r"(?<![a-z0-9_@/.=-])(?<![a-z]')", r"(?![a-z0-9_@/=]|-[a-z0-9_])"
YEAR = r"(?P<year>\d{4}|last year|this year|next year|the year before last)"
PART = r"(?P<part>early|beginning of|start of|mid|middle of|late|end of)"
_PARTS = {"early": EARLY, "beginning of": EARLY, "start of": EARLY, "mid": MIDDLE, "middle of": MIDDLE, "late": LATE,
          "end of": LATE}  # fmt: skip
SHIFT = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "following": 1,
          "upcoming": 1, "this past": -1, "this coming": 1, "this last": -1, "the past": -1}  # fmt: skip
_FESTIVALS = [name.replace(".", "[.]") for name in ENGLISH]
_RELATIVE = {"day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "this morning": 0,
             "this afternoon": 0, "earlier today": 0, "tomorrow": 1, "day after tomorrow": 2}  # fmt: skip
_AMOUNT = rf"(?P<amount>half an?|(?:a )?couple(?: of)?|(?:a )?few|several|\d{{1,9}}|{either(NUMBERS)})"
# "In a minute" is no time.
_SOON = re.compile(r"in an? ?(?:min|minute|sec|second)s?")
_HALF = r"(?P<half> and a half)?"
_NEXT_WORD = re.compile(r"(?:'s)? ?([a-z\d]+)")
# "The Monday before last", not "the Monday before last Christmas".
_OF_LAST = frozenset((*UNITS, *(unit + "s" for unit in UNITS), *WEEKDAYS, *ALL_MONTHS, *SEASONS, *NUMBERS)) | {
    "weekend", "few", "couple", "several", *(name.split()[0].partition("'")[0] for name in ENGLISH)}  # fmt: skip
_UNIT = rf"(?P<unit>{either(UNITS)})s?(?P<half2> and a half)?"


def rule(pattern: str, read: Callable[[Match[str], datetime], Reading | None], *needs: str) -> Rule:
    return Rule(re.compile(LEFT + pattern + RIGHT), read, frozenset(needs))


def year_of(words: str, now: datetime) -> int:
    shift = {"last year": -1, "this year": 0, "next year": 1, "the year before last": -2}.get(words)
    return int(words) if shift is None else now.year + shift


def part_of(days: Days, part: str | None) -> Days:
    """A year begins and ends with a quarter; "early" and "late" are a third of anything."""
    if part is None:
        return days
    if (days.last - days.first).days > 300 and part not in ("early", "mid", "middle of", "late"):
        return quarter(days.first.year, 4 if part == "end of" else 1)
    return third(days, _PARTS[part])


def _amount(match: Match[str]) -> Amount:
    words = match["amount"]
    if "couple" in words:
        return COUPLE
    if "few" in words or words == "several":
        return FEW
    if words.startswith("half"):
        return 0.5
    number = int(words) if words.isdecimal() else NUMBERS[words]
    return number + 0.5 if match["half"] or match["half2"] else number


def _relative(match: Match[str], now: datetime) -> Reading:
    return Reading(one(now.date() + timedelta(_RELATIVE[match["word"]])))


def _unit(match: Match[str], now: datetime) -> Reading:
    unit, direction, part = match["unit"], match["dir"], match["part"]
    if "past" in direction and unit != "weekend":
        return rolling(now, 1, unit, -1)
    return Reading(part_of(calendar_unit(now.date(), unit, SHIFT[direction]), part), vague=part is not None)


def _unit_beyond(match: Match[str], now: datetime) -> Reading | None:
    if match["dir"] == "before last" and not last_alone(match):
        return None
    return Reading(calendar_unit(now.date(), match["unit"], -2 if match["dir"] == "before last" else 2))


def _unit_so_far(match: Match[str], now: datetime) -> Reading:
    today, days = now.date(), calendar_unit(now.date(), match["unit"], 0)
    return Reading(Days(today, days.last) if match["side"] == "later" else Days(days.first, max(days.first, today)))


def _last_several(match: Match[str], now: datetime) -> Reading:
    return rolling(now, _amount(match), UNITS[match["unit"]], max(SHIFT[match["dir"]], 0) * 2 - 1)


def _ago(match: Match[str], now: datetime) -> Reading | None:
    return away(now, _amount(match), UNITS[match["unit"]], -1)


def _ahead(match: Match[str], now: datetime) -> Reading | None:
    if _SOON.fullmatch(match.group()):
        return None
    return away(now, _amount(match), UNITS[match["unit"]], 1)


def last_alone(match: Match[str]) -> bool:
    """Whether "last" at the match's end is no part of another time: "last Christmas"."""
    following = _NEXT_WORD.match(match.string, match.end())
    return following is None or (following[1] not in _OF_LAST and not following[1].isdecimal())


def times_ago(match: Match[str]) -> int:
    """Three of "three Mondays ago"; "the Monday before last" is two."""
    words = match["n"]
    return 2 if words is None else int(words) if words.isdecimal() else NUMBERS[words]


def _hour(match: Match[str], now: datetime) -> Reading:
    return rolling(now, 1, match["unit"], max(SHIFT[match["dir"]], 0) * 2 - 1)


def _weekends_ago(match: Match[str], now: datetime) -> Reading:
    return Reading(weekend(now.date(), -times_ago(match)))


def _weekdays_ago(match: Match[str], now: datetime) -> Reading | None:
    if match["n"] is None and not last_alone(match):
        return None
    last = weekday_before(now.date(), WEEKDAYS[match["day"]], or_same=False)
    return Reading(one(last - timedelta(7 * (times_ago(match) - 1))))


def _weekend(match: Match[str], now: datetime) -> Reading:
    days = weekend(now.date())
    return Reading(days if days.first <= now.date() else weekend(now.date(), -1), cycle=Cycle.WEEK)


def _weekday(match: Match[str], now: datetime) -> Reading:
    today, number, direction = now.date(), WEEKDAYS[match["day"]], match["dir"]
    week = match["week"] or match["week2"]
    if week:
        return Reading(one(weekday(today, number, SHIFT[week])))
    if direction in ("this", "this coming", "coming", "upcoming"):
        day = weekday(today, number) if direction == "this" else weekday_after(today, number)
        return Reading(one(day))
    if direction in ("next", "following"):
        return Reading(one(weekday_after(today, number)))
    cycle = Cycle.NONE if direction else Cycle.WEEK
    return Reading(one(weekday_before(today, number, or_same=False)), cycle=cycle)


DIR = r"(?P<dir>this past|this last|this coming|last|past|previous|this|current|next|coming|following|upcoming)"
_WEEK = "last|this|next|previous"
_EVERY_UNIT = (*UNITS, *(unit + "s" for unit in UNITS), "centuries")

RULES = (
    rule(
        rf"(?:the )?(?P<word>{either(_RELATIVE)})",
        _relative,
        "yesterday",
        "today",
        "tomorrow",
        "night",
        "morning",
        "afternoon",
    ),
    rule(
        rf"(?:the )?(?:{PART}[ -](?:the )?)?{DIR} (?P<unit>week|weekend|month|quarter|year|decade)",
        _unit,
        "week",
        "weekend",
        "month",
        "quarter",
        "year",
        "decade",
    ),
    rule(
        r"(?:the )?(?P<unit>week|weekend|month|quarter|year) (?P<dir>before last|after next)",
        _unit_beyond,
        "before",
        "after",
    ),
    rule(
        rf"(?:the )?(?P<dir>past|last|previous|next|coming|following) {_AMOUNT}{_HALF} ?{_UNIT}",
        _last_several,
        *_EVERY_UNIT,
    ),
    rule(rf"{_AMOUNT}{_HALF} ?{_UNIT} (?:ago|back|earlier)", _ago, "ago", "back", "earlier"),
    rule(rf"{_AMOUNT}{_HALF} ?{_UNIT} (?:later|hence|from now|from today)", _ahead, "later", "hence", "now", "today"),
    rule(rf"in {_AMOUNT}{_HALF} ?{_UNIT}(?! of\b)", _ahead, *_EVERY_UNIT),
    rule(rf"(?P<n>\d{{1,3}}|{either(NUMBERS)}) weekends? ago", _weekends_ago, "ago"),
    rule(rf"(?P<n>\d{{1,3}}|{either(NUMBERS)}) (?P<day>{either(WEEKDAYS)})s? ago", _weekdays_ago, "ago"),
    rule(rf"(?:the )?(?P<day>{either(WEEKDAYS)}) before last(?P<n>(?!))?", _weekdays_ago, "before"),
    rule(r"(?:the )?(?P<dir>past|last|next|coming) (?P<unit>hour|fortnight)(?! of\b)", _hour, "hour", "fortnight"),
    rule(r"(?:over|at|on|during) the weekend", _weekend, "weekend"),
    rule(
        r"(?P<side>earlier|later|so far) this (?P<unit>week|weekend|month|quarter|year)",
        _unit_so_far,
        "earlier",
        "later",
        "far",
    ),
    rule(
        rf"(?<!every )(?<!each )(?:(?P<week>{_WEEK}) week(?:'s| on)? )?(?:{DIR} )?(?P<day>{either(WEEKDAYS)})"
        rf"(?: (?:of )?(?P<week2>{_WEEK}) week)?",
        _weekday,
        *WEEKDAYS,
    ),
)
