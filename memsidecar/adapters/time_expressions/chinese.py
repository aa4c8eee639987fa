"""Chinese, and the words that Japanese and Korean have for the same: 上周三, 去年国庆, 两个月前, 2024年3月初."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from re import Match

from memsidecar.adapters.time_expressions.amounts import COUPLE, FEW, Amount, away, rolling
from memsidecar.adapters.time_expressions.chinese_numbers import DIGITS, number
from memsidecar.adapters.time_expressions.festivals import CHINESE
from memsidecar.adapters.time_expressions.hit import Cycle, Reading, Rule, latest
from memsidecar.adapters.time_expressions.units import calendar_unit
from memsidecar.adapters.time_expressions.words import either
from memsidecar.domain.calendar_spans import (
    AUTUMN,
    EARLY,
    LATE,
    MIDDLE,
    SPRING,
    SUMMER,
    WINTER,
    Days,
    half,
    month,
    one,
    quarter,
    season,
    shift_months,
    third,
    weekday,
    weekday_before,
    weekend,
    whole_year,
)

_DAYS = {word: shift for shift, words in {
    -3: "大前天 大前日", -2: "前天 前日 前晚 一昨日 그저께", -1: "昨天 昨日 昨晚 昨夜 昨儿 昨夜 어제",
    0: "今天 今日 今早 今晨 今儿 当天 오늘", 1: "明天 明日 明早 明晚 明儿 내일", 2: "后天 后日 明后日 모레",
    3: "大后天",
}.items() for word in words.split()}  # fmt: skip
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "上一年": -1, "上年": -1, "今年": 0, "本年": 0, "这一年": 0, "明年": 1,
          "来年": 1, "下一年": 1, "后年": 2}  # fmt: skip
_UNITS = {"天": "day", "日": "day", "晚": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month",
          "季度": "quarter", "年": "year", "小时": "hour", "钟头": "hour", "分钟": "minute"}  # fmt: skip
# What the neighbours say; a language of its own would add little.
_WHOLE = {"先周": ("week", -1), "今周": ("week", 0), "来周": ("week", 1), "先月": ("month", -1), "今月": ("month", 0),
          "来月": ("month", 1), "지난주": ("week", -1), "이번주": ("week", 0), "다음주": ("week", 1),
          "지난달": ("month", -1), "이번달": ("month", 0), "다음달": ("month", 1), "작년": ("year", -1),
          "올해": ("year", 0), "내년": ("year", 1)}  # fmt: skip
_SEASONS = {"春": SPRING, "夏": SUMMER, "秋": AUTUMN, "冬": WINTER}
_PARTS = {"初": EARLY, "上旬": EARLY, "月初": EARLY, "中旬": MIDDLE, "中": MIDDLE, "下旬": LATE, "底": LATE, "末": LATE}
_DAY_OF_WEEK = {**dict(zip("一二三四五六日", range(7), strict=True)), "天": 6, "末": 7} | {
    str(number): number - 1 for number in range(1, 8)
}
_N = rf"[{DIGITS}]"
_SHIFT = r"(?P<dir>上{1,3}|下{1,3}|这一?|本|前|当)(?:一?个)?"
_YEAR = (
    rf"(?:(?P<named>{either(_YEARS)})"
    r"|(?P<year>(?<![0-9])[0-9]{4}|[零〇一二三四五六七八九]{4}|(?<![0-9])[0-9]{2}(?=年[0-9一二三四五六七八九十]))年)"
)
_PART = r"(?:份)?的?(?P<part>上旬|中旬|下旬|初|中(?!秋|午|国)|底|末)?"
_MONTH = rf"(?<![{DIGITS}.第])(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月(?!球|亮|饼|薪|票|嫂)"
_DAY = r"(?P<day>[0-9]{1,2}|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])[日号號](?!楼|线|店|门|机|院)"


def _rule(pattern: str, read: Callable[[Match[str], datetime], Reading | None]) -> Rule:
    return Rule(re.compile(pattern), read)


def _shift(words: str) -> int:
    if words in ("前",):
        return -1
    return {"上": -1, "下": 1}.get(words[0], 0) * len(words)


def _year(match: Match[str], now: datetime) -> int | None:
    if match["named"]:
        return now.year + _YEARS[match["named"]]
    if match["year"]:
        year = number(match["year"])
        return year + (2000 if year < 70 else 1900) if len(match["year"]) == 2 else year
    return None


def _once(days: Callable[[int], Days], year: int | None, today: date) -> Days:
    return latest(days, today) if year is None else days(year)


def _part(days: Days, part: str | None) -> Days:
    return third(days, _PARTS[part]) if part else days


def _day_word(match: Match[str], now: datetime) -> Reading:
    return Reading(one(now.date() + timedelta(_DAYS[match["word"]])))


def _whole(match: Match[str], now: datetime) -> Reading:
    unit, shift = _WHOLE[match["word"]]
    return Reading(calendar_unit(now.date(), unit, shift))


def _week(match: Match[str], now: datetime) -> Reading:
    today, shift = now.date(), _shift(match["dir"])
    if not match["weekday"]:
        return Reading(calendar_unit(today, "week", shift))
    number_of_day = _DAY_OF_WEEK[match["weekday"]]
    return Reading(weekend(today, shift) if number_of_day == 7 else one(weekday(today, number_of_day, shift)))


def _weekday(match: Match[str], now: datetime) -> Reading:
    today, number_of_day = now.date(), _DAY_OF_WEEK[match["weekday"]]
    if number_of_day == 7:
        days = weekend(today)
        return Reading(days if days.first <= today else weekend(today, -1), cycle=Cycle.WEEK)
    return Reading(one(weekday_before(today, number_of_day, or_same=True)), cycle=Cycle.WEEK)


def _month_near(match: Match[str], now: datetime) -> Reading | None:
    shift = _shift(match["dir"])
    if match["dir"] == "前":
        return None
    moved = shift_months(now.date(), shift)
    if match["day"]:
        return Reading(one(date(moved.year, moved.month, number(match["day"]))))
    return Reading(_part(month(moved.year, moved.month), match["part"]), vague=bool(match["part"]))


def _date(match: Match[str], now: datetime) -> Reading:
    year, today = _year(match, now), now.date()
    which = number(match["month"])
    cycle = Cycle.YEAR if year is None else Cycle.NONE
    if match["day"]:
        day = number(match["day"])
        return Reading(_once(lambda year: one(date(year, which, day)), year, today), cycle=cycle)
    days = _once(lambda year: month(year, which), year, today)
    return Reading(_part(days, match["part"]), vague=bool(match["part"]), cycle=cycle)


def _part_of_year(match: Match[str], now: datetime) -> Reading | None:
    year = _year(match, now) or now.year
    if match["half"]:
        return Reading(half(year, 1 if match["half"] == "上" else 2))
    if match["quarter"]:
        return Reading(quarter(year, number(match["quarter"])))
    days = whole_year(year)
    if match["edge"]:
        # The beginning and the end of a year are a quarter of it, the middle is between them.
        edges = {"初": quarter(year, 1), "底": quarter(year, 4), "末": quarter(year, 4), "尾": quarter(year, 4)}
        middle = Days(date(year, 5, 1), date(year, 8, 31))
        return Reading(edges.get(match["edge"], middle), vague=True)
    return Reading(days)


def _edge(match: Match[str], now: datetime) -> Reading:
    today, edge = now.date(), match["edge"]
    if match["of"] == "月":
        return Reading(latest_part(today, _PARTS[edge]), vague=True)
    days = {"初": lambda year: quarter(year, 1), "中": lambda year: Days(date(year, 5, 1), date(year, 8, 31))}.get(
        edge, lambda year: quarter(year, 4)
    )
    return Reading(latest(days, today), vague=True)


def latest_part(today: date, part: int) -> Days:
    days = third(month(today.year, today.month), part)
    if days.first <= today:
        return days
    before = shift_months(today, -1)
    return third(month(before.year, before.month), part)


def _season(match: Match[str], now: datetime) -> Reading | None:
    today, first = now.date(), _SEASONS[match["season"]]
    year, direction = _year(match, now), match["dir"]
    if year is None and direction is None:
        return None
    days = _once(lambda each: season(each, first), year, today)
    if direction is not None:
        shift = _shift(direction)
        if shift < 0 and days.last >= today:
            days = season(days.first.year - 1, first)
        elif shift == 0 and days.last < today:
            days = season(today.year, first)
        elif shift > 0:
            days = season(days.first.year + 1, first)
    return Reading(days, vague=True, slack=21)


def _festival(match: Match[str], now: datetime) -> Reading:
    year, festival = _year(match, now), CHINESE[match["festival"]]
    return Reading(_once(festival, year, now.date()), slack=3, cycle=Cycle.YEAR if year is None else Cycle.NONE)


_ONES = "一二三四五六七八九"


def _amount(words: str) -> Amount:
    if any(few in words for few in "几数"):
        return FEW
    words = words.replace("两", "二")
    if len(words) == 2 and (low := _ONES.find(words[0])) >= 0 and words[1] in _ONES[low + 1 : low + 2]:
        return low + 2, low + 1  # 两三 is two or three
    return 0.5 if words == "半" else number(words)


def _away(match: Match[str], now: datetime) -> Reading | None:
    amount, unit = _amount(match["n"]), _UNITS[match["unit"]]
    if match["half"] and not isinstance(amount, tuple):
        amount += 0.5
    return away(now, amount, unit, -1 if match["side"] == "前" else 1)


def _lately(match: Match[str], now: datetime) -> Reading | None:
    return away(now, COUPLE if match["n"] == "两" else FEW, _UNITS[match["unit"]], -1)


def _days_of_month(match: Match[str], now: datetime) -> Reading:
    year, today = _year(match, now), now.date()
    which, first, last = number(match["month"]), number(match["day"]), number(match["last"])
    days = _once(lambda each: Days(date(each, which, first), date(each, which, last)), year, today)
    return Reading(days, cycle=Cycle.YEAR if year is None else Cycle.NONE)


def _rolling(match: Match[str], now: datetime) -> Reading:
    amount = _amount(match["n"])
    direction = 1 if match["dir"] in ("未来", "接下来", "今后", "往后") else -1
    return rolling(now, amount, _UNITS[match["unit"]], direction)


def _quarter(match: Match[str], now: datetime) -> Reading:
    return Reading(calendar_unit(now.date(), "quarter", _shift(match["dir"])))


def _weekend(match: Match[str], now: datetime) -> Reading:
    return Reading(weekend(now.date(), _shift(match["dir"])))


_AMOUNT = rf"(?P<n>半|十?[几数]十?|{_N}+)(?:多|来)?个?(?P<half>半)?"
# 2020年以前 is before that year and 五月之前 before that month; 两千年前 and 五个月前 are amounts.
_NO_DATE = (
    rf"(?<![{DIGITS}])(?!(?:(?:19|20|21)[0-9]{{2}}|[一二][零〇九][零〇一二三四五六七八九]{{2}})年"
    r"|(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月[以之])"
)
_SPAN = r"(?P<unit>天|日|周|星期|礼拜|月|季度|年|小时|钟头|分钟|晚)(?P<half2>半)?"

RULES = (
    _rule(rf"(?P<word>{either(_DAYS)})(?!下)", _day_word),
    _rule(rf"(?P<word>{either(_WHOLE)})", _whole),
    _rule(rf"{_SHIFT}(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末1-7](?![{DIGITS}]))?(?!年|岁)", _week),
    _rule(
        rf"(?<![{DIGITS}每几上下这本双个])(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末1-7])(?![{DIGITS}年岁次])"
        r"(?!都|常|经常|通常|一般|喜欢)",
        _weekday,
    ),
    _rule(rf"{_SHIFT}月(?:的)?(?:{_DAY}|{_PART})", _month_near),
    _rule(rf"(?:{_YEAR}的?)?{_MONTH}(?:{_DAY}|{_PART})", _date),
    _rule(
        rf"(?:{_YEAR}的?)?{_MONTH}(?P<day>{_N}{{1,3}})[日号]?(?:到|至|-|~)(?P<last>{_N}{{1,3}})[日号]", _days_of_month
    ),
    _rule(r"(?<![以之提])前(?P<n>[两几些])个?(?P<unit>天|日|周|星期|礼拜|月)(?![前后])", _lately),
    _rule(
        rf"{_YEAR}(?:的?(?:(?P<half>[上下])半年|第?(?P<quarter>[一二三四1-4])个?季度|年?(?P<edge>[初底末尾]|中(?![秋午国]))))?",
        _part_of_year,
    ),
    _rule(
        r"(?P<named>(?!))?(?P<year>(?!))?(?P<edge>(?!))?(?:(?<!前)(?P<half>[上下])半年|第?(?P<quarter>[一二三四1-4])个?季度)",
        _part_of_year,
    ),
    _rule(r"(?<![\d半周去今明前后一二两三四五六七八九十])(?P<of>[月年])(?P<edge>[初底末])(?!一|二|三)", _edge),
    _rule(rf"{_SHIFT}季度", _quarter),
    _rule(rf"(?:{_YEAR}的?|(?P<dir>上|这|下|本)个?)(?P<season>[春夏秋冬])[天季日]?", _season),
    _rule(rf"(?<!每年)(?<!每个)(?<!每逢)(?:{_YEAR}的?)?(?P<festival>{either(CHINESE)})", _festival),
    _rule(rf"{_NO_DATE}{_AMOUNT}{_SPAN}(?:以|之)?(?P<side>前|后)(?![台端面悔])", _away),
    _rule(rf"(?P<dir>最近|过去|近|这|未来|接下来|今后|往后)的?这?{_AMOUNT}{_SPAN}", _rolling),
)
