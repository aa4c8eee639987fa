"""Stretches of whole days on the Gregorian calendar."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

SPRING, SUMMER, AUTUMN, WINTER = 3, 6, 9, 12  # the first month of each, on the northern half
EARLY, MIDDLE, LATE = 0, 1, 2

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
DAY_MICROS = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Days:
    """From the first day to the last, both included."""

    first: date
    last: date


def one(day: date) -> Days:
    return Days(day, day)


def week(day: date, shift: int = 0) -> Days:
    """Monday to Sunday around `day`, `shift` weeks later."""
    monday = day + timedelta(7 * shift - day.weekday())
    return Days(monday, monday + timedelta(6))


def weekend(day: date, shift: int = 0) -> Days:
    """Saturday and Sunday of `day`'s week, `shift` weeks later."""
    last = week(day, shift).last
    return Days(last - timedelta(1), last)


def weekday(day: date, number: int, shift: int = 0) -> date:
    """The day of `day`'s week, `shift` weeks later; Monday is 0."""
    return week(day, shift).first + timedelta(number)


def weekday_before(day: date, number: int, *, or_same: bool) -> date:
    """The last Monday (0) to Sunday (6) before `day`, or `day` itself."""
    back = (day.weekday() - number) % 7
    return day - timedelta(back if back or or_same else 7)


def weekday_after(day: date, number: int) -> date:
    """The first Monday (0) to Sunday (6) after `day`."""
    return day + timedelta((number - day.weekday() - 1) % 7 + 1)


def months(year: int, first: int, last: int) -> Days:
    """`last` may be past December: 12 to 14 is a winter."""
    last_year, last_month = year + (last - 1) // 12, (last - 1) % 12 + 1
    return Days(date(year, first, 1), date(last_year, last_month, monthrange(last_year, last_month)[1]))


def month(year: int, number: int) -> Days:
    return months(year, number, number)


def quarter(year: int, number: int) -> Days:
    return months(year, 3 * number - 2, 3 * number)


def half(year: int, number: int) -> Days:
    return months(year, 6 * number - 5, 6 * number)


def whole_year(year: int) -> Days:
    return months(year, 1, 12)


def years(first: int, last: int) -> Days:
    return Days(date(first, 1, 1), date(last, 12, 31))


def season(year: int, first_month: int) -> Days:
    """`first_month` as SPRING and the others; a winter belongs to the year of its December."""
    return months(year, first_month, first_month + 2)


def third(days: Days, part: int) -> Days:
    """The early, middle or late third: days 1-10, 11-20, 21- of a month; whole months of what is longer."""
    first, last = days.first, days.last
    if (last - first).days <= 31:
        bounds = (first.replace(day=1), first.replace(day=11), first.replace(day=21))
        return Days(bounds[part], last if part == LATE else bounds[part + 1] - timedelta(1))
    size = ((last.year - first.year) * 12 + last.month - first.month + 1) // 3
    begin = shift_months(first, size * part)
    return Days(begin, shift_months(begin, size) - timedelta(1))


def shift_months(day: date, number: int) -> date:
    """The same day of another month, or that month's last one."""
    index = day.year * 12 + day.month - 1 + number
    year, month_index = divmod(index, 12)
    return date(year, month_index + 1, min(day.day, monthrange(year, month_index + 1)[1]))


def nth_weekday(year: int, month_number: int, number: int, nth: int) -> date:
    """The nth Monday (0) to Sunday (6) of a month; -1 is the last."""
    bounds = month(year, month_number)
    if nth < 0:
        return weekday_before(bounds.last, number, or_same=True)
    return weekday_after(bounds.first - timedelta(1), number) + timedelta(7 * (nth - 1))


def start_micros(day: date, zone: tzinfo) -> int:
    """When the day begins in the zone, in microseconds since 1970 UTC."""
    return (datetime(day.year, day.month, day.day, tzinfo=zone) - _EPOCH) // _MICROSECOND


def end_micros(day: date, zone: tzinfo) -> int:
    """When the next day begins in the zone."""
    if day == date.max:
        return start_micros(day, zone) + DAY_MICROS
    return start_micros(day + timedelta(1), zone)
