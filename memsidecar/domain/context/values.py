"""What a context is asked for, made from, and answered with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from memsidecar.domain.memory import Memory
from memsidecar.domain.recall import Hit, Question, TierReport
from memsidecar.domain.scope import Partition
from memsidecar.domain.session import Message, ScratchEntry

Count: TypeAlias = Callable[[str], int]
"""Tokens of a text."""

DEFAULT_TOKENS = 4096


class Format(IntEnum):
    """Numbers are part of the API."""

    MARKDOWN = 1
    XML = 2
    MESSAGES = 3


class Part(IntEnum):
    """The sections of a context. Numbers are part of the API; ORDER is how they come."""

    PROFILE = 1
    SUMMARY = 2
    FACTS = 3
    EPISODES = 4
    SCRATCH = 5
    WINDOW = 6


ORDER = (Part.PROFILE, Part.FACTS, Part.EPISODES, Part.SUMMARY, Part.SCRATCH, Part.WINDOW)


class Reason(IntEnum):
    """Why something was left out."""

    BUDGET = 1
    DUPLICATE = 2
    LOW_SCORE = 3
    DISPUTED = 4
    UNPAIRED = 5
    """A tool call without all of its results, or a result without its call: no model accepts it."""


@dataclass(frozen=True, slots=True)
class Share:
    """A section's part of the budget: `minimum` tokens while it can fill them, at most `maximum` (None: no limit), and
    `weight` of what is left after the minima."""

    minimum: int = 0
    maximum: int | None = None
    weight: float = 1.0


# The conversation that goes on comes first, then what was recalled for it; the rest is support. By judgement: no data
# set measures a whole prompt. Whatever a section cannot fill flows on, so the weights matter only when all are full.
DEFAULT_WEIGHTS: Mapping[Part, float] = {
    Part.PROFILE: 2.0,
    Part.FACTS: 3.0,
    Part.EPISODES: 3.0,
    Part.SUMMARY: 1.0,
    Part.SCRATCH: 1.0,
    Part.WINDOW: 5.0,
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A context as asked for. `shares` are those of the sections that are wanted at all; `session` is an id of the
    question's partition, or empty. `tokenizer` is a model or an encoding; empty is the default one."""

    question: Question
    session: str = ""
    max_tokens: int = DEFAULT_TOKENS
    tokenizer: str = ""
    shares: Mapping[Part, Share] = field(
        default_factory=lambda: {part: Share(weight=DEFAULT_WEIGHTS[part]) for part in ORDER}
    )
    format: Format = Format.MARKDOWN
    cite: bool = False
    system_prompt: str = ""
    recalled_as_system: bool = False


@dataclass(frozen=True, slots=True)
class Material:
    """What there is to choose from: `profile` in its order, `hits` best first, `messages` oldest first with their token
    counts, of which those that are pinned or of the system must stay. All of it bounded by whoever reads it."""

    profile: tuple[Memory, ...] = ()
    hits: tuple[Hit, ...] = ()
    messages: tuple[Message, ...] = ()
    scratch: tuple[ScratchEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A section as it stands in the context, with the memories in it in their order."""

    part: Part
    text: str
    token_count: int
    memories: tuple[Memory, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Citation:
    reference: str
    memory: Memory


@dataclass(frozen=True, slots=True)
class Omission:
    """A memory, or a message of the session, that was left out."""

    reason: Reason
    memory: Memory | None = None
    score: float = 0.0
    message_seq: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """The answer. `messages` are those of Format.MESSAGES (seq 0: made here), `text` is that of the other formats.

    `stable_tokens`: so many at the start are the same for every question and session at one revision.
    """

    text: str
    messages: tuple[Message, ...]
    sections: tuple[Section, ...]
    omissions: tuple[Omission, ...]
    token_count: int
    stable_tokens: int
    citations: tuple[Citation, ...]
    suspicious: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Built:
    """A context with how the sources did."""

    context: Context
    reports: tuple[TierReport, ...]
    degraded: bool
    partition: Partition
    revision: int
