"""What a question is about: its words, the names and dates in it, and what kind of answer it is after."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from memsidecar.domain.cues import NO_CUES, Cues, read_cues
from memsidecar.domain.mentions import find_mentions
from memsidecar.domain.text import CJK, entity_key, normalise
from memsidecar.domain.time_span import TimeSpan
from memsidecar.domain.tokens import LETTER, query_tokens
from memsidecar.domain.traits import ASSISTANTS, ROLES

_WORD = re.compile(rf"{LETTER}+(?:['’-]{LETTER}+)*")
_LINE_OF = re.compile(r"^[ \t]*([^\s:：][^:：\n]{0,40}?)[ \t]*[:：]", re.MULTILINE)
_CJK_NAME = re.compile(rf"[{CJK}]+")
_POSSESSIVE = re.compile(r"['’]s$")
# Words of a name's run that are looked up; a question of a page is not matched word by word for ever.
_MAX_WORDS = 400
_LONGEST_NAME = 4
# Characters of a name in a script without spaces, and of the question that is searched for such names.
_LONGEST_TOGETHER = 12
_MAX_TOGETHER = 1_000


@dataclass(frozen=True, slots=True)
class Analysis:
    """`terms` for the keyword index, `entities` (ids) it names, `people`: speakers it names, `times` it names, its
    `cues`, and the text for the embedder, names of speakers taken out (an embedder matches a name with turns that
    address that person)."""

    terms: tuple[str, ...]
    entities: tuple[str, ...]
    people: tuple[str, ...]
    embed_text: str
    cues: Cues = NO_CUES
    times: tuple[TimeSpan, ...] = ()


def analyse(
    text: str,
    entity_names: Mapping[str, str],
    speakers: Mapping[str, str],
    times: tuple[TimeSpan, ...] = (),
    asks: bool = True,
) -> Analysis:
    """`entity_names` maps keys (`entity_key`) to ids; `speakers` maps the keys of those who speak to their names;
    `times` are those that the text names. What does not ask has no cues."""
    text = without_assistant(text)
    if not text:
        return _NOTHING_ASKED
    runs = _runs(text) if speakers or entity_names else []
    people = _people(text, runs, speakers)
    # Who speaks is known from the turns; that a turn names them says little.
    spoken_of = {entity_key(person) for person in people}
    return Analysis(
        terms=tuple(query_tokens(text)),
        entities=_entities(text, runs, entity_names, spoken_of),
        people=people,
        embed_text=_without(text, people),
        cues=read_cues(text) if asks else NO_CUES,
        times=times,
    )


def names_any(text: str, entity_names: Mapping[str, str]) -> bool:
    """Whether the name of a known entity stands in the text: what `analyse` finds, looked for more quickly."""
    if not entity_names:
        return False
    if any(run in entity_names for run in _runs(text)):
        return True
    return not text.isascii() and any(True for _ in _written_together(text, entity_names))


def without_assistant(text: str) -> str:
    """A question that is a conversation ("Ann: ...", "Assistant: ...", a line each) without what the assistant said,
    which is about the answer and not the question. Any other text as it is. On MADial-zh this is worth 3 points of
    nDCG@10."""
    if "\n" not in text or not _LINE_OF.search(text):
        return text
    kept: list[str] = []
    assistant = False
    for line in text.split("\n"):
        said = _LINE_OF.match(line)
        if said is not None:
            assistant = said[1].casefold() in ASSISTANTS
        if not assistant:
            kept.append(line)
    return "\n".join(kept) if any(c.isalnum() for line in kept for c in line) else text


# Names of people that are verbs, or months.
_ALSO_WORDS = frozenset(("will", "may"))
_AFTER_VERB = re.compile(
    r"\s+(?:i|you|he|she|it|we|they|there|this|that|these|those|the|an?|my|your|his|her|our|their|be|have|not)\b",
    re.IGNORECASE,
)
_BEFORE_MONTH = re.compile(
    r"\b(?:in|by|since|until|till|last|next|this|of|early|late|mid|\d(?:st|nd|rd|th)?)[ -]$", re.IGNORECASE
)

_NOTHING_ASKED = Analysis((), (), (), "")


def _runs(text: str) -> list[str]:
    """Runs of one to four words, longest first at each place, as keys, each once."""
    words = [_POSSESSIVE.sub("", w) for w in _WORD.findall(text)[:_MAX_WORDS]]
    plain = text.isascii()
    if plain:
        # What `entity_key` makes of a word of ASCII letters and digits.
        words = [w.lower().strip("'") for w in words]
    found: dict[str, None] = {}
    for start in range(len(words)):
        for length in range(min(_LONGEST_NAME, len(words) - start), 0, -1):
            run = " ".join(words[start : start + length])
            found[run if plain else entity_key(run)] = None
    return list(found)


def _people(text: str, runs: Iterable[str], speakers: Mapping[str, str]) -> tuple[str, ...]:
    if not speakers:
        return ()
    found = {speakers[run]: None for run in runs if run in speakers and (run not in _ALSO_WORDS or _names(text, run))}
    # Scripts without spaces: a name is anywhere in a run of characters. One character alone is a part of many words.
    if not text.isascii():
        normal = entity_key(text)
        written_together = (key for key in speakers if len(key) > 1 and _CJK_NAME.fullmatch(key) and key in normal)
        found.update({speakers[key]: None for key in written_together})
    return tuple(name for name in found if normalise(name) not in ROLES)


def _names(text: str, word: str) -> bool:
    """Whether somewhere in a text a word that is a name, too, is one: "Will it rain in May?" is about nobody."""
    lower = text == text.lower()
    for found in re.finditer(rf"\b{word}\b(?!['’]ll)", text, re.IGNORECASE):
        is_lower = not lower and found[0] == word
        if not (is_lower or _AFTER_VERB.match(text, found.end()) or _BEFORE_MONTH.search(text[: found.start()])):
            return True
    return False


def _entities(text: str, runs: Iterable[str], names: Mapping[str, str], left_out: Collection[str]) -> tuple[str, ...]:
    if not names:
        return ()
    keys = dict.fromkeys((*runs, *(entity_key(mention.name) for mention in find_mentions(text))))
    if not text.isascii():
        keys.update(dict.fromkeys(_written_together(text, names)))
    return tuple(dict.fromkeys(names[key] for key in keys if key in names and key not in left_out))


def _written_together(text: str, names: Mapping[str, str]) -> Iterator[str]:
    """Names inside runs of characters without spaces, the longest at each place. One character alone is a part of many
    words."""
    for run in _CJK_NAME.findall(entity_key(text)[:_MAX_TOGETHER]):
        start = 0
        while start < len(run) - 1:
            for end in range(min(len(run), start + _LONGEST_TOGETHER), start + 1, -1):
                if run[start:end] in names:
                    yield run[start:end]
                    start = end - 1
                    break
            start += 1


def _without(text: str, people: Collection[str]) -> str:
    shorter = text
    for person in people:
        pattern = re.escape(person)
        if not _CJK_NAME.fullmatch(entity_key(person)):
            pattern = rf"(?<!\w){pattern}(?:['’]s)?(?!\w)"
        shorter = re.sub(pattern, " ", shorter, flags=re.IGNORECASE)
    shorter = " ".join(shorter.split())
    return shorter if any(c.isalnum() for c in shorter) else text
