from __future__ import annotations

from datetime import date

import pytest

from memsidecar.adapters.time_expressions.festivals import CHINESE, ENGLISH
from memsidecar.domain.calendar_spans import Days


@pytest.mark.parametrize(
    ("name", "year", "first", "last"),
    [
        ("春节", 2024, date(2024, 2, 10), date(2024, 2, 16)),
        ("除夕", 2026, date(2026, 2, 16), date(2026, 2, 16)),
        ("元宵节", 2025, date(2025, 2, 12), date(2025, 2, 12)),
        ("清明", 2024, date(2024, 4, 4), date(2024, 4, 4)),
        ("端午", 2025, date(2025, 5, 31), date(2025, 5, 31)),
        ("中秋节", 2025, date(2025, 10, 6), date(2025, 10, 6)),
        ("重阳", 2025, date(2025, 10, 29), date(2025, 10, 29)),
        ("国庆", 2025, date(2025, 10, 1), date(2025, 10, 7)),
    ],
)
def test_chinese_festivals_are_when_they_were(name: str, year: int, first: date, last: date) -> None:
    assert CHINESE[name](year) == Days(first, last)


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("thanksgiving", date(2024, 11, 28)),
        ("black friday", date(2024, 11, 29)),
        ("easter", date(2024, 3, 31)),
        ("labor day", date(2024, 9, 2)),
        ("memorial day", date(2024, 5, 27)),
    ],
)
def test_american_holidays_are_when_they_were(name: str, day: date) -> None:
    assert ENGLISH[name](2024) == Days(day, day)


def test_a_year_without_a_lunar_calendar_is_an_error() -> None:
    with pytest.raises(ValueError, match="1700"):
        CHINESE["春节"](1700)


@pytest.mark.parametrize("festivals", [CHINESE, ENGLISH], ids=["Chinese", "English"])
def test_every_festival_is_once_a_year(festivals: dict[str, object]) -> None:
    for name in festivals:
        days = (CHINESE | ENGLISH)[name](2025)
        assert days.first <= days.last
        assert days.first.year == 2025
