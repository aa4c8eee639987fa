"""Years in English and what they have in them: last summer, Q3 2024, in 2019, the nineties, this day last year."""

from __future__ import annotations

from datetime import datetime
from re import Match

from memsidecar.adapters.time_expressions.english import (
    DIR,
    PART,
    SHIFT,
    YEAR,
    last_alone,
    part_of,
    rule,
    times_ago,
    year_of,
)
from memsidecar.adapters.time_expressions.hit import Reading, latest
from memsidecar.adapters.time_expressions.units import same_day
from memsidecar.adapters.time_expressions.words import DECADES, NUMBERS, ORDINALS, SEASONS, either
from memsidecar.domain.calendar_spans import Days, half, quarter, season, whole_year, years


def _season(match: Match[str], now: datetime) -> Reading | None:
    today, first, direction = now.date(), SEASONS[match["season"]], match["dir"]
    until = SEASONS[match["until"]] if match["until"] else None
    if match["before"] or match["year"]:
        days = season(year_of(match["before"] or match["year"], now), first)
    elif match["year2"]:
        # Of "winter to spring 2024" the winter began the year before.
        days = season(year_of(match["year2"], now) - (until is not None and until <= first), first)
    elif direction or match["lead"]:
        days = latest(lambda year: season(year, first), today)
        shift = SHIFT[direction] if direction else -2
        # The last spring is over; this one is this year's, also when it is to come.
        if shift == -1 and days.last >= today:
            days = season(days.first.year - 1, first)
        elif shift == 0 and days.last < today:
            days = season(today.year, first)
        elif shift == 1:
            days = season(days.first.year + 1, first)
    else:
        return None
    begin = part_of(days, match["part"])
    if until is not None:
        begin = Days(begin.first, season(days.first.year + (until <= first), until).last)
    return Reading(begin, vague=True, slack=21)


def _seasons_ago(match: Match[str], now: datetime) -> Reading | None:
    if match["n"] is None and not last_alone(match):
        return None
    today, first = now.date(), SEASONS[match["season"]]
    days = latest(lambda year: season(year, first), today)
    back = times_ago(match) - (days.last < today)
    return Reading(season(days.first.year - back, first), vague=True, slack=21)


def _part_of_year(match: Match[str], now: datetime) -> Reading | None:
    words = match["before"] or match["year"]
    if not words and not match["the"]:
        return None
    year = year_of(words, now) if words else now.year
    which = match["q"] or match["h"] or match["ordinal"]
    number = int(which) if which.isdecimal() else ORDINALS[which]
    if match["q"] or match["size"] == "quarter":
        return Reading(quarter(year, number))
    return Reading(half(year, min(number, 2)))


def _same_day(match: Match[str], now: datetime) -> Reading:
    unit, shift = match["unit"] or match["unit2"], -1
    if unit is None:
        unit, shift = "year", int(match["year"]) - now.year
    return same_day(now.date(), unit, shift, about=match["what"] == "time")


def _year(match: Match[str], now: datetime) -> Reading:
    year = int(match["y"])
    if match["until"]:
        return Reading(years(year, int(match["until"])))
    part = match["part"]
    return Reading(part_of(whole_year(year), part), vague=bool(part))


def _decade(match: Match[str], now: datetime) -> Reading:
    words, part = match["y"], match["part"]
    first = DECADES[words] if words in DECADES else int(words) if len(words) == 4 else 1900 + int(words)
    return Reading(part_of(years(first, first + 9), part), vague=part is not None)


_SEASON_LEAD = r"(?P<lead>(?:in|during|over|since|from|until|till|before|after|by|through|throughout|of) (?:the )?)"
_BEFORE = r"(?:(?P<before>(?:19|20)\d\d|last year|this year|next year)(?:'s)? )?"
_FOUR_DIGITS = r"(?P<y>(?:1[5-9]|20|21)\d\d)"
_IN_YEAR = (
    r"(?:(?:in|during|since|from|until|till|throughout|between|before|after|year|(?:(?<=week )|(?<=day )|(?<=weekend )"
    r"|(?<=month ))of)(?: the year)? )"
)
# "In 2000 words" is no year: a number of things follows.
_NO_THINGS = r"(?! (?!is\b|was\b|has\b|does\b|this\b|as\b)\w+s\b)"
_IN_PART = r"(?:(?P<part>early|mid|late)[ -])?"

RULES = (
    rule(
        rf"{_SEASON_LEAD}?(?:{PART}[ -](?:the )?)?{_BEFORE}(?:{DIR} )?(?P<season>{either(SEASONS)})"
        rf"(?:,?(?: of)? {YEAR})?(?:\s?(?:-|–|to|until|till|through|thru)\s?(?:the )?(?P<until>{either(SEASONS)}))?"
        rf"(?:,?(?: of)? {YEAR.replace('year>', 'year2>')})?",
        _season,
        *SEASONS,
    ),
    rule(rf"(?:the )?(?P<season>{either(SEASONS)}) before last(?P<n>(?!))?", _seasons_ago, "before"),
    rule(rf"(?P<n>\d{{1,2}}|{either(NUMBERS)}) (?P<season>{either(SEASONS)})s? ago", _seasons_ago, "ago"),
    rule(
        rf"(?:in )?{_BEFORE}(?P<the>the )?"
        rf"(?:q(?P<q>[1-4])|h(?P<h>[12])|(?P<ordinal>{either(ORDINALS)}) (?P<size>quarter|half))"
        rf"(?:,?(?: of)?(?: the)? {YEAR}|(?! of\b))",
        _part_of_year,
        "q",
        "h",
        "quarter",
        "half",
    ),
    rule(
        r"(?:(?:this|the same) (?P<what>day|time) (?:last (?P<unit>week|month|year)|(?:in )?(?P<year>(?:19|20)\d\d))"
        r"|last (?P<unit2>week|month|year) (?:on (?:this|the same) day|today))",
        _same_day,
        "day",
        "time",
        "today",
    ),
    rule(rf"the {_IN_PART}(?P<y>{either(DECADES)})", _decade, *DECADES),
)
# For texts with four digits, whatever their words.
YEAR_RULES = (
    rule(
        rf"(?:{_IN_YEAR}|(?:the )?{PART}[ -])(?:{_FOUR_DIGITS})"
        rf"(?:(?: to | and |-|–)(?P<until>(?:1[5-9]|20|21)\d\d))?{_NO_THINGS}",
        _year,
    ),
    rule(rf"(?:the )?{_IN_PART}(?P<y>(?:1[5-9]|20)\d0)'?s", _decade),
    rule(rf"the {_IN_PART}(?P<y>[3-9]0)'?s", _decade),
)
