"""Attributes that a claim can be about, how many values each can have at a time, and what callers call them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from memsidecar.domain.attribute_table import rows
from memsidecar.domain.memory import Kind
from memsidecar.domain.text import nfkc


class Cardinality(IntEnum):
    """How many values a slot has at a time."""

    SINGLE = 1
    MULTI = 2


_ONE_OF_NO_KIND = frozenset(("deadline", "email"))


@dataclass(frozen=True, slots=True)
class Attribute:
    """A kind of thing that is known about somebody or something.

    `qualified` attributes have a slot for each qualifier: a favourite of each kind, a date of each event. They are
    written `key:qualifier` ("favourite:colour"), the qualifier in the language of the text. `synonyms` are other names
    that callers write, in English and Chinese. `importance` is that of a memory of it, 0 to 1. `ask_en` and `ask_zh`
    have places {a}, {b} and, when qualified, {of}.
    """

    key: str
    cardinality: Cardinality
    kind: Kind
    importance: float
    synonyms: tuple[str, ...]
    ask_en: str
    ask_zh: str
    qualified: bool = False

    def holds(self, qualifier: str = "") -> Cardinality:
        """How many values the slot of a qualifier has. What is a favourite, or on a date, of no named kind may be of
        any kind: such a slot has many, except that what is due is due once, and that one has an e-mail address."""
        if self.qualified and not qualifier and self.key not in _ONE_OF_NO_KIND:
            return Cardinality.MULTI
        return self.cardinality

    def question(self, a: str, b: str, language: str = "en", qualifier: str = "", subject: str = "") -> str:
        """What an agent asks to learn which of two values is so; Chinese when the language is zh, else English.

        The empty subject is the user, who is asked about himself. Equal values stand for one that was affirmed and
        denied.
        """
        chinese = language.split("-")[0] == "zh"
        if a.casefold() == b.casefold():
            template = _SAME[self.kind is Kind.PREFERENCE, chinese]
        elif subject:
            template = (
                "关于{subject}，{a}和{b}哪个是对的？" if chinese else "Which is right about {subject}: {a} or {b}?"
            )
        else:
            template = self.ask_zh if chinese else self.ask_en
        if not qualifier:
            template = template.replace("{of}的", "").replace("{of} ", "").replace("{of}是", "是")
        places = {"of": qualifier, "a": a, "b": b, "subject": subject}
        return _PLACE.sub(lambda place: places[place.group(1)], template)


_PLACE = re.compile(r"\{(of|a|b|subject)\}")
# What is asked when the two say the same thing of opposite sign; whether a preference, and whether in Chinese.
_SAME = {
    (False, False): "Is this right or not: {a}?",
    (False, True): "{a}，到底是不是？",
    (True, False): "Do you like {a} or not?",
    (True, True): "你到底喜不喜欢{a}？",
}
# Words around a predicate that say nothing: "user's current_city", "has_job", "is allergic to".
_BEFORE = re.compile(
    r"(?:(?:my|the|user(?:'s| s)?|his|her|their|current|is|has|have|had|was|been) "
    r"|我的|用户的?|当前的?|目前的?|现在的?)+(?=.)"
)
_APART = re.compile(r"[\s_\-./]+|(?<=[a-z0-9])(?=[A-Z])")
_LONGEST = 80


def attribute_of(predicate: str) -> Attribute | None:
    """The attribute that a predicate means, whatever its case, underscores or synonym ("Home_City", 住址)."""
    slot = slot_of(predicate)
    return slot[0] if slot is not None else None


@lru_cache(maxsize=2_048)
def slot_of(predicate: str) -> tuple[Attribute, str] | None:
    """The attribute that a predicate means, and its qualifier: "favorite color" is that of kind "colour".

    None when the table has no such attribute. The qualifier is in lower case, and empty when there is none.
    """
    head, colon, rest = predicate[:_LONGEST].partition(":")
    name = _plain(head)
    known = _BY_NAME.get(name) or _BY_NAME.get(_BEFORE.sub("", name, count=1))
    if known is not None:
        return known, qualifier_of(rest) if colon and known.qualified else ""
    for pattern, key in _QUALIFIED:
        if found := pattern.fullmatch(name):
            return ATTRIBUTES[key], qualifier_of(found.group("of"))
    return None


def qualifier_of(words: str) -> str:
    """Words as the qualifier of a slot: lower case, one spelling of those that have two."""
    return " ".join(_SPELLINGS.get(word, word) for word in _plain(words).split())


def _plain(name: str) -> str:
    return " ".join(_APART.sub(" ", nfkc(name)).casefold().split())


_SPELLINGS = {"color": "colour", "favorite": "favourite", "theater": "theatre", "flavor": "flavour"}
_QUALIFIED = (
    (re.compile(r"(?:my )?(?:all time )?favou?rite (?P<of>.+)"), "favourite"),
    (re.compile(r"我?最(?:喜欢|喜爱|爱)的?(?P<of>.+)"), "favourite"),
    (re.compile(r"(?:deadline|due date) (?:for|of) (?:the )?(?P<of>.+)"), "deadline"),
    (re.compile(r"(?:the )?(?P<of>.+) (?:deadline|due date)"), "deadline"),
    (re.compile(r"(?P<of>.+?)的?(?:截止日期|截止时间)"), "deadline"),
    (re.compile(r"(?:date|time) of (?:the )?(?P<of>.+)"), "date"),
    (re.compile(r"(?P<of>.+) (?:date|day)"), "date"),
    (re.compile(r"(?P<of>.+?)的?(?:日期|日子)"), "date"),
    (re.compile(r"(?P<of>.+) (?:personal best|best time|pb|pr)"), "personal_best"),
    (re.compile(r"(?P<of>.+?)的?(?:最好成绩|成绩)"), "personal_best"),
)


def _table() -> dict[str, Attribute]:
    return {
        row.key: Attribute(
            row.key,
            Cardinality.SINGLE if row.single else Cardinality.MULTI,
            Kind.PREFERENCE if row.preference else Kind.FACT,
            row.importance,
            row.synonyms,
            row.english,
            row.chinese,
            row.qualified,
        )
        for row in rows()
    }


ATTRIBUTES = _table()
"""All attributes by their keys."""

_BY_NAME = {_plain(name): a for a in ATTRIBUTES.values() for name in (a.key, *a.synonyms)}
