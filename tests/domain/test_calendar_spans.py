from __future__ import annotations

from datetime import UTC, date
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from memsidecar.domain import calendar_spans as spans
from memsidecar.domain.calendar_spans import Days

DAYS = st.dates(date(1000, 1, 1), date(9000, 1, 1))


@given(DAYS)
def test_a_week_is_monday_to_sunday_around_its_day(day: date) -> None:
    week = spans.week(day)
    assert (week.first.weekday(), week.last.weekday()) == (0, 6)
    assert week.first <= day <= week.last


@given(DAYS, st.integers(0, 6))
def test_the_weekday_before_is_within_a_week(day: date, number: int) -> None:
    before = spans.weekday_before(day, number, or_same=False)
    assert before.weekday() == number
    assert 1 <= (day - before).days <= 7
    after = spans.weekday_after(day, number)
    assert after.weekday() == number
    assert 1 <= (after - day).days <= 7


@given(st.integers(1000, 9000), st.integers(1, 12))
def test_thirds_make_the_whole(year: int, number: int) -> None:
    for whole in (spans.month(year, number), spans.season(year, number), spans.whole_year(year)):
        early, middle, late = (spans.third(whole, part) for part in (spans.EARLY, spans.MIDDLE, spans.LATE))
        assert (early.first, late.last) == (whole.first, whole.last)
        assert (middle.first - early.last).days == (late.first - middle.last).days == 1


def test_a_month_back_from_its_last_day_is_the_last_day() -> None:
    assert spans.shift_months(date(2024, 3, 31), -1) == date(2024, 2, 29)
    assert spans.shift_months(date(2026, 12, 31), -1) == date(2026, 11, 30)


def test_a_winter_ends_in_the_next_year() -> None:
    assert spans.season(2023, spans.WINTER) == Days(date(2023, 12, 1), date(2024, 2, 29))


def test_the_nth_weekday_of_a_month() -> None:
    assert spans.nth_weekday(2024, 11, 3, 4) == date(2024, 11, 28)
    assert spans.nth_weekday(2024, 5, 0, -1) == date(2024, 5, 27)
    assert spans.nth_weekday(2024, 9, 6, 1) == date(2024, 9, 1)


def test_a_day_has_as_many_hours_as_the_zone_gives_it() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    hour = 3_600_000_000
    for day, hours in ((date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 6, 1), 24)):
        assert spans.end_micros(day, berlin) - spans.start_micros(day, berlin) == hours * hour


def test_the_calendar_has_a_first_and_a_last_day() -> None:
    assert spans.start_micros(date.min, ZoneInfo("Asia/Shanghai")) < spans.start_micros(date.min, UTC)
    assert spans.end_micros(date.max, UTC) - spans.start_micros(date.max, UTC) == spans.DAY_MICROS
