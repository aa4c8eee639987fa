"""So many days from now, in Chinese: 两个月前, 最近三天, 半小时前."""

from __future__ import annotations

from datetime import datetime
from re import Match

from memsidecar.adapters.time_expressions.amounts import COUPLE, FEW, Amount, away, rolling
from memsidecar.adapters.time_expressions.chinese_base import rule
from memsidecar.adapters.time_expressions.chinese_numbers import DIGITS, number
from memsidecar.adapters.time_expressions.hit import Reading

_UNITS = {"天": "day", "日": "day", "晚": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month",
          "季度": "quarter", "年": "year", "小时": "hour", "钟头": "hour", "分钟": "minute"}  # fmt: skip
_ONES = "一二三四五六七八九"
_AMOUNT = rf"(?P<n>半|十?[几数]十?|[{DIGITS}]+)(?:多|来)?个?(?P<half>半)?"
# 2020年以前 is before that year and 五月之前 before that month; 两千年前 and 五个月前 are amounts.
_NO_DATE = (
    rf"(?<![{DIGITS}])(?!(?:(?:19|20|21)[0-9]{{2}}|[一二][零〇九][零〇一二三四五六七八九]{{2}})年"
    r"|(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月[以之])"
)
_SPAN = r"(?P<unit>天|日|周(?!年|岁)|星期|礼拜|月|季度|年|小时|钟头|分钟|晚)(?P<half2>半)?"


def _amount(match: Match[str]) -> Amount:
    amount = _number(match["n"])
    half = match["half"] or match["half2"]
    return amount + 0.5 if half and not isinstance(amount, tuple) else amount


def _number(words: str) -> Amount:
    if any(few in words for few in "几数"):
        return FEW
    words = words.replace("两", "二")
    if len(words) == 2 and (low := _ONES.find(words[0])) >= 0 and words[1] in _ONES[low + 1 : low + 2]:
        return low + 2, low + 1  # 两三 is two or three
    return 0.5 if words == "半" else number(words)


def _away(match: Match[str], now: datetime) -> Reading | None:
    return away(now, _amount(match), _UNITS[match["unit"]], -1 if match["side"] == "前" else 1)


def _lately(match: Match[str], now: datetime) -> Reading | None:
    return away(now, COUPLE if match["n"] == "两" else FEW, _UNITS[match["unit"]], -1)


def _rolling(match: Match[str], now: datetime) -> Reading:
    direction = 1 if match["dir"] in ("未来", "接下来", "今后", "往后") else -1
    return rolling(now, _amount(match), _UNITS[match["unit"]], direction)


RULES = (
    rule(r"(?<![以之提])前(?P<n>[两几些])个?(?P<unit>天|日|周|星期|礼拜|月)(?!前|后(?!来))", _lately, "前"),
    rule(rf"{_NO_DATE}{_AMOUNT}{_SPAN}(?:以|之)?(?P<side>前|后)(?![台端悔]|面(?!试|谈|签))", _away, "前后"),
    rule(rf"(?P<dir>最近|过去|近|这|未来|接下来|今后|往后)的?这?{_AMOUNT}{_SPAN}", _rolling, "近去这来后"),
)
