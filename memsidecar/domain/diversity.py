"""What of a ranking is worth showing: near duplicates folded, variety by choice, as many hits as a question needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from itertools import dropwhile
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.memory import Entity, Episode, Fact, Memory, Preference, Procedure
from memsidecar.domain.text import normalise
from memsidecar.domain.tokens import LETTER

_DAY = 24 * 3600 * 1_000_000
_WORDS = re.compile(rf"{LETTER}+")
_ASCII_WORDS = re.compile("[a-z0-9]+")
# What speakers put before a sentence without changing what it says; further on "ok" and "well" are words.
_FILLERS = frozenset("oh ah hey hi hello well so yeah yes ok okay haha lol btw um uh".split())
# Signs that say something: C++ and C#, $12 and 12 %, -5 and 5, A+ and A-, < and >, a question and a statement. Beyond
# ASCII what Unicode calls a symbol. Dashes, brackets, quotes, full stops and emphasis do not.
_ASCII_SIGNS = (
    r"[$%&+<>=|\\@#?]|~(?=[0-9])|(?<![a-z0-9-])-(?=[0-9])|(?<=[a-z0-9])-(?![a-z0-9-])"
    r"|(?<=[a-z0-9])[\^*_](?=[a-z0-9])|(?<=\b[a-z0-9])\*(?!\*)"
)
# The look ahead is for speed: most characters are none.
_SIGNS = re.compile(rf"(?=[-$%&+<>=|\\@#?~^*_])(?:{_ASCII_SIGNS})|[^\x00-\x7f\w\s]|[\U0001f3fb-\U0001f3ff]")
_SYMBOLS = frozenset(("Sc", "Sm", "So"))
_SKINS = range(0x1F3FB, 0x1F400)
_MINUS = "\u2212"
# "I ran today" is another fact on another day.
_RELATIVE_WORDS = frozenset(
    """today tonight yesterday tomorrow now just ago this last next morning afternoon evening recently
    currently""".split()
)
_RELATIVE_TIME = re.compile(
    r"[今昨明前后]天|[今昨明]晚|现在|刚才|刚刚|最近|目前|上周|下周|本周|这周|[上下本这]个?[月年]|[去今明]年|今日|昨日|明日|오늘|어제|내일"
)
_DIGIT = re.compile("[0-9]")
_NUMBERS = re.compile(r"\d+(?:[.,:/-]\d+)+")
# Longer texts are folded only when they are equal.
LONGEST_FOLDED = 2_000

# A narrow question keeps hits of at least this share of the best score, an open one of that; between them linearly.
# Chosen by hand, not fitted.
NARROW_SHARE = 0.7
OPEN_SHARE = 0.3


def fold_key(memory: Memory) -> str:
    """Two memories with one key say the same of the same: one of them is enough in an answer.

    Every word counts, in order, with its numbers, signs and negations; only case, width, punctuation that says nothing
    and interjections before it do not. Who says it counts, what else the memory holds (the object of a fact, the steps
    of a procedure), and, where words such as "today" are in it, the day: a distinct fact is never folded away, at the
    price of showing some paraphrases twice.
    """
    text = memory.text
    if len(text) > LONGEST_FOLDED:
        return f"long\0{memory.digest.hex() or memory.id}"
    plain = text.isascii()
    text = text.lower() if plain else normalise(text)
    words = [*dropwhile(_FILLERS.__contains__, (_ASCII_WORDS if plain else _WORDS).findall(text))]
    if not words:
        return f"id\0{memory.id}"
    # What the memory holds beside its text; most have nothing of it.
    beside: tuple[object, ...] = ()
    match memory.body:
        case Episode(speaker=speaker, title=title, outcome=outcome, decisions=decisions, lessons=lessons):
            about = normalise(speaker)
            if title or outcome or decisions or lessons:
                beside = (title, int(outcome), decisions, lessons)
        case Fact(subject=subject, predicate=predicate) as fact:
            about = f"{subject}\0{predicate}"
            beside = (fact.object_entity, fact.object_text, fact.object_value)
        case Preference(subject=subject, value=value, polarity=polarity):
            about = f"{subject}\0{value}\0{polarity < 0}"
        case Procedure(title=title, steps=steps):
            about, beside = title, steps
        case Entity():
            about = ""
    dated = not _RELATIVE_WORDS.isdisjoint(words) or (not plain and _RELATIVE_TIME.search(text))
    day = memory.said_at // _DAY if dated else ""
    # Numbers such as 3.5 and 3 5, or 10:30 and 10 30, are the same words; their punctuation is not.
    numbers = _NUMBERS.findall(text) if _DIGIT.search(text) else ""
    always = memory.valid_from is None and memory.valid_to is None
    times = "" if always else f"{memory.valid_from}\0{memory.valid_to}"
    said = f"{day}\0{numbers}\0{_signs(text)}\0{' '.join(words)}"
    return f"{memory.kind:d}\0{memory.state:d}\0{times}\0{about}\0{beside or ''}\0{said}"


def _signs(text: str) -> str:
    """The signs of a folded text, in order."""
    found = _SIGNS.findall(text.replace(_MINUS, "-"))
    return "".join(each for each in found if each.isascii() or category(each) in _SYMBOLS or ord(each) in _SKINS)


def fold_number(memory: Memory) -> int:
    """The key as an unsigned 64-bit number: equal keys have equal numbers, and different ones hardly ever."""
    return int.from_bytes(blake2b(fold_key(memory).encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def fold(numbers: Sequence[int]) -> list[list[int]]:
    """Places of equal numbers, in groups; a group stands where its first, the best ranked, does."""
    groups: dict[int, list[int]] = {}
    for place, number in enumerate(numbers):
        groups.setdefault(number, []).append(place)
    return list(groups.values())


def vary(scores: NDArray[np.float32], vectors: NDArray[np.float32], count: int, diversity: float) -> NDArray[np.intp]:
    """Places of `count` candidates, each chosen for its score less what the chosen ones already say.

    Maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998): (1 - diversity) x score / best score - diversity x
    highest cosine to one already chosen. `scores` are best first; `vectors` float32 (n, dimensions), unit length, a
    zero row for a memory without one, which is like nothing. `diversity` is 0 (the order as it is) to 1.
    """
    total = len(scores)
    count = min(count, total)
    if diversity <= 0 or total <= 1:
        return np.arange(count)
    best = float(scores[0])
    relevance = scores.astype(np.float64) / best if best > 0 else np.zeros(total)
    likeness = np.zeros(total)
    chosen: list[int] = []
    while len(chosen) < count:
        gain = (1 - diversity) * relevance - diversity * likeness
        gain[chosen] = -np.inf
        chosen.append(int(np.argmax(gain)))
        likeness = np.maximum(likeness, vectors @ vectors[chosen[-1]])
    return np.array(chosen, dtype=np.intp)


def enough(scores: Sequence[float], breadth: float, most: int) -> int:
    """How many of the ranked hits an answer needs: those near the best, the nearer the narrower the question.

    `breadth` is 0 (narrow) to 1 (open). At least one while there is one, at most `most`.
    """
    if not scores:
        return 0
    share = NARROW_SHARE + (OPEN_SHARE - NARROW_SHARE) * min(1.0, max(0.0, breadth))
    floor = scores[0] * share
    count = 1
    while count < min(most, len(scores)) and scores[count] >= floor:
        count += 1
    return count
