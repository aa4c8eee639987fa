"""From what a model has written to claims that the text bears out. Nothing else comes out, whatever was asked of it."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from memsidecar.domain.claims import Claim, Manner, Span, TimeRole
from memsidecar.domain.injection import looks_like_instruction
from memsidecar.domain.language import language_of
from memsidecar.domain.memory import Kind
from memsidecar.domain.quotes import QuotedText
from memsidecar.domain.text import normalise
from memsidecar.domain.tokens import tokens
from memsidecar.ports.extraction import Declined

MAX_CLAIMS = 32
"""Of one piece of text: more than people say in 6,000 characters, and an end to circles."""

_MOST_ATTRIBUTE = 64
_MOST_VALUE = 300
_MOST_SUBJECT = 100
_MOST_STATEMENT = 500
_MOST_TIME = 80
# Code points from the evidence to a value that it leaves to the sentence before: "Flask? Never wrote a route with it."
_NEAR = 200
# Part of a statement's words that the turn or the speaker's name must have; else it says more than was said, or says
# it in other words or another language, and the sentence of the text stands in for it.
_BORNE_OUT = 0.5
_DEFAULT_CONFIDENCE = 0.7
_DEFAULT_IMPORTANCE = 0.6
_DEFAULT_POLARITY = 0.7

_KINDS: Final = {"fact": Kind.FACT, "preference": Kind.PREFERENCE}
_MANNERS: Final = {"stated": Manner.STATED, "changed": Manner.CHANGED, "corrected": Manner.CORRECTED}
_ROLES: Final = {"at": TimeRole.AT, "from": TimeRole.FROM, "until": TimeRole.UNTIL}
_TYPES: Final = {"person": "person", "place": "place", "thing": "thing"} | dict.fromkeys(
    ("organisation", "organization"), "organisation"
)
_SPEAKER = frozenset(
    "user|the user|speaker|the speaker|i|me|my|myself|self|narrator|我|本人|自己|用户|用戶|说话者".split("|")
)
_EAST_ASIAN = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HANGUL"))
# Of how a model speaks of the speaker: in no turn, and no invention.
_OF_SPEAKERS = frozenset((*tokens("user users speaker person"), *tokens("用户"), *tokens("他"), *tokens("她")))


class Piece:
    """What one line of a request shows: a turn, or a part of it that begins at `offset`."""

    def __init__(self, turn: int, speaker: str, text: str, offset: int = 0) -> None:
        self.turn, self.speaker, self.offset = turn, speaker, offset
        self.quoted = QuotedText(text)

    @property
    def text(self) -> str:
        return self.quoted.text

    @cached_property
    def words(self) -> frozenset[str]:
        """What a statement may say of it."""
        return frozenset((*tokens(self.text), *tokens(self.speaker)))


class RejectedError(Exception):
    """This claim is none."""

    def __init__(self, reason: Declined) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Judged:
    """One claim as written, the place of its piece in the request, and either what it became or why nothing."""

    written: Any
    place: int
    claim: Claim | None = None
    reason: Declined | None = None


def judged(written: Sequence[Any], pieces: Sequence[Piece]) -> list[Judged]:
    """Each claim checked against the pieces that the model was shown. Spans are places in the whole turn."""
    counts = [0] * len(pieces)
    results: list[Judged] = []
    for each in written:
        place = _named(each, pieces)
        try:
            place, evidence = _stands(each, place, pieces)
            counts[place] += 1
            if counts[place] > MAX_CLAIMS:
                raise RejectedError(Declined.SURPLUS)
            results.append(Judged(each, place, _claim(each, evidence, pieces[place], pieces)))
        except RejectedError as rejected:
            results.append(Judged(each, place, reason=rejected.reason))
    return results


def _named(written: Any, pieces: Sequence[Piece]) -> int:
    number = written.get("turn") if isinstance(written, dict) else None
    return number - 1 if type(number) is int and 0 < number <= len(pieces) else 0


def _stands(written: Any, place: int, pieces: Sequence[Piece]) -> tuple[int, Span]:
    """In which piece the evidence is, and where. A model that copies well may still miscount."""
    if not isinstance(written, dict):
        raise RejectedError(Declined.FIELD)
    evidence = _text(written, "evidence")
    for each in (place, *(other for other in range(len(pieces)) if other != place)):
        found = pieces[each].quoted.find(evidence)
        if found is not None:
            return each, found
    raise RejectedError(Declined.EVIDENCE)


def _claim(written: Mapping[str, Any], evidence: Span, piece: Piece, pieces: Sequence[Piece]) -> Claim:
    kind = _KINDS.get(_text(written, "kind").lower())
    if kind is None:
        raise RejectedError(Declined.KIND)
    attribute = _line(_text(written, "attribute"), _MOST_ATTRIBUTE)
    if not any(map(str.isalnum, attribute)):
        raise RejectedError(Declined.ATTRIBUTE)
    value = _found(piece, _text(written, "value"), evidence)
    if value is None or value.end - value.start > _MOST_VALUE or _apart(value, evidence) > _NEAR:
        raise RejectedError(Declined.VALUE)
    when = _text(written, "time")
    time = _found(piece, when, evidence) if len(when) <= _MOST_TIME else None
    if when and time is None:
        raise RejectedError(Declined.TIME)
    subject = _subject(_text(written, "subject"), piece, pieces)
    # A small model fills every field with the same words.
    same = normalise(piece.text[value.start : value.end])
    if normalise(attribute) == same:
        raise RejectedError(Declined.ATTRIBUTE)
    if normalise(subject) == same:
        raise RejectedError(Declined.SUBJECT)
    negated = written.get("negated")
    if not isinstance(negated, bool | None):
        raise RejectedError(Declined.FIELD)
    polarity = _number(written, "polarity", -1, 1, 0.0)
    if kind is Kind.FACT:
        polarity = 0.0
    else:
        polarity = polarity or _DEFAULT_POLARITY
        # "Does not like" comes as a negated liking and as a disliking.
        polarity, negated = -abs(polarity) if negated else polarity, False
    span = Span(min(evidence.start, value.start), max(evidence.end, value.end))
    sentence = piece.quoted.sentence(span, _MOST_STATEMENT)
    claim = Claim(
        kind=kind,
        attribute=attribute,
        value=" ".join(piece.text[value.start : value.end].split()),
        statement=_statement(_text(written, "statement"), subject, sentence, piece),
        span=_moved(span, piece.offset),
        subject=subject,
        negated=bool(negated),
        polarity=polarity,
        manner=_choice(written, "manner", _MANNERS, Manner.STATED),
        confidence=_number(written, "confidence", 0, 1, _DEFAULT_CONFIDENCE),
        importance=_number(written, "importance", 0, 1, _DEFAULT_IMPORTANCE),
        time=_moved(time, piece.offset) if time else None,
        time_role=_choice(written, "time_role", _ROLES, TimeRole.AT),
        entity_type=_TYPES.get(_text(written, "entity_type").lower(), ""),
    )
    # Of the text's own sentence, too: what an order says somebody is or likes, nobody has stated.
    if any(map(looks_like_instruction, (claim.attribute, claim.statement, sentence))):
        raise RejectedError(Declined.INSTRUCTION)
    return claim


def _found(piece: Piece, quote: str, evidence: Span) -> Span | None:
    return piece.quoted.find(quote, evidence)


def _subject(name: str, piece: Piece, pieces: Sequence[Piece]) -> str:
    """Whose it is, as some turn writes it; "" for the speaker."""
    same = normalise(name)
    if not same or same in _SPEAKER or same == normalise(piece.speaker):
        return ""
    speaker = next((other.speaker for other in pieces if normalise(other.speaker) == same), "")
    if speaker:
        return speaker
    for each in (piece, *pieces):
        found = each.quoted.find(name)
        if found is not None and found.end - found.start <= _MOST_SUBJECT:
            return " ".join(each.text[found.start : found.end].split())
    raise RejectedError(Declined.SUBJECT)


def _statement(said: str, subject: str, sentence: str, piece: Piece) -> str:
    said = _line(said, _MOST_STATEMENT)
    if said and not _same_script(sentence, said):
        raise RejectedError(Declined.STATEMENT)
    if language_of(said) == "en" != language_of(piece.text):
        return sentence
    words = set(tokens(said)) - _OF_SPEAKERS
    invented = words - piece.words - set(tokens(subject))
    borne_out = words and len(invented) <= len(words) * (1 - _BORNE_OUT)
    if borne_out and not any(any(map(str.isdigit, word)) for word in invented):
        return said
    return sentence


def _same_script(sentence: str, said: str) -> bool:
    """Whether a script of the sentence is in what was said; of Chinese, Japanese or Korean with words of others among
    it, one of theirs."""
    scripts = _scripts(sentence)
    wanted = scripts & _EAST_ASIAN or scripts
    return not wanted or bool(wanted & _scripts(said))


def _scripts(text: str) -> frozenset[str]:
    """The first words of the letters' names: LATIN, CJK, CYRILLIC."""
    return frozenset(unicodedata.name(each, "").partition(" ")[0] for each in set(text) if each.isalpha())


def _line(text: str, most: int) -> str:
    """One line of what can be seen and stored; "" for what is too long to be what was asked for."""
    line = " ".join(text.split())
    return line if len(line) <= most and line.isprintable() else ""


def _text(written: Mapping[str, Any], name: str) -> str:
    value = written.get(name)
    if value is not None and not isinstance(value, str):
        raise RejectedError(Declined.FIELD)
    return (value or "").strip()


def _choice(written: Mapping[str, Any], name: str, choices: Mapping[str, Any], default: Any) -> Any:
    text = _text(written, name).lower()
    if text and text not in choices:
        raise RejectedError(Declined.FIELD)
    return choices[text] if text else default


def _number(written: Mapping[str, Any], name: str, low: float, high: float, default: float) -> float:
    value = written.get(name)
    if value is None:
        return default
    if type(value) not in (int, float) or not low <= value <= high or not math.isfinite(value):
        raise RejectedError(Declined.FIELD)
    return float(value)


def _apart(one: Span, other: Span) -> int:
    return max(0, one.start - other.end, other.start - one.end)


def _moved(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by)
