"""Where in its slot's family a memory stands, in numbers that an index can hold and compare many of at once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from memsidecar.domain.amounts import Amount
from memsidecar.domain.attributes import attribute_of
from memsidecar.domain.conflicts.chain import end_of, start_of
from memsidecar.domain.habits import habit_key, thing_liked
from memsidecar.domain.memory import Fact, Memory, Preference, State
from memsidecar.domain.slots import ROUTINE, Slot, value_key
from memsidecar.domain.text import normalise

# Longer values are compared by their beginning and a digest of the whole.
_COMPARED = 600
_WORD_BITS = 63
_NO_WORDS = frozenset(("",))
# Sizes that are equal (`Amount.equals`) differ by less than `_CLOSE`; those of one key by less than `_ROUNDED`.
_CLOSE, _ROUNDED = 2e-9, 8


@dataclass(frozen=True, slots=True)
class Place:
    """`value` is a number that equal values share, 0 for none; `words` has a bit for each word that tells slots of the
    family apart; two words may share one. `begins` and `ends` are as a chain says
    (`conflicts.chain`)."""

    value: int
    words: int
    negated: bool
    superseded: bool
    begins: int
    ends: int | None


@dataclass(frozen=True, slots=True)
class Sought:
    """Those of a slot's family that are asked for: of one of the `values`, with one of the `words`, of that sign,
    history or not, and true at some time from `since` to `until`, both included; None and 0 stand for any."""

    values: frozenset[int] | None = None
    words: int = 0
    negated: bool | None = None
    superseded: bool | None = None
    since: int | None = None
    until: int | None = None

    def fits(self, place: Place) -> bool:
        return (
            (self.values is None or place.value in self.values)
            and (not self.words or bool(place.words & self.words))
            and (self.negated is None or place.negated is self.negated)
            and (self.superseded is None or place.superseded is self.superseded)
            and (self.until is None or place.begins <= self.until)
            and (self.since is None or place.ends is None or place.ends >= self.since)
        )


def place_of(memory: Memory, slot: Slot) -> Place:
    """Where a memory of that slot stands."""
    key = own_key(memory) if slot.quantity is None else _amount_key(slot.quantity.amount, 1.0)
    superseded = memory.state is State.SUPERSEDED
    value = number_of(key) if key else 0
    return Place(value, words_of(slot), slot.negated, superseded, start_of(memory), end_of(memory))


def words_of(slot: Slot) -> int:
    """The bits of the words by which slots of its family are told apart."""
    words = slot.qualifier if slot.quantity is None else slot.quantity.named
    if slot.deed is not None:
        # What is denied is met by what names one of its choices.
        words = frozenset().union(*slot.deed.choices) if slot.negated else slot.deed.named
    return _bits(words or _NO_WORDS)


@lru_cache(maxsize=8_192)
def _bits(words: frozenset[str]) -> int:
    bits = 0
    for word in words:
        bits |= 1 << (int.from_bytes(blake2b(word.encode(errors="surrogatepass"), digest_size=4).digest()) % _WORD_BITS)
    return bits


def number_of(key: str) -> int:
    """A value's key as a number of 64 bits with a sign, never 0."""
    digest = blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True) or 1


def numbers_of(slot: Slot, keys: Iterable[str]) -> frozenset[int]:
    """The numbers of the values that are equal to that of a slot, or have one of these keys."""
    if slot.quantity is not None:
        amount = slot.quantity.amount
        keys = [_amount_key(amount, factor) for factor in (1 - _CLOSE, 1.0, 1 + _CLOSE)]
    return frozenset(map(number_of, keys))


def _amount_key(amount: Amount, factor: float) -> str:
    return f"{amount.dimension} {amount.of!r} {amount.size * factor + 0.0:.{_ROUNDED}e}"


def entity_value(entity_id: str) -> str:
    """The key of a value that is an entity."""
    return f"@{entity_id}"


def own_key(memory: Memory) -> str:
    """The key of a memory's value, as far as it says itself: an entity's names are told elsewhere. Empty for none."""
    match memory.body:
        case Fact(object_entity=entity) if entity:
            return entity_value(entity)
        case Fact(object_text=text, predicate=predicate) if text:
            return habit_key(text[:_COMPARED]) if _is_habit(predicate) else _text_key(text)
        case Fact(object_value=value) if value:
            return _json_key(value)
        case Preference(topic=topic, value=value):
            return _text_key(thing_liked(value or topic))
        case _:
            return ""


def _is_habit(predicate: str) -> bool:
    known = attribute_of(predicate)
    return known is not None and known.key == ROUTINE


def _text_key(text: str) -> str:
    if len(text) <= _COMPARED:
        return value_key(text)
    whole = blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
    return f"{value_key(text[:_COMPARED])} {whole}"


def _json_key(value: str) -> str:
    if len(value) > _COMPARED:
        return _text_key(value)
    try:
        found = json.loads(value)
    except ValueError:
        return normalise(value)
    if isinstance(found, str):
        return value_key(found)
    return json.dumps(found, sort_keys=True, ensure_ascii=False)
