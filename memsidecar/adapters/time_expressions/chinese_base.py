"""What the rules for Chinese have in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from re import Match

from memsidecar.adapters.time_expressions.chinese_numbers import number
from memsidecar.adapters.time_expressions.hit import Reading, Rule, latest
from memsidecar.adapters.time_expressions.words import either
from memsidecar.domain.calendar_spans import EARLY, LATE, MIDDLE, Days

_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "上一年": -1, "上年": -1, "今年": 0, "本年": 0, "这一年": 0, "明年": 1,
          "来年": 1, "下一年": 1, "后年": 2}  # fmt: skip
PARTS = {"初": EARLY, "上旬": EARLY, "月初": EARLY, "中旬": MIDDLE, "中": MIDDLE, "下旬": LATE, "底": LATE, "末": LATE}
# With these before it, the first character ends another word: 以前|天气, 说明|天气, 过去|年轻人, 晚上|周三.
_ENDS = {"前": "以之目日当眼先空从", "后": "以之然最今此饭", "明": "光说证聪文声表发申", "当": "应每", "去": "过",
         "来": "近", "上": "早晚马网路楼身以线桌", "下": "地楼乡以", "本": "课书剧"}  # fmt: skip


def starting(word: str, more: str = "") -> str:
    """A pattern for the word where its first character begins one."""
    ends = _ENDS.get(word[0])
    return word + more if ends is None else f"{word}(?<![{ends}]{word}){more}"


def begins(match: Match[str], group: str) -> bool:
    """Whether the group's first character begins a word."""
    at = match.start(group)
    return at == 0 or match.string[at - 1] not in _ENDS.get(match.string[at], "")


# 日本周三 is Japan, 今日本周 is not.
_THIS = starting("本") + "(?<!(?<![今明昨每当生])日本)"
SHIFT = (
    rf"(?P<dir>{starting('上', '上{0,2}')}|{starting('下', '下{0,2}')}|这一?|{_THIS}|前(?<![以目]前)|{starting('当')})"
    r"(?:一?个)?"
)
YEAR = (
    rf"(?:(?P<named>{either(_YEARS)}(?<!上年(?=纪)))"
    r"|(?P<year>(?<![0-9])[0-9]{4}|[零〇一二三四五六七八九]{4}|(?<![0-9])[0-9]{2}(?=年[0-9一二三四五六七八九十]))年)"
)


def rule(pattern: str, read: Callable[[Match[str], datetime], Reading | None], needs: str = "") -> Rule:
    """`needs`: one of these characters must be in the text; empty is no condition."""
    return Rule(re.compile(pattern), read, frozenset(needs))


def shift_of(words: str) -> int:
    if words == "前":
        return -1
    return {"上": -1, "下": 1}.get(words[0], 0) * len(words)


def year_of(match: Match[str], now: datetime) -> int | None:
    """Raises ValueError where the words are parts of others: 过|去年."""
    if match["named"]:
        if not begins(match, "named"):
            raise ValueError(match["named"])
        return now.year + _YEARS[match["named"]]
    if match["year"]:
        year = number(match["year"])
        return year + (2000 if year < 70 else 1900) if len(match["year"]) == 2 else year
    return None


def once(days: Callable[[int], Days], year: int | None, today: date) -> Days:
    return latest(days, today) if year is None else days(year)
