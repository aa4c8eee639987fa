"""So many days, weeks or months from a day, so many hours from a moment."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from memsidecar.adapters.time_expressions.hit import Exact, Reading
from memsidecar.domain.calendar_spans import Days, one, shift_months

# Numbers that are none: from how many to how many.
FEW = (5, 2)
COUPLE = (3, 1)
Amount = float | tuple[int, int]

_DAYS = {"day": 1, "week": 7, "fortnight": 14, "month": 30}
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_SLACK = {"week": 3, "fortnight": 3, "month": 15, "quarter": 45, "year": 183, "decade": 1826, "century": 18262}
_CLOCK = {"hour": timedelta(hours=1), "minute": timedelta(minutes=1), "second": timedelta(seconds=1)}
_HALF_AN_HOUR, _MICROSECOND, _EPOCH = timedelta(minutes=30), timedelta(microseconds=1), datetime(1970, 1, 1, tzinfo=UTC)


def moved(now: datetime, amount: float, unit: str) -> date:
    """The day that is `amount` units after `now`; half a month is 15 days. Raises OverflowError or ValueError when no
    calendar has it."""
    today = now.date()
    if abs(amount) > 1e7:
        raise OverflowError(amount)
    if unit in _MONTHS:
        whole, part = divmod(abs(amount) * _MONTHS[unit], 1)
        sign = 1 if amount > 0 else -1
        return shift_months(today, sign * int(whole)) + timedelta(days=sign * round(part * 30))
    return today + timedelta(days=int(amount * _DAYS[unit]))


def away(now: datetime, amount: Amount, unit: str, direction: int) -> Reading | None:
    """ "Three weeks ago" is a day; "a few weeks ago" is from five to two. A few years could be any. "An hour ago" is
    within half an hour of it, and less when it is sooner."""
    if unit in _CLOCK:
        return _moments_away(now, amount, _CLOCK[unit], direction)
    if isinstance(amount, tuple):
        if unit not in _DAYS:
            return None
        ends = [now.date() + timedelta(direction * number * _DAYS[unit]) for number in amount]
        return Reading(Days(min(ends), max(ends)), vague=True)
    slack = _SLACK.get(unit, 0)
    return Reading(one(moved(now, direction * amount, unit)), vague=slack > 0, slack=slack)


def rolling(now: datetime, amount: Amount, unit: str, direction: int) -> Reading:
    """ "The last three days": up to today, from the same day three days ago; "the last two hours": up to now."""
    if unit in _CLOCK:
        furthest = amount[0] if isinstance(amount, tuple) else amount
        return _between(now, timedelta(0), direction * furthest * _CLOCK[unit], vague=isinstance(amount, tuple))
    vague = isinstance(amount, tuple)
    number = amount[0] if isinstance(amount, tuple) else amount
    other = moved(now, direction * number, unit)
    return Reading(Days(min(other, now.date()), max(other, now.date())), vague=vague)


def _moments_away(now: datetime, amount: Amount, unit: timedelta, direction: int) -> Reading:
    if isinstance(amount, tuple):
        return _between(now, *(direction * number * unit for number in amount), vague=True)
    distance = amount * unit
    around = min(distance / 2, _HALF_AN_HOUR)
    return _between(now, *(direction * (distance + side) for side in (-around, around)), vague=True, slack=around)


def _between(
    now: datetime, one_end: timedelta, other: timedelta, *, vague: bool, slack: timedelta = timedelta(0)
) -> Reading:
    """Counted in UTC, so that an hour is one when clocks change. Raises OverflowError beyond the calendar."""
    moment = now.astimezone(UTC)
    first, last = moment + min(one_end, other), moment + max(one_end, other)
    # What is said right now is in the last hour.
    exact = Exact(_micros(first), _micros(last) + 1, slack // _MICROSECOND)
    zone = now.tzinfo
    return Reading(Days(first.astimezone(zone).date(), last.astimezone(zone).date()), vague=vague, exact=exact)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
