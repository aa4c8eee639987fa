"""Numbers as Chinese writes them."""

from __future__ import annotations

import re

DIGITS = "0-9零〇一二两三四五六七八九十百千万亿"
_NUMBER = re.compile(f"[{DIGITS}]{{1,32}}")
_VALUES = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
_BIG = {"万": 10_000, "亿": 100_000_000}


def number(words: str) -> int:
    """十二 is 12, 二〇二四 is 2024, 10万 is 100000. Raises ValueError for what is no number."""
    if _NUMBER.fullmatch(words) is None:
        raise ValueError(words)
    if words.isdecimal() and words.isascii():
        return int(words)
    if not any(word in _TENS or word in _BIG for word in words):
        return int("".join(word if word.isascii() else str(_VALUES[word]) for word in words))
    total = section = 0
    current: int | None = None
    for word in words:
        if word in _BIG:
            section = (section + (current or 0)) or 1
            total = (total + section) * _BIG[word]
            section, current = 0, None
        elif word in _TENS:
            section += (1 if current is None else current) * _TENS[word]
            current = None
        else:
            if current and not word.isascii():
                raise ValueError(words)
            value = int(word) if word.isascii() else _VALUES[word]
            current = value if current is None else current * 10 + value
    return total + section + (current or 0)
