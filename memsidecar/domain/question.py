"""What a question is about: its words, and the names in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from memsidecar.domain.mentions import find_mentions
from memsidecar.domain.text import CJK, entity_key, normalise
from memsidecar.domain.tokens import LETTER, query_tokens

_WORD = re.compile(rf"{LETTER}+(?:['’-]{LETTER}+)*")
_CJK_NAME = re.compile(rf"[{CJK}]+")
_POSSESSIVE = re.compile(r"['’]s$")
# Speakers that are roles, not names: "user" in a question is a word.
ROLES = frozenset({"", "user", "assistant", "system", "tool"})
# Words of a name's run that are looked up; a question of a page is not matched word by word for ever.
_MAX_WORDS = 400
_LONGEST_NAME = 4


@dataclass(frozen=True, slots=True)
class Analysis:
    """`terms` for the keyword index, `entities` (ids) it names, `people`: speakers it names, and the text for the
    embedder, names of speakers taken out (an embedder matches a name with turns that address that person)."""

    terms: tuple[str, ...]
    entities: tuple[str, ...]
    people: tuple[str, ...]
    embed_text: str


def analyse(text: str, entity_names: Mapping[str, str], speakers: Mapping[str, str]) -> Analysis:
    """`entity_names` maps keys (`entity_key`) to ids; `speakers` maps the keys of those who speak to their names."""
    people = _people(text, speakers)
    # Who speaks is known from the turns; that a turn names them says little.
    spoken_of = {entity_key(person) for person in people}
    return Analysis(
        terms=tuple(query_tokens(text)),
        entities=_entities(text, entity_names, spoken_of),
        people=people,
        embed_text=_without(text, people),
    )


def _runs(text: str) -> Iterator[str]:
    """Runs of one to four words, longest first at each place, as keys."""
    words = [_POSSESSIVE.sub("", w) for w in _WORD.findall(text)[:_MAX_WORDS]]
    for start in range(len(words)):
        for length in range(min(_LONGEST_NAME, len(words) - start), 0, -1):
            yield entity_key(" ".join(words[start : start + length]))


def _people(text: str, speakers: Mapping[str, str]) -> tuple[str, ...]:
    if not speakers:
        return ()
    found = {speakers[run]: None for run in _runs(text) if run in speakers}
    # Scripts without spaces: a name is anywhere in a run of characters. One character alone is a part of many words.
    if not text.isascii():
        normal = entity_key(text)
        written_together = (key for key in speakers if len(key) > 1 and _CJK_NAME.fullmatch(key) and key in normal)
        found.update({speakers[key]: None for key in written_together})
    return tuple(name for name in found if normalise(name) not in ROLES)


def _entities(text: str, names: Mapping[str, str], left_out: Collection[str]) -> tuple[str, ...]:
    if not names:
        return ()
    keys = dict.fromkeys((*_runs(text), *(entity_key(mention.name) for mention in find_mentions(text))))
    return tuple(dict.fromkeys(names[key] for key in keys if key in names and key not in left_out))


def _without(text: str, people: Collection[str]) -> str:
    shorter = text
    for person in people:
        pattern = re.escape(person)
        if not _CJK_NAME.fullmatch(entity_key(person)):
            pattern = rf"(?<!\w){pattern}(?:['’]s)?(?!\w)"
        shorter = re.sub(pattern, " ", shorter, flags=re.IGNORECASE)
    shorter = " ".join(shorter.split())
    return shorter if any(c.isalnum() for c in shorter) else text
