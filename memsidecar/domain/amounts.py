"""Amounts as people write them, made comparable: "1,200", "78 percent", "1.2k", "24:10", "March 3", 78%, 三月三日."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from memsidecar.domain.text import nfkc

MAX_CHARS = 80
"""What is longer is not an amount."""

COUNT = "count"
"""The dimension of a number without a unit of measure."""


@dataclass(frozen=True, slots=True)
class Amount:
    """`size` in the basic unit of the `dimension`: seconds, %, bytes, metres, grams, a currency's sign, days of a year
    for dates, seconds for clock times, pieces for a count. `of` is the whole of a part ("8/10" is 8 of 10)."""

    dimension: str
    size: float
    of: float = 0.0

    def equals(self, other: Amount) -> bool:
        """Whether both are the same amount, whatever their units."""
        return (self.dimension, self.of) == (other.dimension, other.of) and math.isclose(self.size, other.size)


_UNITS: dict[str, tuple[str, float]] = {}


def _unit(dimension: str, size: float, names: str) -> None:
    _UNITS.update(dict.fromkeys(names.split(), (dimension, size)))


_unit("%", 1, "% ％ percent pct")
_unit("s", 0.001, "ms millisecond milliseconds msec 毫秒")
_unit("s", 1, "s sec secs second seconds 秒 秒钟")
_unit("s", 60, "min mins minute minutes 分钟 分")
_unit("s", 3600, "h hr hrs hour hours 小时 个小时 钟头")
_unit("s", 86400, "day days 天 日")
_unit("s", 604800, "week weeks 周 个星期 星期")
_unit("s", 2629800, "month months 个月")
_unit("s", 31557600, "year years yr yrs 年")
_unit("byte", 1, "byte bytes b")
_unit("byte", 1e3, "kb")
_unit("byte", 1e6, "mb")
_unit("byte", 1e9, "gb")
_unit("byte", 1e12, "tb")
_unit("m", 0.001, "mm 毫米")
_unit("m", 0.01, "cm 厘米")
_unit("m", 1, "m meter meters metre metres 米")
_unit("m", 1000, "km kilometer kilometers kilometre kilometres 公里 千米")
_unit("m", 1609.344, "mile miles mi")
_unit("g", 1, "g gram grams 克")
_unit("g", 1000, "kg kilo kilos kilogram kilograms 公斤 千克")
_unit("g", 500, "斤")
_unit("g", 453.59, "lb lbs pound pounds")
_unit("px", 1, "px pixel pixels")
_unit("$", 1, "$ dollar dollars usd 美元")
_unit("€", 1, "€ euro euros eur 欧元")
_unit("£", 1, "£ gbp")
_unit("¥", 1, "¥ ￥ yuan rmb cny 元 块 块钱")
_unit("age", 1, "岁")

_SCALE = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "billion": 1e9, "hundred": 1e2, "dozen": 12.0}
_SCALE |= {"十": 10, "百": 100, "千": 1000, "万": 1e4, "亿": 1e8}
_ONES = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_WORDS = {word: float(i + 1) for i, word in enumerate(_ONES.split())}
_WORDS |= {
    word: 20.0 + 10 * i for i, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split())
}
_HAN_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_NUMBER = re.compile("[零〇一二两三四五六七八九十百千]{1,9}")
_MONTHS = {name: i + 1 for i, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split())}
_WEEKDAYS = {name: i + 1 for i, name in enumerate("mon tue wed thu fri sat sun".split())}

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATE = re.compile(
    rf"(?P<month>{MONTH})\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s(?P<year>\d{{4}}))?"
    rf"|(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?:\sof)?\s(?P<month2>{MONTH})(?:,?\s(?P<year2>\d{{4}}))?"
    r"|(?P<year3>\d{4})[-/](?P<month3>\d{1,2})[-/](?P<day3>\d{1,2})"
    r"|(?:(?P<year4>\d{4})年)?(?P<month4>\d{1,2}|[一二三四五六七八九十]{1,2})月(?P<day4>\d{1,2}|[一二三四五六七八九十]{1,3})[日号]?",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(r"(?:next |this )?(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?", re.IGNORECASE)
_CLOCK = re.compile(
    r"(\d{1,2}):(\d\d)(?::(\d\d))?\s?(a\.?m\.?|p\.?m\.?)?|(\d{1,2})\s?(a\.?m\.?|p\.?m\.?)|(\d{1,2})点(半|\d{1,2}分?)?",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?P<sign>[$€£¥￥])?\s?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:\s?(?:/|out of|of)\s?(?P<of>\d+(?:\.\d+)?))?"
    r"(?:\s?(?P<scale>k|m|million|billion|thousand|hundred|dozen|百|千|万|亿)(?![a-z]))?"
    r"(?:[\s-]?(?P<unit>%|％|[a-z]{1,12}|[\u4e00-\u9fff]{1,3}))?",
    re.IGNORECASE,
)


def amount_of(text: str) -> Amount | None:
    """The amount that a value states, or None: of "about 78%" 78 %, of "1,200 calls" 1200 pieces, of "blue" none."""
    if len(text) > MAX_CHARS:
        return None
    text = nfkc(text).strip().lower()
    if date := _DATE.search(text):
        return _date(date.groupdict())
    if (weekday := _WEEKDAY.fullmatch(text)) is not None:
        return Amount("weekday", _WEEKDAYS[weekday.group(1)[:3]])
    if clock := _CLOCK.search(text):
        return _clock(clock)
    if number := _NUMBER.search(text):
        return _number(number)
    if (han := _HAN_NUMBER.search(text)) is not None:
        rest = text[han.end() :].lstrip("个")
        return _with_unit(_from_han(han.group()), rest, 0.0)
    first, _, rest = text.partition(" ")
    size = _WORDS.get(first)
    return _with_unit(size, rest.split(" ")[0], 0.0) if size is not None else None


def _date(parts: dict[str, str | None]) -> Amount | None:
    for n in ("", "2", "3", "4"):
        month, day = parts[f"month{n}"], parts[f"day{n}"]
        if month and day:
            months = _MONTHS.get(month[:3]) or _whole(month)
            return Amount("date", months * 31 + _whole(day))
    return None


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else int(_from_han(text))


def _clock(match: re.Match[str]) -> Amount:
    hours, minutes, seconds, half, hours2, half2, hours3, rest3 = match.groups()
    if hours2 is not None:
        return Amount("clock", 3600 * (int(hours2) % 12 + 12 * (half2[0] == "p")))
    if hours3 is not None:
        digits = "".join(c for c in rest3 or "" if c.isdigit())
        return Amount("clock", 3600 * int(hours3) + 60 * (30 if rest3 == "半" else int(digits or 0)))
    size = 3600 * int(hours) + 60 * int(minutes) + int(seconds or 0)
    if half is not None:
        size = 3600 * (int(hours) % 12 + 12 * (half[0] == "p")) + 60 * int(minutes)
    return Amount("clock", size)


def _number(match: re.Match[str]) -> Amount:
    size = float(match["number"].replace(",", ""))
    scale, unit = match["scale"], match["unit"] or ""
    if scale == "m" and match["sign"] is None:
        unit, scale = "m", None
    if scale is not None:
        size *= _SCALE[scale]
    whole = float(match["of"]) if match["of"] else 0.0
    if match["sign"]:
        return Amount(_UNITS[match["sign"]][0], size)
    return _with_unit(size, unit, whole)


def _with_unit(size: float, unit: str, whole: float) -> Amount:
    for length in range(len(unit), 0, -1):
        if (known := _UNITS.get(unit[:length])) is not None and (length == len(unit) or not unit.isascii()):
            return Amount(known[0], size * known[1])
    return Amount(COUNT, size, whole)


def _from_han(text: str) -> float:
    total, digit = 0.0, 0.0
    for character in text:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        else:
            total += (digit or 1) * _SCALE[character]
            digit = 0.0
    return total + digit
