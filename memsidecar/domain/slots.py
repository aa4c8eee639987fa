"""What a memory says something about: only memories of one slot can conflict.

A slot is read from what a fact holds, so it is the same for what rules found, what a model found and what a caller
wrote, and after a replay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from memsidecar.domain.attributes import Cardinality
from memsidecar.domain.attributes import slot_of as attribute_slot
from memsidecar.domain.deeds import Deed, deed_of, denies
from memsidecar.domain.habits import habit_key, kind_key, kind_preferred, on_weekday, thing_liked
from memsidecar.domain.memory import Fact, Kind, Memory, Preference
from memsidecar.domain.quantity_slots import Quantity, is_goal, quantity_of, same_quantity
from memsidecar.domain.slot_words import Rarity, alike, stems_of, weight
from memsidecar.domain.text import entity_key, normalise

QUANTITY = "quantity:"
EXPERIENCE = "experience"
PREFERS = "prefers"
CHOICE = "choice"
ROUTINE = "routine"
_PAIR = re.compile(
    r"([^,;]{1,80}?)\s(?:over|rather than|more than|instead of|than|to)\s([^,;]{1,80})"
    r"|([^，；]{1,40}?)(?:胜过|多过|而不是|而非)([^，；]{1,40})"
)
EVENT = "event"
PREFERENCE = "preference"

SAME = 0.45
"""From here on two slots are the same (`same_slot`)."""
OPPOSED = 0.6
"""From here on two statements contradict each other (`opposed`)."""
BEARS = 0.5
"""From here on a question is about a slot (`bears_on`)."""

# Characters that are read of what a fact holds; a statement of the rules is shorter.
_READ = 600
_NOTHING: frozenset[str] = frozenset()
_ARTICLE = re.compile(r"^(?:an?|the) (?=\S)")


@dataclass(frozen=True, slots=True)
class Slot:
    """Whose (`subject`: an entity id, empty for the user) and what about.

    `family` is what an index holds: an attribute's key, `quantity:` with a unit or the stem of what is counted
    (`quantity:%`, `quantity:commit`), `experience`, or what is common to attributes that nobody has listed. `qualifier`
    tells slots of one family apart: stems of the words that say of what. `value` is the normalised value, `negated`
    that it is not so; `quantity` and `deed` are what is compared of these two families.
    """

    subject: str
    family: str
    qualifier: frozenset[str] = _NOTHING
    value: str = ""
    negated: bool = False
    quantity: Quantity | None = None
    deed: Deed | None = None


def slot_of(memory: Memory) -> Slot | None:
    """The slot of a fact or a preference; None for what has none. Reads a bounded part of long texts."""
    match memory.body:
        case Fact(predicate=predicate) if predicate:
            return _of_fact(memory.body)
        case Preference(topic=topic) if topic:
            return _of_preference(memory.body)
        case _:
            return None


def _of_fact(fact: Fact) -> Slot:
    text, statement = fact.object_text[:_READ], fact.statement[:_READ]
    said = text or fact.object_entity or fact.object_value[:_READ]
    return _fact_slot(fact.subject, fact.predicate[:_READ], text, said, statement, fact.negated)


# Reading a quantity or a deed takes some 0.2 ms, and every other memory of a slot is read when a new one comes.
@lru_cache(maxsize=4_096)
def _fact_slot(subject: str, predicate: str, text: str, said: str, statement: str, negated: bool) -> Slot:
    value = normalise(said)
    if predicate == EXPERIENCE:
        deed = deed_of(text, statement)
        return Slot(subject, EXPERIENCE, deed.named, value, negated, deed=deed)
    known = attribute_slot(predicate) if not is_goal(predicate) else None
    # A name of the table with a number of things is no such attribute: "plans: 5". One with qualifiers has them in
    # words of the text, which quantities compare by what they mean.
    # Whatever numbers an event has, another event does not change them.
    quantity = None
    listed = known is not None and not known[0].qualified and known[0].cardinality is not Cardinality.MULTI
    if not listed and (known is None or known[0].key != EVENT) and not (predicate == ROUTINE and on_weekday(text)):
        words = f"{known[1]} {known[0].key}" if known is not None and ":" in predicate else predicate
        quantity = quantity_of(words, text, statement)
    if quantity is not None:
        return Slot(subject, QUANTITY + quantity.unit, quantity.named, value, negated, quantity=quantity)
    if known is not None:
        qualifier = frozenset((known[1],)) if known[1] else _NOTHING
        value = habit_key(said) if known[0].key == ROUTINE else value
        return Slot(subject, known[0].key, qualifier, value, negated)
    return Slot(subject, normalise(predicate), _NOTHING, value, negated)


def _of_preference(wish: Preference) -> Slot:
    """That of a question with one answer, such as the favourite colour, or that of the thing itself, so that an index
    has a bucket for each thing that somebody likes."""
    topic, value = wish.topic[:_READ], wish.value[:_READ]
    known = attribute_slot(topic)
    if known is not None and known[0].kind is Kind.PREFERENCE:
        if known[0].cardinality is Cardinality.SINGLE:
            qualifier = frozenset((known[1],)) if known[1] else _NOTHING
            return Slot(wish.subject, known[0].key, qualifier, value_key(value), wish.polarity < 0)
        topic = value or topic
    said = value_key(thing_liked(value or topic))
    if (pair := _PAIR.fullmatch(value or topic)) is not None:
        # "tea over coffee" and "coffee over tea" answer one question.
        between = "|".join(sorted(value_key(part) for part in pair.groups() if part))
        return Slot(wish.subject, f"{PREFERS}:{between}", _NOTHING, said, wish.polarity < 0)
    if wish.topic.startswith(f"{PREFERS} ") and value:
        kind = kind_key(wish.topic[len(PREFERS) + 1 : _READ])
        return Slot(wish.subject, f"{CHOICE}:{kind}", _NOTHING, said, wish.polarity < 0)
    if kind := kind_preferred(topic, wish.statement[:_READ]):
        # Who prefers aisle seats now does not prefer window seats; but he may like Thai food and Italian food.
        return Slot(wish.subject, f"{CHOICE}:{kind}", _NOTHING, said, wish.polarity < 0)
    return Slot(wish.subject, f"{PREFERENCE}:{value_key(thing_liked(topic))}", _NOTHING, said, wish.polarity < 0)


def value_key(text: str) -> str:
    """A value made comparable: case, width, outer punctuation and an article do not count."""
    return _value_key(text) if len(text) <= _READ else _made_key(text)


def _made_key(text: str) -> str:
    return _ARTICLE.sub("", entity_key(text), count=1) or normalise(text)


_value_key = lru_cache(maxsize=4_096)(_made_key)


def same_slot(a: Slot, b: Slot, *, changed: bool = False, rarity: Rarity = alike) -> float:
    """How sure it is that the two are about the same thing, 0 to 1; compare with `SAME`. `a` is the older one.

    `changed` says that the words of `b` tell that something is otherwise now (`Manner.CHANGED`, CORRECTED); without it,
    a quantity must be of nothing that `a` does not name. `rarity` weighs stems by how often they come.
    """
    if a.subject != b.subject or a.family != b.family:
        return 0.0
    if a.quantity is not None and b.quantity is not None:
        return same_quantity(a.quantity, b.quantity, changed, rarity)
    return 1.0 if a.qualifier == b.qualifier else 0.0


def single_valued(slot: Slot) -> bool:
    """Whether the slot has one value at a time, so that another one replaces it or contradicts it: quantities, and what
    the table of attributes says is single."""
    if slot.quantity is not None:
        return True
    if slot.family.startswith(f"{PREFERS}:"):
        return True
    known = attribute_slot(slot.family) if slot.family != EXPERIENCE else None
    return known is not None and known[0].cardinality is Cardinality.SINGLE


def same_value(a: Slot, b: Slot) -> bool:
    """Whether both state the same value: "1,200 calls" and "1200", "0.25 s" and "250ms"."""
    if a.quantity is not None and b.quantity is not None:
        return a.quantity.amount.equals(b.quantity.amount)
    return a.value == b.value


def opposed(a: Slot, b: Slot, *, rarity: Rarity = alike) -> float:
    """How sure it is that one denies what the other affirms, 0 to 1; compare with `OPPOSED`. In either order.

    Of experiences, whether what was done is what was never done; else, whether it is the same value of the same slot.
    """
    if a.negated == b.negated or a.subject != b.subject or a.family != b.family:
        return 0.0
    if a.deed is not None and b.deed is not None:
        never, done = (a.deed, b.deed) if a.negated else (b.deed, a.deed)
        return denies(never, done, rarity)
    return same_slot(a, b, rarity=rarity) if same_value(a, b) else 0.0


def bears_on(slot: Slot, question: frozenset[str], *, rarity: Rarity = alike) -> float:
    """How much a question (its stems, `tokens`) is about a slot, 0 to 1; compare with `BEARS`.

    A turn says several things. That one of them is out of date matters to the questions about that one only.
    """
    named = slot.qualifier or stems_of(slot.family)
    whole = weight(named, rarity)
    return weight(named & question, rarity) / whole if whole else 0.0
