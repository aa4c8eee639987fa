"""Last Christmas, over Thanksgiving, Easter 2024."""

from __future__ import annotations

from datetime import datetime
from re import Match

from memsidecar.adapters.time_expressions.english import YEAR, last_alone, rule, year_of
from memsidecar.adapters.time_expressions.festivals import ENGLISH
from memsidecar.adapters.time_expressions.hit import Cycle, Reading, latest
from memsidecar.adapters.time_expressions.words import either

_NAME = rf"(?P<name>{either(name.replace('.', '[.]') for name in ENGLISH)})"
_LEAD = r"(?P<lead>(?:on|at|over|during|for|since|before|after|around|by|until|till|from) )"


def _festival(match: Match[str], now: datetime) -> Reading | None:
    festival, today, direction = ENGLISH[match["name"]], now.date(), match["dir"]
    if match["year"]:
        return Reading(festival(year_of(match["year"], now)))
    if not direction and not match["lead"] and not match["beyond"]:
        # "My favourite Christmas song" names no day.
        return None
    if match["own"]:
        return Reading(festival(year_of(f"{direction} year", now)))
    days = latest(festival, today)
    if match["beyond"]:
        if not last_alone(match):
            return None
        days = festival(days.first.year - 1 - (days.last >= today))
    elif direction == "last" and days.last >= today:
        days = festival(days.first.year - 1)
    elif direction == "this":
        days = festival(today.year)
    elif direction == "next":
        days = festival(days.first.year + 1)
    return Reading(days, slack=3, cycle=Cycle.NONE if direction else Cycle.YEAR)


RULES = (
    rule(rf"{_LEAD}?(?:the )?(?:(?P<dir>last|this|next)(?P<own> year's)? )?{_NAME}"
         rf"(?:(?:,?(?: of| in)? {YEAR})|(?P<beyond> before last))?",
         _festival, *{word for name in ENGLISH for word in name.replace("'s", "").replace("-", " ").split()}),
)  # fmt: skip
