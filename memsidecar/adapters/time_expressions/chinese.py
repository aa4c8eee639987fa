"""Chinese, and the words that Japanese and Korean have for the same: 上周三, 去年国庆, 两个月前, 2024年3月初."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from re import Match

from memsidecar.adapters.time_expressions import chinese_amounts, chinese_years
from memsidecar.adapters.time_expressions.chinese_base import PARTS, SHIFT, YEAR, begins, once, rule, shift_of, year_of
from memsidecar.adapters.time_expressions.chinese_numbers import DIGITS, number
from memsidecar.adapters.time_expressions.hit import Cycle, Reading
from memsidecar.adapters.time_expressions.units import calendar_unit
from memsidecar.adapters.time_expressions.words import either
from memsidecar.domain.calendar_spans import (
    Days,
    month,
    one,
    shift_months,
    third,
    weekday,
    weekday_before,
    weekend,
)

_DAYS = {word: shift for shift, words in {
    -3: "大前天 大前日", -2: "前天 前日 前晚 一昨日 그저께", -1: "昨天 昨日 昨晚 昨夜 昨儿 昨夜 어제",
    0: "今天 今日 今早 今晨 今儿 当天 오늘", 1: "明天 明日 明早 明晚 明儿 내일", 2: "后天 后日 明后日 모레",
    3: "大后天",
}.items() for word in words.split()}  # fmt: skip
# 当今天下 and 天下大乱 are the world, 今天下午 and 今天下雨 are today. 春节前天气 is the weather, 前天气温 the day.
_NOT_A_DAY = (
    r"(?<!当今天(?=下))(?!下(?:大乱|大势|太平|无双|无敌|第一|归心|为公|苍生))"
    r"(?<![前后]天(?=气(?!温|压)))(?<!后天(?=性|养成))"
)
# What the neighbours say; a language of its own would add little.
_WHOLE = {"先周": ("week", -1), "今周": ("week", 0), "来周": ("week", 1), "先月": ("month", -1), "今月": ("month", 0),
          "来月": ("month", 1), "지난주": ("week", -1), "이번주": ("week", 0), "다음주": ("week", 1),
          "지난달": ("month", -1), "이번달": ("month", 0), "다음달": ("month", 1), "작년": ("year", -1),
          "올해": ("year", 0), "내년": ("year", 1)}  # fmt: skip
_DAY_OF_WEEK = {**dict(zip("一二三四五六日", range(7), strict=True)), "天": 6, "末": 7} | {
    str(number): number - 1 for number in range(1, 8)
}
# 3月中学 and 3月初中 are schools.
_PART = r"(?:份)?的?(?P<part>上旬|中旬|下旬|初(?!中)|中(?![秋午国学考])|底|末)?"
_MONTH = rf"(?<![{DIGITS}.第])(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月(?!球|亮|饼|薪|票|嫂)"
_DAY = (
    r"(?P<day>[0-9]{1,2}|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])"
    r"(?:日|号(?!楼|线(?!上|下)|店|门|机(?!场)|院))"
)
# 晚上周三 is no 上周三, 日本周三 no 本周三.
_NO_SHIFT = "(?:(?<![上下本])|(?<=[早晚马网路楼身以线桌]上)|(?<=[地楼乡以]下)|(?<=日本)(?<!今日本))"
# 周年 and 周岁 count years; 上周年会 is a meeting.
_NO_AGE = "(?!岁|年(?![会假底终货中]))"


def _part(days: Days, part: str | None) -> Days:
    return third(days, PARTS[part]) if part else days


def _day_word(match: Match[str], now: datetime) -> Reading | None:
    if not begins(match, "word"):
        return None
    return Reading(one(now.date() + timedelta(_DAYS[match["word"]])))


def _whole(match: Match[str], now: datetime) -> Reading:
    unit, shift = _WHOLE[match["word"]]
    return Reading(calendar_unit(now.date(), unit, shift))


def _week(match: Match[str], now: datetime) -> Reading:
    today, shift = now.date(), shift_of(match["dir"])
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
    shift = shift_of(match["dir"])
    if match["dir"] == "前":
        return None
    moved = shift_months(now.date(), shift)
    if match["day"]:
        return Reading(one(date(moved.year, moved.month, number(match["day"]))))
    return Reading(_part(month(moved.year, moved.month), match["part"]), vague=bool(match["part"]))


def _date(match: Match[str], now: datetime) -> Reading:
    year, today = year_of(match, now), now.date()
    which = number(match["month"])
    cycle = Cycle.YEAR if year is None else Cycle.NONE
    if match["day"]:
        day = number(match["day"])
        return Reading(once(lambda year: one(date(year, which, day)), year, today), cycle=cycle)
    days = once(lambda year: month(year, which), year, today)
    return Reading(_part(days, match["part"]), vague=bool(match["part"]), cycle=cycle)


def _days_of_month(match: Match[str], now: datetime) -> Reading:
    year, today = year_of(match, now), now.date()
    which, first, last = number(match["month"]), number(match["day"]), number(match["last"])
    days = once(lambda each: Days(date(each, which, first), date(each, which, last)), year, today)
    return Reading(days, cycle=Cycle.YEAR if year is None else Cycle.NONE)


def _quarter(match: Match[str], now: datetime) -> Reading:
    return Reading(calendar_unit(now.date(), "quarter", shift_of(match["dir"])))


def _weekend(match: Match[str], now: datetime) -> Reading:
    return Reading(weekend(now.date(), shift_of(match["dir"])))


RULES = (
    rule(rf"(?P<word>{either(_DAYS)}){_NOT_A_DAY}", _day_word),
    rule(rf"(?P<word>{either(_WHOLE)})", _whole),
    rule(rf"{SHIFT}(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末1-7](?![{DIGITS}]))?{_NO_AGE}", _week),
    rule(
        rf"(?<![{DIGITS}每几这双个]){_NO_SHIFT}(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末1-7])(?![{DIGITS}次]){_NO_AGE}"
        r"(?!都|常|经常|通常|一般|喜欢)",
        _weekday,
    ),
    rule(rf"{SHIFT}月(?:的)?(?:{_DAY}|{_PART})", _month_near),
    rule(rf"(?:{YEAR}的?)?{_MONTH}(?:{_DAY}|{_PART})", _date),
    rule(
        rf"(?:{YEAR}的?)?{_MONTH}(?P<day>[{DIGITS}]{{1,3}})[日号]?(?:到|至|-|~)(?P<last>[{DIGITS}]{{1,3}})[日号]",
        _days_of_month,
    ),
    rule(rf"{SHIFT}季度", _quarter),
    *chinese_years.RULES,
    *chinese_amounts.RULES,
)
