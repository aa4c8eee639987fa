"""What a fact says how much or how many of, and whether two facts say it of the same thing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memsidecar.domain.amounts import COUNT, Amount, amount_of
from memsidecar.domain.slot_words import GENERIC, MEASURES, Rarity, content, head_of, split_at_of, stems_of, weight
from memsidecar.domain.tokens import tokens

GOAL = "goal: "
"""Before the attribute of what somebody wants to reach: it is not what is so."""
GOAL_ZH = "目标："

_ORDINAL = re.compile(
    r"\b(?:first|second|third|fourth|fifth|last|next|previous|\d{1,3}(?:st|nd|rd|th)|[a-z]+ #?\d{1,3})\b|第."
)
_GOAL = re.compile(r"^(?:goal: ?|目标[：:])", re.IGNORECASE)
# Of dates and times one has many; only a change of one is of the same.
_POINTS = frozenset(("date", "clock", "weekday"))
# Amounts further apart than this are not of one thing: 250 ms and 2 weeks.
_SCALE = 100.0


@dataclass(frozen=True, slots=True)
class Quantity:
    """`named` are the stems of the words that say what is counted or measured, `head` that of the noun among them, `of`
    those after a preposition, `context` those of the whole statement with its other numbers. `before` is what the
    statement says that it was before ("from 70% to 90%"), `per` the time that a rate is of."""

    amount: Amount
    named: frozenset[str]
    head: str
    of: frozenset[str] = frozenset()
    context: frozenset[str] = frozenset()
    before: Amount | None = None
    per: str = ""
    goal: bool = False
    which: frozenset[str] = frozenset()
    """Ordinals: a score in the first exam is none in the second."""

    @property
    def unit(self) -> str:
        """What quantities must share to be comparable: a dimension, or the noun that is counted."""
        return self.head if self.amount.dimension == COUNT else self.amount.dimension


def is_goal(predicate: str) -> bool:
    """Whether a predicate says what somebody wants to reach."""
    return _GOAL.match(predicate) is not None


def quantity_of(predicate: str, value: str, statement: str) -> Quantity | None:
    """The quantity that a fact states; None when its value is none."""
    amount = amount_of(value)
    if amount is None or not predicate:
        return None
    goal = _GOAL.match(predicate)
    named = predicate[goal.end() :] if goal else predicate
    return Quantity(
        amount,
        content(named),
        head_of(named),
        content(split_at_of(named)[1]),
        _context(statement, value),
        _before(statement, amount),
        _per(f"{predicate} {value}"),
        goal is not None,
        frozenset(_ORDINAL.findall(named.lower())),
    )


def _context(statement: str, value: str) -> frozenset[str]:
    """The words of a sentence and the numbers that are not its own: both may name the same dates."""
    own = stems_of(value)
    return frozenset(stem for stem in tokens(statement) if stem not in GENERIC and stem not in own)


_PER = re.compile(
    r"(?:/ ?|\bper |\bevery |\beach |\ban? )(second|minute|hour|day|night|week|month|year)\b|\b(dai|week|month"
    r"|year|annual)ly\b|每(天|周|月|年|小时|分钟)",
    re.IGNORECASE,
)
_PERIODS = {
    "dai": "day",
    "annual": "year",
    "天": "day",
    "周": "week",
    "月": "month",
    "年": "year",
    "小时": "hour",
    "分钟": "minute",
}


def _per(text: str) -> str:
    found = _PER.search(text)
    if found is None:
        return ""
    period = next(group for group in found.groups() if group).lower()
    return _PERIODS.get(period, period)


_FROM = re.compile(
    r"\bfrom ([$€£¥]?\d[\d,.]{0,14}\s?(?:%|[a-z]{1,12})?) (?:up |down )?to ([$€£¥]?\d[\d,.]{0,14}\s?(?:%"
    r"|[a-z]{1,12})?)|从(.{1,12}?)(?:提高|增加|上升|下降|降低|减少|缩短|延长|改|推迟|提前|涨|降|变)?[到为成](.{1,12})",
    re.IGNORECASE,
)


def _before(statement: str, amount: Amount) -> Amount | None:
    for found in _FROM.finditer(statement):
        old, new = amount_of(found[1] or found[3]), amount_of(found[2] or found[4])
        if old is not None and new is not None and new.size == amount.size:
            return Amount(new.dimension, old.size) if old.dimension == COUNT else old
    return None


# What a word weighs, beside 1 for one that both name: one that one names and the other's sentence has, one that both
# sentences have; and one that only the newer, only the older one names, for the newer one often only points to what the
# older one says at length.
_ACROSS, _AROUND, _MOST_AROUND = 0.6, 0.3, 3.0
_NEWER, _OLDER, _DOUBT = 1.0, 0.3, 0.4
# What it counts that the newer one names the older one's value as the one before, or another one.
_TOLD_BEFORE = 0.2


def same_quantity(a: Quantity, b: Quantity, changed: bool, rarity: Rarity) -> float:
    """How sure it is that both are of the same thing, 0 to 1; `a` is the older one (see `slots.same_slot`)."""
    if a.goal != b.goal or (a.per and b.per and a.per != b.per) or not _comparable(a.amount, b.amount):
        return 0.0
    shared = a.named & b.named
    if not shared or _of_others(a, b) or not (changed or _stands_alone(a, b)):
        return 0.0
    across = (a.named & b.context) | (b.named & a.context)
    around = (a.context & b.context) - across - shared
    told = _NEWER * weight(b.named - a.named - a.context, rarity) + _OLDER * weight(
        a.named - b.named - b.context, rarity
    )
    same = weight(shared, rarity) + _ACROSS * weight(across - shared, rarity)
    same += _AROUND * min(_MOST_AROUND, weight(around, rarity))
    same += _ACROSS * bool(a.per and a.per == b.per)
    sure = same / (same + told + _DOUBT)
    if b.before is not None:
        sure += _TOLD_BEFORE if b.before.size == a.amount.size else -_TOLD_BEFORE
    return max(0.0, min(1.0, sure))


def _of_others(a: Quantity, b: Quantity) -> bool:
    """Whether they name two measures, or two things of which they are: "in biology" and "in chemistry"."""
    measured = a.named & MEASURES, b.named & MEASURES
    if all(measured) and not measured[0] & measured[1]:
        return True
    if a.which and b.which and not a.which & b.which:
        return True
    return bool(a.of and b.of) and not a.of & (b.of | b.context) and not b.of & (a.of | a.context)


def _stands_alone(a: Quantity, b: Quantity) -> bool:
    """Whether the newer one is of the same thing though it does not say that anything has changed: it names nothing
    that the older one does not, and enough to be told from others."""
    if a.goal or b.named - a.named or a.head != b.head:
        return False
    if a.amount.dimension in _POINTS:
        return a.amount.dimension == "clock" and len(b.named) >= 2
    return len(b.named) >= 2 or bool(b.named & MEASURES)


def _comparable(a: Amount, b: Amount) -> bool:
    if a.dimension != b.dimension or bool(a.of) != bool(b.of):
        return False
    if a.dimension in _POINTS or 0 in (a.size, b.size):
        return True
    return 1 / _SCALE < a.size / b.size < _SCALE
