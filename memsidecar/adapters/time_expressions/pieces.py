"""The first week of May, 五月最后一天, the second Monday of last month."""

from __future__ import annotations

import re
from datetime import timedelta

from memsidecar.adapters.time_expressions.chinese_numbers import number
from memsidecar.adapters.time_expressions.hit import Reading
from memsidecar.adapters.time_expressions.words import WEEKDAYS, either
from memsidecar.domain.calendar_spans import Days, month, one, shift_months, weekday_after, weekday_before

_NTH = {word: nth for nth, words in enumerate(
    ("first 1st", "second 2nd", "third 3rd", "fourth 4th", "fifth 5th"), 1) for word in words.split()}  # fmt: skip
_LAST = -1
ENGLISH = re.compile(
    rf"\b(?:the )?(?:(?P<nth>{either(_NTH)}) (?P<unit>day|week|weekend|month|{either(WEEKDAYS)}) (?:of|in)"
    rf"|(?:last|final) (?P<last>day|week|weekend|month|{either(WEEKDAYS)}) of)(?: the)? $"
)
# "第一周三" would be a Wednesday of the first week; with 个 the first Wednesday.
CHINESE = re.compile(
    r"的?(?:第(?P<nth>[一二三四五1-5])|(?P<first>首)|最后一?)"
    r"(?:(?P<unit>天|周末?|星期|礼拜)|个(?P<one>月|周末|(?:周|星期|礼拜)(?P<day>[一二三四五六日天])?))"
)


def english_piece(match: re.Match[str], whole: Days) -> Reading | None:
    return _piece(whole, _NTH[match["nth"]] if match["nth"] else _LAST, match["unit"] or match["last"])


def chinese_piece(match: re.Match[str], whole: Days) -> Reading | None:
    nth = 1 if match["first"] else number(match["nth"]) if match["nth"] else _LAST
    words = match["unit"] or match["one"]
    if match["day"]:
        return _piece(whole, nth, tuple(WEEKDAYS)["一二三四五六日".find(match["day"].replace("天", "日"))])
    return _piece(whole, nth, {"天": "day", "周末": "weekend", "月": "month"}.get(words, "week"))


def _piece(whole: Days, nth: int, unit: str) -> Reading | None:
    """Weeks are counted from the first day: the second week of a month is its days 8 to 14."""
    if unit == "day":
        days = _stretch(whole, nth, 1)
    elif unit == "week":
        days = _stretch(whole, nth, 7)
    elif unit == "month":
        moved = whole.last if nth == _LAST else shift_months(whole.first, nth - 1)
        days = month(moved.year, moved.month)
    elif unit == "weekend":
        saturday = _weekday(whole, nth, 5)
        days = Days(saturday.first, saturday.first + timedelta(1))
    else:
        days = _weekday(whole, nth, WEEKDAYS[unit])
    if days.first < whole.first or days.first > whole.last or (days.last - days.first) >= whole.last - whole.first:
        return None
    return Reading(Days(days.first, min(days.last, whole.last)) if unit == "week" else days,
                   vague=unit == "week", slack=3 if unit == "week" else 0)  # fmt: skip


def _stretch(whole: Days, nth: int, length: int) -> Days:
    first = whole.last - timedelta(length - 1) if nth == _LAST else whole.first + timedelta(length * (nth - 1))
    return Days(first, first + timedelta(length - 1))


def _weekday(whole: Days, nth: int, weekday: int) -> Days:
    if nth == _LAST:
        return one(weekday_before(whole.last, weekday, or_same=True))
    return one(weekday_after(whole.first, weekday) + timedelta(7 * (nth - 1 - (whole.first.weekday() == weekday))))
