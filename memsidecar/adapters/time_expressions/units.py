"""Last, this and next week, month and year."""

from __future__ import annotations

from datetime import date, timedelta

from memsidecar.adapters.time_expressions.hit import Reading
from memsidecar.domain.calendar_spans import Days, month, one, quarter, shift_months, week, weekend, whole_year, years


def calendar_unit(today: date, unit: str, shift: int) -> Days:
    """The calendar's week, weekend, month, quarter, year or decade that is `shift` after today's."""
    if unit == "week":
        return week(today, shift)
    if unit == "weekend":
        return weekend(today, shift)
    if unit == "month":
        moved = shift_months(today, shift)
        return month(moved.year, moved.month)
    if unit == "quarter":
        moved = shift_months(today, 3 * shift)
        return quarter(moved.year, (moved.month + 2) // 3)
    if unit == "year":
        return whole_year(today.year + shift)
    if unit == "decade":
        first = (today.year // 10 + shift) * 10
        return years(first, first + 9)
    return one(today)


def same_day(today: date, unit: str, shift: int, *, about: bool) -> Reading:
    """This day last year, this day last month; `about` for "this time"."""
    months = shift * {"year": 12, "month": 1}.get(unit, 0)
    day = shift_months(today, months) if months else today + timedelta(7 * shift if unit == "week" else 0)
    return Reading(one(day), vague=about, slack={"year": 15, "month": 3}.get(unit, 1) if about else 0)
