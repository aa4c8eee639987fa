"""Years in Chinese, what they have in them, and the decades: 去年夏天到冬天, 下半年, 去年的今天, 九十年代."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from re import Match

from memsidecar.adapters.time_expressions.chinese_base import (
    PARTS,
    SHIFT,
    YEAR,
    once,
    rule,
    shift_of,
    starting,
    year_of,
)
from memsidecar.adapters.time_expressions.chinese_numbers import number
from memsidecar.adapters.time_expressions.festivals import CHINESE
from memsidecar.adapters.time_expressions.hit import Cycle, Reading, latest
from memsidecar.adapters.time_expressions.units import same_day
from memsidecar.adapters.time_expressions.words import either
from memsidecar.domain.calendar_spans import (
    AUTUMN,
    SPRING,
    SUMMER,
    WINTER,
    Days,
    half,
    month,
    quarter,
    season,
    shift_months,
    third,
    whole_year,
    years,
)

_SEASONS = {"春": SPRING, "夏": SUMMER, "秋": AUTUMN, "冬": WINTER}
_DECADES = {word: 10 * (number(word[0])) for word in ("二十", "三十", "四十", "五十", "六十", "七十", "八十", "九十")}
_CENTURIES = {"十八": 1700, "18": 1700, "十九": 1800, "19": 1800, "二十一": 2000, "21": 2000, "本": 2000}


def _part_of_year(match: Match[str], now: datetime) -> Reading | None:
    year = year_of(match, now) or now.year
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
        return Reading(_latest_part(today, PARTS[edge]), vague=True)
    days = {"初": lambda year: quarter(year, 1), "中": lambda year: Days(date(year, 5, 1), date(year, 8, 31))}.get(
        edge, lambda year: quarter(year, 4)
    )
    return Reading(latest(days, today), vague=True)


def _latest_part(today: date, part: int) -> Days:
    days = third(month(today.year, today.month), part)
    if days.first <= today:
        return days
    before = shift_months(today, -1)
    return third(month(before.year, before.month), part)


def _season(match: Match[str], now: datetime) -> Reading | None:
    today, first = now.date(), _SEASONS[match["season"]]
    year, direction = year_of(match, now), match["dir"]
    if year is None and direction is None:
        return None
    days = once(lambda each: season(each, first), year, today)
    if direction is not None:
        shift = shift_of(direction)
        if shift < 0 and days.last >= today:
            days = season(days.first.year - 1, first)
        elif shift == 0 and days.last < today:
            days = season(today.year, first)
        elif shift > 0:
            days = season(days.first.year + 1, first)
    if match["until"]:
        until = _SEASONS[match["until"]]
        days = Days(days.first, season(days.first.year + (until <= first), until).last)
    return Reading(days, vague=True, slack=21)


def _festival(match: Match[str], now: datetime) -> Reading:
    year, festival = year_of(match, now), CHINESE[match["festival"]]
    return Reading(once(festival, year, now.date()), slack=3, cycle=Cycle.YEAR if year is None else Cycle.NONE)


def _same_day(match: Match[str], now: datetime) -> Reading:
    year = year_of(match, now)
    unit = "year" if year is not None else "month" if match["unit"] == "月" else "week"
    shift = year - now.year if year is not None else shift_of(match["dir"])
    other = {"昨": -1, "明": 1}.get((match["day"] or "今")[0], 0)
    return same_day(now.date() + timedelta(other), unit, shift, about=match["time"] is not None)


def _decade(match: Match[str], now: datetime) -> Reading | None:
    if match["year"]:
        first = int(match["year"])
    else:
        tens = _DECADES.get(match["tens"]) or int(match["tens"])
        century = match["century"]
        # The twenties could be those of either century.
        if century is None and tens < 30:
            return None
        first = _CENTURIES.get(century or "", 1900) + tens
    days = years(first, first + 9)
    return Reading(third(days, PARTS[match["part"]]) if match["part"] else days, vague=match["part"] is not None)


_QUARTER = r"第?(?P<quarter>[一二三四1-4])个?季度"

RULES = (
    rule(
        rf"{YEAR}(?:的?(?:(?P<half>[上下])半年|{_QUARTER}|年?(?P<edge>初(?![一二三中])|[底末尾]|中(?![秋午国学考]))))?",
        _part_of_year,
    ),
    rule(
        rf"(?P<named>(?!))?(?P<year>(?!))?(?P<edge>(?!))?(?:(?<!前)(?P<half>[上下])半年|{_QUARTER})",
        _part_of_year,
        "半季",
    ),
    rule(r"(?<![\d半周去今明前后一二两三四五六七八九十])(?P<of>[月年])(?P<edge>[初底末])(?!一|二|三)", _edge, "初底末"),
    rule(
        rf"(?:{YEAR}的?|(?P<dir>{starting('上')}|这|{starting('下')}|本)个?)(?P<season>[春夏秋冬])[天季日]?"
        r"(?:(?:到|至|-|~|—)(?P<until>[春夏秋冬])(?![分至节])[天季日]?)?",
        _season,
        "春夏秋冬",
    ),
    rule(rf"(?<!每年)(?<!每个)(?<!每逢)(?:{YEAR}的?)?(?P<festival>{either(CHINESE)})", _festival),
    rule(
        rf"(?:{YEAR}|{SHIFT}(?P<unit>月|周|星期|礼拜))的?"
        r"(?:(?P<day>[今昨明][天日])|这一?天|同一?[天日](?!本)|(?P<time>这个?时候?|此时|同期|同一?时间))",
        _same_day,
        "天日时期",
    ),
    rule(
        rf"(?:(?P<year>(?<![0-9])(?:1[5-9]|20)[0-9]0)|(?:(?P<century>上个?|本|十八|十九|二十一?|18|19|2[01])世纪)?"
        rf"(?<![0-9])(?P<tens>[1-9]0|{either(_DECADES)}))年代(?:(?P<part>[初中末])期?)?",
        _decade,
        "代",
    ),
)
