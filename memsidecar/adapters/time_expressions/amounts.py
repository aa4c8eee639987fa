"""So many days, weeks or months from a day."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from memsidecar.adapters.time_expressions.hit import Reading
from memsidecar.domain.calendar_spans import Days, one, shift_months

# Numbers that are none: from how many to how many.
FEW = (5, 2)
COUPLE = (3, 1)
Amount = float | tuple[int, int]

_DAYS = {"day": 1, "week": 7, "month": 30}
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_SLACK = {"week": 3, "month": 15, "quarter": 45, "year": 183, "decade": 1826, "century": 18262}
_CLOCK = {"hour": 3600, "minute": 60, "second": 1}


def moved(now: datetime, amount: float, unit: str) -> date:
    """The day that is `amount` units after `now`; half a month is 15 days. Raises OverflowError or ValueError when no
    calendar has it."""
    today = now.date()
    if abs(amount) > 1e7:
        raise OverflowError(amount)
    if unit in _CLOCK:
        return (now.replace(tzinfo=None) + timedelta(seconds=amount * _CLOCK[unit])).date()
    if unit in _MONTHS:
        whole, part = divmod(abs(amount) * _MONTHS[unit], 1)
        sign = 1 if amount > 0 else -1
        return shift_months(today, sign * int(whole)) + timedelta(days=sign * round(part * 30))
    return today + timedelta(days=int(amount * _DAYS[unit]))


def away(now: datetime, amount: Amount, unit: str, direction: int) -> Reading | None:
    """ "Three weeks ago" is a day; "a few weeks ago" is from five to two. A few years could be any."""
    if isinstance(amount, tuple):
        if unit not in _DAYS:
            return None
        ends = [now.date() + timedelta(direction * number * _DAYS[unit]) for number in amount]
        return Reading(Days(min(ends), max(ends)), vague=True)
    slack = _SLACK.get(unit, 0)
    return Reading(one(moved(now, direction * amount, unit)), vague=slack > 0, slack=slack)


def rolling(now: datetime, amount: Amount, unit: str, direction: int) -> Reading:
    """ "The last three days": up to today, from the same time three days ago."""
    vague = isinstance(amount, tuple)
    number = amount[0] if isinstance(amount, tuple) else amount
    other = moved(now, direction * number, unit)
    return Reading(Days(min(other, now.date()), max(other, now.date())), vague=vague)
