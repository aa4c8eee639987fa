"""Which memories speak of the same thing, so that one can be newer than the other or contradict it.

A slot is read from what a fact holds (predicate, object, statement), so it is the same for what rules found, what a model
found and what a caller wrote, and after a replay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memsidecar.domain.amounts import COUNT, Amount, amount_of
from memsidecar.domain.tokens import tokens

QUANTITY = "quantity:"
EXPERIENCE = "experience"

SAME = 0.8
"""From here on two slots are the same whatever the words of the later statement."""
SAME_IF_CHANGED = 0.5
"""From here on they are, when the later statement says that something has changed (`Manner.CHANGED`, CORRECTED)."""
OPPOSED = 0.5
"""From here on what was done contradicts that it never was."""

_GOAL = re.compile(r"^(?:goal: ?|目标[：:])", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
# Amounts further apart than this are not of one thing: 250 ms and 2 weeks.
_SCALE = 100.0


@dataclass(frozen=True, slots=True)
class Slot:
    """`family` is the bucket that an index holds: `quantity:%`, `quantity:commit`, `experience`, or an attribute's key.
    `qualifier` are the stems of the words that say what is meant in it, `head` the stem of the most telling one, and
    `context` those of the sentence. `amount` is the quantity's, where there is one."""

    family: str
    qualifier: frozenset[str] = frozenset()
    head: str = ""
    context: frozenset[str] = frozenset()
    amount: Amount | None = None
    goal: bool = False


def _stems(words: str) -> frozenset[str]:
    return frozenset(tokens(words))


# Words of statements that do not say what is counted or measured.
_GENERIC = _stems(
    """number total amount count average current currently new now recent recently latest overall rate value level
    my our already just about around nearly approximately roughly set get got keep make made try trying want need help
    have add added use using used work working do done go going update updated improve improved improving increase increased
    increasing reduce reduced reducing decrease decreased change changed reach reached achieve achieved extend extended
    expand expanded raise raised move moved complete completed completing finish finished first initial main
    day days week weeks month months year years hour hours minute minutes second seconds january february march april may
    june july august september october november december ensure sure planning plan trying track manage optimize optimizing
    implement handle reflect include scheduled schedule manager able think feel wondering kinda lot also good best
    different per time times project percent
    现在 目前 已经 我们 我 提高 增加 减少 改到 改 了 的"""
)
# Heads that say what is measured; a quantity of another measure is of another slot.
_MEASURES = _stems(
    """accuracy coverage score grade latency speed uptime budget salary income rent price cost fee premium subscription
    deadline meeting interview appointment exam quota limit size weight height distance pace temperature age bonus raise
    savings debt balance attendance engagement retention conversion bounce error failure success completion duration
    response debounce timeout delay"""
)


def slot_of(predicate: str, value: str, statement: str = "", *, key: str = "") -> Slot | None:
    """The slot of a fact: `key` is that of its attribute when the table of attributes has it. None when a fact has
    neither an attribute nor an amount, so that nothing can be in its way."""
    if predicate == EXPERIENCE:
        return Slot(EXPERIENCE, content(value), context=content(statement))
    if key:
        return Slot(key)
    amount = amount_of(value)
    if amount is None or not predicate:
        return None
    goal = _GOAL.match(predicate)
    named = predicate[goal.end() :] if goal else predicate
    qualifier = content(named)
    head = _head(named)
    family = QUANTITY + (amount.dimension if amount.dimension != COUNT else head)
    return Slot(family, qualifier, head, content(statement), amount, goal is not None)


def content(text: str) -> frozenset[str]:
    """The stems of the words that say what is meant, without numbers."""
    return frozenset(stem for stem in tokens(text) if stem not in _GENERIC and not stem[0].isdigit())


_HEAD_OF = re.compile(r"\b(?:number|total|amount|count|growth|percentage|share|quota|limit) of\b", re.IGNORECASE)
_ENDS = frozenset("for of on in per from about at across into to with by that who which i i've we using".split())


def _head(named: str) -> str:
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
    return next((stem for stem in stems if stem not in _GENERIC), stems[0] if stems else "")


def same_slot(a: Slot, b: Slot, similarity: float | None = None) -> float:
    """How sure it is that the two are about the same thing, 0 to 1; compare with `SAME` and `SAME_IF_CHANGED`.

    `similarity` is the cosine of the two statements, when there is one; it only decides what the words leave open.
    """
    if a.family != b.family or a.goal != b.goal:
        return 0.0
    if a.family == EXPERIENCE or not a.family.startswith(QUANTITY):
        return 1.0 if a.qualifier == b.qualifier else 0.0
    if a.amount is not None and b.amount is not None and not _comparable(a.amount, b.amount):
        return 0.0
    shared = a.qualifier & b.qualifier
    counted = a.amount is not None and a.amount.dimension == COUNT
    if not shared:
        return 0.0
    if not counted and not (shared & _MEASURES) and (a.qualifier | b.qualifier) & _MEASURES:
        return 0.0
    # A word of one that nothing of the other answers tells them apart; when both have one, they are of different things.
    left = a.qualifier - b.qualifier - b.context
    right = b.qualifier - a.qualifier - a.context
    told = min(len(left), len(right))
    overlap = len(shared) / min(len(a.qualifier), len(b.qualifier))
    around = len(a.context & b.context) / (1 + min(len(a.context), len(b.context)))
    sure = 0.35 * overlap + 0.35 * (a.head == b.head) + 0.3 * min(1.0, around * 2)
    sure -= 0.25 * told
    if similarity is not None:
        sure += 0.6 * (similarity - 0.5)
    return max(0.0, min(1.0, sure))


def _comparable(a: Amount, b: Amount) -> bool:
    if a.dimension != b.dimension or bool(a.of) != bool(b.of):
        return False
    if a.dimension in ("date", "clock", "weekday") or 0 in (a.size, b.size):
        return True
    return 1 / _SCALE < a.size / b.size < _SCALE


def same_value(a: Slot, b: Slot) -> bool:
    """Whether both state the same amount."""
    return a.amount is not None and a.amount == b.amount


def opposed(never: Slot, done: Slot, rarity: Callable[[str], float] = lambda stem: 1.0) -> float:
    """How sure it is that `done` is what `never` says never happened, 0 to 1; compare with `OPPOSED`. `rarity` weighs a
    stem, a rare one telling more."""
    if never.family != EXPERIENCE or done.family != EXPERIENCE or not never.qualifier:
        return 0.0
    weights = {stem: rarity(stem) for stem in never.qualifier}
    met = sum(weight for stem, weight in weights.items() if stem in done.qualifier)
    near = sum(weight for stem, weight in weights.items() if stem in done.context and stem not in done.qualifier)
    return (met + 0.5 * near) / sum(weights.values())
