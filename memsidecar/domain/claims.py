"""What a text says is so: the extractors' common answer, before anything is decided about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from memsidecar.domain.memory import Kind


class Manner(IntEnum):
    """How a claim stands to what was said before, by its own words."""

    STATED = 1
    """Says nothing about before: "I live in Oslo"."""
    CHANGED = 2
    """It was otherwise: "now", "no longer", "moved to", 换成了. What was true before was true then."""
    CORRECTED = 3
    """What was said before never was so: "actually", "I meant", 不对，是…"""
    ADDED = 4
    """It is so besides what was so before: "I also work at Acme"."""


class TimeRole(IntEnum):
    """What the time that a claim names is of it."""

    AT = 1
    """It happens or holds in that time: "on Friday", 去年."""
    FROM = 2
    """It holds from then on: "since 2019", "from March", 从三月起."""
    UNTIL = 3
    """It holds up to then: "until May", 到五月为止."""


@dataclass(frozen=True, slots=True)
class Span:
    """Code points `start` to `end` (half-open) of the text that was read."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Claim:
    """One independent fact, preference or event that a text states, with the words that state it.

    `kind` is FACT or PREFERENCE. `subject` is whose it is: empty means whoever speaks, else a name or a description as
    written ("Anna", "my sister", 我妈妈). `attribute` is a key of `domain.attributes` or, for what has none, a short
    phrase in the language of the text. `value` is as written. `negated` says that it is not so ("I have no car", "no
    longer at Acme", "never wrote a Flask route"); a preference says so by its `polarity`, -1 (avoid) to 1 (prefer).

    `statement` is a sentence of the text that says it, in its language, to be searched and shown. `span` is where the
    evidence stands. `time` is where the claim's time stands in the text, and `time_role` what it is of it.
    """

    kind: Kind
    attribute: str
    value: str
    statement: str
    span: Span
    subject: str = ""
    negated: bool = False
    polarity: float = 0.0
    manner: Manner = Manner.STATED
    confidence: float = 0.9
    importance: float = 0.6
    time: Span | None = None
    time_role: TimeRole = TimeRole.AT
    entity_type: str = ""
    """What the value is when it names somebody or something: person, place, organisation, thing; empty otherwise."""
    only_denies: bool = False
    """It is of use only where it denies what is known: that somebody left Google tells who knows that he worked there
    that he does no longer, and nobody else anything (Paris can be left, too)."""
