"""Spanish, French, Italian, German, Portuguese and Dutch: words that count from today. Accents are taken off."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from re import Match

from memsidecar.adapters.time_expressions.amounts import FEW, away
from memsidecar.adapters.time_expressions.english import rule
from memsidecar.adapters.time_expressions.hit import Reading
from memsidecar.adapters.time_expressions.units import calendar_unit
from memsidecar.adapters.time_expressions.words import (
    FOREIGN_DAYS,
    FOREIGN_DIRECTIONS,
    FOREIGN_FEW,
    FOREIGN_NUMBERS,
    FOREIGN_UNITS,
    FOREIGN_WEEKDAYS,
    either,
)
from memsidecar.domain.calendar_spans import one, weekday_after, weekday_before

_WEEKEND = r"fin de semana|fim de semana|fine settimana"
_CALENDAR = {unit for unit in FOREIGN_UNITS if FOREIGN_UNITS[unit] in ("week", "month", "year", "weekend")}
_UNIT = rf"(?P<unit>{_WEEKEND}|{either(_CALENDAR)})"
_DIRECTION = rf"(?P<dir>{either(FOREIGN_DIRECTIONS)}|que viene|que vem)"
_ARTICLE = r"(?:(?:l'|(?:la|el|le|lo|il|der|die|das|den|de|o|na|no|nel|nella|het|im|in) ))?"
_AMOUNT = rf"(?P<amount>\d{{1,6}}|ein paar|{either(FOREIGN_FEW, FOREIGN_NUMBERS)})"
_MANY = rf"(?P<unit>{either(FOREIGN_UNITS)})"
# "hier" is "here" and "morgen" is "morning" where German or Dutch is written.
_GERMAN = re.compile(r"\b(?:ist|der|das|und|ich|wir|nicht|wie|wo|gibt|mit|von|het|een|niet|wat|ik|zijn)\b")


def _day(match: Match[str], now: datetime) -> Reading | None:
    word = match["word"]
    if word == "hier" and _GERMAN.search(match.string):
        return None
    return Reading(one(now.date() + timedelta(FOREIGN_DAYS[word])))


def _unit(match: Match[str], now: datetime) -> Reading | None:
    words, direction = match["unit"], match["dir"]
    shift = FOREIGN_DIRECTIONS.get(direction, 1)
    return Reading(calendar_unit(now.date(), FOREIGN_UNITS.get(words, "weekend"), shift))


def _away(match: Match[str], now: datetime, direction: int) -> Reading | None:
    words, unit = match["amount"], FOREIGN_UNITS[match["unit"]]
    if unit == "weekend":
        return None
    if words == "ein paar" or words in FOREIGN_FEW:
        return away(now, FEW, unit, direction)
    return away(now, int(words) if words.isdecimal() else FOREIGN_NUMBERS[words], unit, direction)


def _ago(match: Match[str], now: datetime) -> Reading | None:
    return _away(match, now, -1)


def _ahead(match: Match[str], now: datetime) -> Reading | None:
    return _away(match, now, 1)


def _weekday(match: Match[str], now: datetime) -> Reading | None:
    number, direction = FOREIGN_WEEKDAYS[match["day"]], match["dir"] or match["dir2"]
    if direction and FOREIGN_DIRECTIONS[direction] > 0:
        return Reading(one(weekday_after(now.date(), number)))
    return Reading(one(weekday_before(now.date(), number, or_same=False)))


RULES = (
    rule(
        rf"(?<!guten )(?<!por la )(?<!esta )(?<!de la )(?P<word>{either(FOREIGN_DAYS)})",
        _day,
        *FOREIGN_DAYS,
        "aujourd",
        "avant",
        "apres",
    ),
    rule(rf"{_ARTICLE}{_UNIT} {_DIRECTION}", _unit, *FOREIGN_UNITS, "week"),
    rule(rf"{_ARTICLE}{_DIRECTION} ?{_UNIT}", _unit, *FOREIGN_UNITS, "week"),
    rule(rf"(?:hace|il y a|vor|ha) {_AMOUNT} {_MANY}", _ago, *FOREIGN_UNITS),
    rule(rf"{_AMOUNT} {_MANY} (?:fa|atras|geleden)", _ago, "fa", "atras", "geleden"),
    rule(rf"(?:dentro de|en|dans|fra|tra|in|daqui a|over) {_AMOUNT} {_MANY}", _ahead, *FOREIGN_UNITS),
    rule(
        rf"(?:(?P<dir>{either(FOREIGN_DIRECTIONS)}) )?(?P<day>{either(FOREIGN_WEEKDAYS)})"
        rf"(?: (?P<dir2>{either(FOREIGN_DIRECTIONS)}))?",
        _weekday,
        *FOREIGN_WEEKDAYS,
    ),
)
