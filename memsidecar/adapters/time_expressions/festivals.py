"""When festivals are. The lunar ones are the holidays library's, Easter is dateutil's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache

from memsidecar.domain.calendar_spans import Days, nth_weekday, one

Festival = Callable[[int], Days]


@lru_cache(maxsize=512)
def _lunar_date(name: str, year: int) -> date:
    """Raises ValueError for years the library does not know (before 1901, after 2100)."""
    # The first import takes a tenth of a second of CPU, which `load` spends before anybody asks.
    from holidays.calendars.chinese import _ChineseLunisolar

    found: date | None = getattr(_ChineseLunisolar(), f"{name}_date")(year)[0]
    if found is None:
        raise ValueError(year)
    return found


@lru_cache(maxsize=512)
def _easter(year: int) -> date:
    from dateutil.easter import easter

    found: date = easter(year)
    return found


def load() -> None:
    """Loads what the festivals need; afterwards each takes microseconds."""
    _lunar_date("lunar_new_year", 2000)
    _easter(2000)


def _lunar(name: str, length: int = 1, shift: int = 0) -> Festival:
    def days(year: int) -> Days:
        first = _lunar_date(name, year) + timedelta(shift)
        return Days(first, first + timedelta(length - 1))

    return days


def _fixed(month: int, day: int, length: int = 1) -> Festival:
    def days(year: int) -> Days:
        first = date(year, month, day)
        return Days(first, first + timedelta(length - 1))

    return days


def _nth(month: int, weekday: int, nth: int, shift: int = 0, length: int = 1) -> Festival:
    def days(year: int) -> Days:
        first = nth_weekday(year, month, weekday, nth) + timedelta(shift)
        return Days(first, first + timedelta(length - 1))

    return days


def _around_easter(shift: int, length: int = 1) -> Festival:
    def days(year: int) -> Days:
        first = _easter(year) + timedelta(shift)
        return Days(first, first + timedelta(length - 1))

    return days


def _lunar_eve(year: int) -> Days:
    return one(_lunar_date("lunar_new_year", year) - timedelta(1))


# The Chinese ones that are holidays last as long as the holiday usually does.
CHINESE: dict[str, Festival] = {}
for _names, _festival in (
    ("国庆节 国庆 十一黄金周 十一假期 十一长假", _fixed(10, 1, 7)),
    ("春节 过年 大年 农历新年 农历年", _lunar("lunar_new_year", 7)),
    ("大年初一 年初一", _lunar("lunar_new_year")),
    ("除夕 大年三十 年三十 年夜", _lunar_eve),
    ("元宵节 元宵", _lunar("lunar_new_year", shift=14)),
    ("清明节 清明", _lunar("qingming")),
    ("端午节 端午", _lunar("dragon_boat")),
    ("中秋节 中秋", _lunar("mid_autumn")),
    ("重阳节 重阳", _lunar("double_ninth")),
    ("冬至", _lunar("winter_solstice")),
    ("五一劳动节 劳动节 五一", _fixed(5, 1, 5)),
    ("元旦节 元旦", _fixed(1, 1)),
    ("情人节", _fixed(2, 14)),
    ("妇女节 三八节", _fixed(3, 8)),
    ("愚人节", _fixed(4, 1)),
    ("青年节", _fixed(5, 4)),
    ("儿童节", _fixed(6, 1)),
    ("教师节", _fixed(9, 10)),
    ("母亲节", _nth(5, 6, 2)),
    ("父亲节", _nth(6, 6, 3)),
    ("万圣节", _fixed(10, 31)),
    ("双十一 双11", _fixed(11, 11)),
    ("双十二 双12", _fixed(12, 12)),
    ("感恩节", _nth(11, 3, 4)),
    ("平安夜", _fixed(12, 24)),
    ("圣诞节 圣诞", _fixed(12, 25)),
    ("跨年", _fixed(12, 31)),
    ("复活节", _around_easter(0)),
    ("暑假", _fixed(7, 1, 62)),
    ("寒假", _fixed(1, 15, 36)),
):
    CHINESE |= dict.fromkeys(_names.split(), _festival)

ENGLISH: dict[str, Festival] = {
    "new year's eve": _fixed(12, 31),
    "new year's day": _fixed(1, 1),
    "new year's": _fixed(1, 1),
    "new year": _fixed(1, 1),
    "valentine's day": _fixed(2, 14),
    "st patrick's day": _fixed(3, 17),
    "st. patrick's day": _fixed(3, 17),
    "martin luther king day": _nth(1, 0, 3),
    "mlk day": _nth(1, 0, 3),
    "presidents' day": _nth(2, 0, 3),
    "good friday": _around_easter(-2),
    "easter sunday": _around_easter(0),
    "easter monday": _around_easter(1),
    "easter weekend": _around_easter(-2, 4),
    "easter": _around_easter(0),
    "mother's day": _nth(5, 6, 2),
    "father's day": _nth(6, 6, 3),
    "memorial day": _nth(5, 0, -1),
    "juneteenth": _fixed(6, 19),
    "independence day": _fixed(7, 4),
    "fourth of july": _fixed(7, 4),
    "labor day": _nth(9, 0, 1),
    "labour day": _nth(9, 0, 1),
    "columbus day": _nth(10, 0, 2),
    "halloween": _fixed(10, 31),
    "veterans day": _fixed(11, 11),
    "thanksgiving day": _nth(11, 3, 4),
    "thanksgiving": _nth(11, 3, 4),
    "black friday": _nth(11, 3, 4, shift=1),
    "cyber monday": _nth(11, 3, 4, shift=4),
    "christmas eve": _fixed(12, 24),
    "christmas day": _fixed(12, 25),
    "christmas": _fixed(12, 25),
    "xmas": _fixed(12, 25),
    "boxing day": _fixed(12, 26),
    "chinese new year": _lunar("lunar_new_year", 7),
    "lunar new year": _lunar("lunar_new_year", 7),
    "spring festival": _lunar("lunar_new_year", 7),
    "dragon boat festival": _lunar("dragon_boat"),
    "mid-autumn festival": _lunar("mid_autumn"),
    "national day": _fixed(10, 1),
    "golden week": _fixed(10, 1, 7),
}
