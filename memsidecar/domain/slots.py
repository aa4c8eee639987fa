"""Which memories speak of the same thing, so that one can be newer than the other or contradict it.

A slot is read from what a fact holds (predicate, object, statement), so it is the same for what rules found, what a model
found and what a caller wrote, and after a replay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from memsidecar.domain.amounts import COUNT, Amount, amount_of
from memsidecar.domain.tokens import tokens

QUANTITY = "quantity:"
EXPERIENCE = "experience"

SAME = 0.45
"""From here on two slots are the same."""
BEARS = 0.5
"""From here on a question is about a slot."""
OPPOSED = 0.55
"""From here on what was done contradicts that it never was."""

Rarity: TypeAlias = Callable[[str], float]
"""How much a stem tells, about 0 (in every text) to 1 (rare)."""


def alike(stem: str) -> float:
    """The rarity of stems when nothing is known about how often they come."""
    return 1.0


_GOAL = re.compile(r"^(?:goal: ?|目标[：:])", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
# Characters that are read of what a fact holds.
_READ = 600
# Of dates and times one has many; only a change of one is of the same.
_POINTS = frozenset(("date", "clock", "weekday"))
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
    before: Amount | None = None
    """What the sentence says that it was before: "from 70% to 90%"."""
    per: str = ""
    """The time that a rate is of: day, week, month."""
    goal: bool = False
    of: frozenset[str] = frozenset()
    """The part of the qualifier that stands after a preposition: "quiz score in biology"."""
    choices: tuple[frozenset[str], ...] = ()
    """Of an experience, what each of the things is that "or" joins: "wrote a route or handled a request"."""


def _stems(words: str) -> frozenset[str]:
    return frozenset(tokens(words))


# Words of statements that do not say what is counted or measured.
_GENERIC = _stems(
    """daily weekly monthly yearly annual annually day week month number total amount count growth consistent spent average current currently new now recent recently latest overall rate value level
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
    predicate, statement = predicate[:_READ], statement[:_READ]
    if predicate == EXPERIENCE:
        value = value[:_READ]
        return _experience(value, statement)
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
    return Slot(
        family,
        qualifier,
        head,
        _context(statement, value),
        amount,
        _before(statement, amount),
        _per(f"{predicate} {value}"),
        goal is not None,
        content(_split_at_of(named)[2]),
    )


_PER = re.compile(
    r"(?:/ ?|\bper |\bevery |\beach |\ban? )(second|minute|hour|day|night|week|month|year)\b|\b(dai|week|month|year|annual)ly\b|每(天|周|月|年|小时|分钟)",
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
    r"\bfrom ([$€£¥]?\d[\d,.]{0,14}\s?(?:%|[a-z]{1,12})?) (?:up |down )?to ([$€£¥]?\d[\d,.]{0,14}\s?(?:%|[a-z]{1,12})?)|从(.{1,12}?)(?:提高|增加|上升|下降|降低|减少|缩短|延长|改|推迟|提前|涨|降|变)?[到为成](.{1,12})",
    re.IGNORECASE,
)


def _before(statement: str, amount: Amount) -> Amount | None:
    for found in _FROM.finditer(statement):
        old, new = amount_of(found[1] or found[3]), amount_of(found[2] or found[4])
        if old is not None and new is not None and new.size == amount.size:
            return Amount(new.dimension, old.size) if old.dimension == COUNT else old
    return None


def _experience(value: str, statement: str) -> Slot:
    verb, _, rest = value.partition(" ") if value.isascii() or " " in value else ("", "", value)
    return Slot(EXPERIENCE, _done(rest), _head(verb), _done(statement), choices=_choices(rest))


def _choices(things: str) -> tuple[frozenset[str], ...]:
    """Each of the things that "or" joins. "exams on medians or altitudes" are exams on medians and exams on altitudes,
    "wrote a route or handled a request" are two."""
    found: list[frozenset[str]] = []
    leading: frozenset[str] = frozenset()
    for part in _OR.split(things):
        before, of, _ = _split_at_of(part)
        own = _done(part)
        if own:
            found.append(own if of or _VERB.match(part) else own | leading)
        leading = _done(before) if of else leading
    return tuple(found)


_OF = re.compile(r"\s(?:involving|related to|about|on|of|in|with|for|at|from|using)\s")
_VERB = re.compile(r"[a-z]+(?:ed|en)\s", re.IGNORECASE)


def _split_at_of(part: str) -> tuple[str, str, str]:
    found = _OF.search(part)
    return (part[: found.start()], found.group(), part[found.end() :]) if found else (part, "", "")


_OR = re.compile(r"\s(?:n?or|/)\s|或者?")
# Words that say nothing of what was done; and of a joined verb, what follows says it.
_VAGUE = _stems(
    "any involving related project thing things anything something before really actually ever yet new my use used using kind sort of up down out around over back off through something anything it"
)


def _done(text: str) -> frozenset[str]:
    return frozenset(stem for stem in tokens(text) if stem not in _VAGUE and not stem[0].isdigit())


def content(text: str) -> frozenset[str]:
    """The stems of the words that say what is meant, without numbers."""
    return frozenset(stem for stem in tokens(text) if stem not in _GENERIC and not stem[0].isdigit())


def _context(statement: str, value: str) -> frozenset[str]:
    """The words of a sentence and the numbers that are not its own: both may name the same dates."""
    own = _stems(value)
    return frozenset(stem for stem in tokens(statement) if stem not in _GENERIC and stem not in own)


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


def same_slot(
    a: Slot, b: Slot, *, changed: bool = False, similarity: float | None = None, rarity: Rarity = alike
) -> float:
    """How sure it is that the two are about the same thing, 0 to 1; compare with `SAME`. `a` is the older one.

    `changed` says that the words of `b` say that something is otherwise now (`Manner.CHANGED`, CORRECTED); without it, `b`
    must be about nothing that `a` does not name. `similarity` is the cosine of the two statements, when there is one; it
    only moves what the words leave open. `rarity` weighs stems by how often they come.
    """
    if a.family != b.family or a.goal != b.goal or (a.per and b.per and a.per != b.per):
        return 0.0
    if a.family == EXPERIENCE or not a.family.startswith(QUANTITY):
        return 1.0 if a.qualifier == b.qualifier else 0.0
    if a.amount is not None and b.amount is not None and not _comparable(a.amount, b.amount):
        return 0.0
    shared = a.qualifier & b.qualifier
    if not shared:
        return 0.0
    measured = a.qualifier & _MEASURES, b.qualifier & _MEASURES
    if all(measured) and not measured[0] & measured[1]:
        return 0.0
    # "in biology" and "in chemistry".
    if a.of and b.of and not a.of & (b.of | b.context) and not b.of & (a.of | a.context):
        return 0.0
    if not changed and (
        len(b.qualifier) < 2
        and not b.qualifier & _MEASURES
        or b.qualifier - a.qualifier
        or a.head != b.head
        or a.goal
        or (
            a.amount is not None
            and a.amount.dimension in _POINTS
            and (a.amount.dimension != "clock" or len(b.qualifier) < 2)
        )
    ):
        return 0.0
    across = (a.qualifier & b.context) | (b.qualifier & a.context)
    around = a.context & b.context
    told = _NEWER * _weight(b.qualifier - a.qualifier - a.context, rarity)
    told += _OLDER * _weight(a.qualifier - b.qualifier - b.context, rarity)
    same = _weight(shared, rarity) + _ACROSS * _weight(across - shared, rarity)
    same += _AROUND * min(_MOST_AROUND, _weight(around - across - shared, rarity))
    if a.per and a.per == b.per:
        same += _ACROSS
    sure = same / (same + told + _DOUBT)
    if b.before is not None and a.amount is not None:
        sure += 0.2 if b.before.size == a.amount.size else -0.2
    if similarity is not None:
        sure += 0.6 * (similarity - 0.5)
    return max(0.0, min(1.0, sure))


# What a word weighs, beside 1 for one that both name: one that one names and the other's sentence has, one that both
# sentences have; and one that only the newer, only the older one names, for the newer one often only points to what the
# older one says at length.
_ACROSS, _AROUND, _MOST_AROUND = 0.6, 0.3, 3.0
_NEWER, _OLDER, _DOUBT = 1.0, 0.4, 0.4


def _weight(stems: frozenset[str], rarity: Rarity) -> float:
    return sum(map(rarity, stems))


def _comparable(a: Amount, b: Amount) -> bool:
    if a.dimension != b.dimension or bool(a.of) != bool(b.of):
        return False
    if a.dimension in _POINTS or 0 in (a.size, b.size):
        return True
    return 1 / _SCALE < a.size / b.size < _SCALE


def same_value(a: Slot, b: Slot) -> bool:
    """Whether both state the same amount."""
    return a.amount is not None and a.amount == b.amount


def bears_on(slot: Slot, question: frozenset[str], rarity: Rarity = alike) -> float:
    """How much a question (its stems, `tokens`) is about a slot, 0 to 1; compare with `BEARS`.

    A turn says several things. That one of them is out of date matters to the questions about that one only.
    """
    whole = _weight(slot.qualifier, rarity)
    if not whole:
        return 0.0
    return _weight(slot.qualifier & question, rarity) / whole


def opposed(never: Slot, done: Slot, rarity: Rarity = alike) -> float:
    """How sure it is that `done` is what `never` says never happened, 0 to 1; compare with `OPPOSED`. `rarity` weighs a
    stem, a rare one telling more."""
    if never.family != EXPERIENCE or done.family != EXPERIENCE:
        return 0.0
    return max((_met(choice, never.head, done, rarity) for choice in never.choices), default=0.0)


# Words that come everywhere are no evidence however many of them are met.
_ENOUGH = 0.5
# What somebody is only trying to do contradicts less.
_TRYING = _stems("trying exploring planning attempting learning studying practicing reviewing")
_TRIED = 0.8


def _met(choice: frozenset[str], verb: str, done: Slot, rarity: Rarity) -> float:
    """How much of one thing that was denied the other statement names, itself or in its sentence."""
    whole = _weight(choice, rarity)
    met = _weight(choice & done.qualifier, rarity)
    near = _weight((choice & done.context) - done.qualifier, rarity)
    named = met + 0.6 * near
    if not whole or not met:
        return 0.0
    same = 0.1 if verb and (verb == done.head or verb in done.qualifier) else 0.0
    sure = min(1.0, named / whole + same) * min(1.0, named / _ENOUGH)
    return sure * _TRIED if done.head in _TRYING else sure
