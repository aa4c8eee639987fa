"""What the services need from a model that reads conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from memsidecar.domain.claims import Claim


@dataclass(frozen=True, slots=True)
class Turn:
    """What is read: one thing that somebody said. `time` is microseconds since 1970 UTC; `id` is the caller's own.

    `text` may have any length and content. Who stands in `speaker` is the subject of what he says of himself; "" is the
    user.
    """

    text: str
    speaker: str = ""
    time: int | None = None
    id: str = ""


class Declined(StrEnum):
    """Why something that a model said of a turn, or the turn itself, became no claim."""

    EVIDENCE = "evidence_not_in_text"
    """The words that it quotes do not stand in the turn: made up, or from elsewhere."""
    VALUE = "value_not_in_text"
    """The value is empty, or does not stand in the turn near the evidence."""
    ATTRIBUTE = "attribute_missing"
    """Empty, longer than a phrase, or the value again."""
    KIND = "kind_unknown"
    """Neither a fact nor a preference."""
    SUBJECT = "subject_not_in_text"
    """It is said of somebody whom no turn of the request names, or the value is its own subject."""
    TIME = "time_not_in_text"
    """Without its time, a claim may say the opposite ("until 2019"), so that it goes, too."""
    STATEMENT = "statement_in_another_language"
    """Its sentence shares no script with the evidence."""
    FIELD = "field_of_wrong_type"
    """A field holds what it cannot: a text for a number, a number out of its range."""
    INSTRUCTION = "reads_like_an_instruction"
    """Text to a model is no fact about anybody."""
    SURPLUS = "too_many_claims"
    """More than a person says in a turn: a model that goes round in circles."""
    UNREADABLE = "answer_unreadable"
    """The answer holds nothing of the form that was asked for, asked twice."""
    CUT_OFF = "answer_cut_off"
    """The answer's end is missing, asked twice; what came whole of it was kept."""
    REFUSED = "refused"
    """The model or its provider does not want to read this turn."""
    TOO_LONG = "text_too_long"
    """The turn, or its end, was not read, because it is longer than the model or the extractor takes."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What one turn states. Neither claims nor reasons: there was nothing in it to remember.

    `rejected` are values of Declined, one for each thing that was thrown away; they hold nothing of the text.
    """

    claims: tuple[Claim, ...] = ()
    rejected: tuple[str, ...] = ()


class Extractor(Protocol):
    """Reads turns and says what they claim. Optional: without it, rules do."""

    @property
    def model(self) -> str:
        """Vendor and model, for provenance, logs and reports."""
        ...

    async def extract(self, turns: Sequence[Turn]) -> Sequence[Extracted]:
        """What each turn states, in their order; never blocks the event loop, and may be cancelled.

        Turns that follow each other are read together, so that one explains the next. Each claim's `span` is in its own
        turn, holds the value, and was found there by us; a bad answer costs only the claims that are bad.
        Raises ModelUnavailable when the provider is away, refuses the caller or is not what it should be: nothing was
        kept, and the same call can be made again after `retry_after`.
        """
        ...

    async def close(self) -> None: ...
