"""What somebody did or never did, and whether the one contradicts the other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memsidecar.domain.slot_words import Rarity, head_of, split_at_of, stems_of, weight
from memsidecar.domain.tokens import tokens


@dataclass(frozen=True, slots=True)
class Deed:
    """`verb` is the stem of what was done, `named` those of the words that say what with, `context` those of the whole
    statement. `choices` are the things that "or" joins: "wrote a route or handled a request"."""

    verb: str
    named: frozenset[str]
    choices: tuple[frozenset[str], ...]
    context: frozenset[str] = frozenset()


_OR = re.compile(r"\s(?:n?or|/)\s|或者?")
# Words that say nothing of what was done; and of a joined verb, what follows says it.
_VAGUE = stems_of(
    """any involving related project thing things anything something before really actually ever yet new my use used
    using kind sort of up down out around over back off through it"""
)
_VERB = re.compile(r"[a-z]+(?:ed|en)\s", re.IGNORECASE)


_ASPECT = re.compile("[过了]|从来?没有?|从未")


def deed_of(value: str, statement: str) -> Deed:
    """The deed that an experience's value states: "written any Flask routes"."""
    # In Chinese the signs of the past stand in the middle: 用过Flask.
    value, statement = _ASPECT.sub(" ", value), _ASPECT.sub(" ", statement)
    verb, _, rest = value.partition(" ") if " " in value else ("", "", value)
    return Deed(head_of(verb), _named(rest), _choices(rest), _named(statement))


def _choices(things: str) -> tuple[frozenset[str], ...]:
    """Each of the things that "or" joins. "exams on medians or altitudes" are exams on medians and exams on altitudes,
    "wrote a route or handled a request" are two."""
    found: list[frozenset[str]] = []
    leading: frozenset[str] = frozenset()
    for part in _OR.split(things):
        before, of = split_at_of(part)
        own = _named(part)
        if own:
            found.append(own if of or _VERB.match(part) else own | leading)
        leading = _named(before) if of else leading
    return tuple(found)


def _named(text: str) -> frozenset[str]:
    return frozenset(stem for stem in tokens(text) if stem not in _VAGUE and not stem[0].isdigit())


# Words that come everywhere are no evidence, however many of them are met.
_ENOUGH = 0.5
_IN_CONTEXT = 0.6
_SAME_VERB = 0.1
# What somebody is only trying to do contradicts less.
_TRYING = stems_of("trying exploring planning attempting learning studying practicing reviewing")
_TRIED = 0.8


def denies(never: Deed, done: Deed, rarity: Rarity) -> float:
    """How sure it is that `done` is what `never` says never happened, 0 to 1."""
    return max((_met(choice, never.verb, done, rarity) for choice in never.choices), default=0.0)


def _met(choice: frozenset[str], verb: str, done: Deed, rarity: Rarity) -> float:
    """How much of one thing that was denied the other statement names, itself or in its sentence."""
    whole = weight(choice, rarity)
    met = weight(choice & done.named, rarity)
    if not whole or not met:
        return 0.0
    met += _IN_CONTEXT * weight((choice & done.context) - done.named, rarity)
    same = _SAME_VERB if verb and (verb == done.verb or verb in done.named) else 0.0
    sure = min(1.0, met / whole + same) * min(1.0, met / _ENOUGH)
    return sure * _TRIED if done.verb in _TRYING else sure
