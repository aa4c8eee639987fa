"""The words that say what a statement is about, as stems."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TypeAlias

from memsidecar.domain.tokens import tokens

Rarity: TypeAlias = Callable[[str], float]
"""How much a stem tells, about 0 (in every text) to 1 (rare)."""


def alike(stem: str) -> float:
    """The rarity of stems when nothing is known about how often they come."""
    return 1.0


# As if there were this many texts more, so that the words of two texts are not common when both have them.
_AT_LEAST = 50


def rarity_among(texts: int, having: Callable[[str], int]) -> Rarity:
    """The rarity of stems in a memory of so many texts; `having` says how many of them have a stem."""
    many = _AT_LEAST + texts
    return lambda stem: math.log(many / (1 + having(stem))) / math.log(many)


def weight(stems: frozenset[str], rarity: Rarity) -> float:
    """How much stems tell together."""
    return sum(map(rarity, stems))


def stems_of(words: str) -> frozenset[str]:
    """The stems of a list of words."""
    return frozenset(tokens(words))


# Words of statements that do not say what is counted or measured.
GENERIC = stems_of(
    """daily weekly monthly yearly annual annually day week month number total amount count growth consistent spent
    average current currently new now recent recently latest overall rate value level my our already just about
    around nearly approximately roughly set get got keep make made try trying want need help have add added use
    using used work working do done go going update updated improve improved improving increase increased
    increasing reduce reduced reducing decrease decreased change changed reach reached achieve achieved extend
    extended expand expanded raise raised move moved complete completed completing finish finished first initial
    main days weeks months year years hour hours minute minutes second seconds january february march april may
    june july august september october november december ensure sure planning plan track manage optimize
    optimizing implement handle reflect include scheduled schedule manager able think feel wondering kinda lot
    also good best different per time times project percent
    现在 目前 已经 我们 我 提高 增加 减少 改到 改 了 的"""
)
# Heads that say what is measured; a quantity of another measure is of another slot.
MEASURES = stems_of(
    """accuracy coverage score grade latency speed uptime budget salary income rent price cost fee premium subscription
    deadline meeting interview appointment exam quota limit size weight height distance pace temperature age bonus raise
    savings debt balance attendance engagement retention conversion bounce error failure success completion duration
    response debounce timeout delay"""
)


def content(text: str) -> frozenset[str]:
    """The stems of the words that say what is counted or measured, without numbers."""
    return frozenset(stem for stem in tokens(text) if stem not in GENERIC and not stem[0].isdigit())


_OF = re.compile(r"\s(?:involving|related to|about|on|of|in|with|for|at|from|using)\s")


def split_at_of(phrase: str) -> tuple[str, str]:
    """A noun phrase and what it is of: "quiz score" and "biology" of "quiz score in biology"."""
    found = _OF.search(phrase)
    return (phrase[: found.start()], phrase[found.end() :]) if found else (phrase, "")


_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_HEAD_OF = re.compile(r"\b(?:number|total|amount|count|growth|percentage|share|quota|limit) of\b", re.IGNORECASE)
_ENDS = frozenset("for of on in per from about at across into to with by that who which i i've we using".split())


def head_of(named: str) -> str:
    """The stem of the noun that is counted or measured: the first plural, else the last word before a preposition."""
    of = _HEAD_OF.search(named)
    words = [w.group() for w in _WORD.finditer(named, of.end() if of else 0)]
    if not words:
        stems = tokens(named)
        return stems[-1] if stems else ""
    phrase: list[str] = []
    for word in words:
        if word.lower() in _ENDS and phrase:
            break
        phrase.append(word)
        if len(word) > 3 and word.lower().endswith("s") and not word.lower().endswith(("ss", "us", "is")):
            break
    stems = [stem for word in reversed(phrase) for stem in tokens(word)]
    return next((stem for stem in stems if stem not in GENERIC), stems[0] if stems else "")
