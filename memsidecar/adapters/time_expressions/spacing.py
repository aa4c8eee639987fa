"""Spaces that say nothing: two for one, and those that Chinese may have between its words and around digits."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from memsidecar.adapters.time_expressions.chinese_numbers import DIGITS

_SPACES = re.compile(r"(?<=[^\x00-\xff]) +| +(?=[^\x00-\xff])|  +")
_NUMERALS = DIGITS.removeprefix("0-9")
_WEEK, _MEASURES = "周期拜", "个天位件条场名次人年月点小倍十百千万"
_AFTER_DIGITS, _BEFORE_DIGITS = "年月日号天周星礼个小钟分秒季世", "年月第近去来这自从前后"
_KOREAN = ("지난", "이번", "다음")


def _is_one_word(before: str, after: str) -> bool:
    """Whether the space between may go: `before` are the last two characters, `after` the next two. Two numbers are two
    (2024 三月), and 上周 三个人 is no Wednesday."""
    last, first = before[-1:], after[:1]
    if last.isdecimal() and last.isascii():
        return first in _AFTER_DIGITS
    if first.isdecimal() and first.isascii():
        return last in _BEFORE_DIGITS
    if before in _KOREAN:
        return first in "주달"
    if not (_is_han(last) and _is_han(first)):
        return False
    if first in _NUMERALS:
        return after[1:] not in _MEASURES if last in _WEEK else last not in _NUMERALS
    return True


def _is_han(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff" or char == "〇"


@dataclass(frozen=True, slots=True)
class Squeezed:
    """A text without such spaces; `cuts` are the places after them, each with how many are gone up to there."""

    text: str
    cuts: tuple[tuple[int, int], ...] = ()

    def place(self, at: int) -> int:
        """Where a character was in the text as it was given."""
        if not self.cuts:
            return at
        before = bisect_right(self.cuts, at, key=lambda cut: cut[0])
        return at + self.cuts[before - 1][1] if before else at


def squeeze(text: str) -> Squeezed:
    if ("  " if text.isascii() else " ") not in text:
        return Squeezed(text)
    pieces: list[str] = []
    cuts: list[tuple[int, int]] = []
    done = gone = 0
    for match in _SPACES.finditer(text):
        start, end = match.span()
        left = "" if _is_one_word(text[max(0, start - 2) : start], text[end : end + 2]) else " "
        if len(left) < end - start:
            pieces += text[done:start], left
            gone += end - start - len(left)
            done = end
            cuts.append((done - gone, gone))
    return Squeezed("".join(pieces) + text[done:], tuple(cuts)) if cuts else Squeezed(text)
