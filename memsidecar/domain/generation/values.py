"""What goes into a followed generation and what comes out. Times are seconds of a clock that never steps back; places
in text are Unicode code points, ends exclusive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from memsidecar.domain.memory import Memory
from memsidecar.domain.recall import Hit
from memsidecar.domain.scope import Partition

MemoryKey: TypeAlias = tuple[Partition, str]
"""A memory wherever it lives: ids are unique in a partition only."""

MAX_DELTA_BYTES = 64 * 1024
MAX_STREAM_BYTES = 1024 * 1024  # of the text that stands: what was rewound does not count
MAX_SOURCE_CHANGES = 10_000  # so that what is remembered is put together in a few milliseconds
MAX_CREDIT = 1000  # in one message
MAX_MIN_CHARS = 4096
MAX_MIN_INTERVAL = 60.0


class Source(IntEnum):
    """Where streamed text came from. Numbers are part of the API."""

    UNSPECIFIED = 0
    MODEL = 1
    REASONING = 2
    TOOL = 3
    USER = 4


class GenerationOutcome(IntEnum):
    """How a generation ended. Numbers are part of the API."""

    UNSPECIFIED = 0
    COMPLETED = 1
    STOPPED = 2
    FAILED = 3


class Reason(IntEnum):
    """Why a hit no longer holds. Numbers are part of the API."""

    SUPERSEDED = 1
    UPDATED = 2
    DELETED = 3
    EXPIRED = 4
    PURGED = 5
    NO_LONGER_VISIBLE = 6


@dataclass(frozen=True, slots=True)
class Trigger:
    """When new text is worth an evaluation. `min_drift` is for whoever has the vectors; it changes nothing here."""

    min_chars: int = 40
    min_interval: float = 0.05
    on_sentence_end: bool = True
    on_entity_mention: bool = True
    min_drift: float = 0.0


def _no_names(text: str) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Terms:
    """What a stream has settled on; the defaults are those of the contract.

    `max_hits` bounds what one evaluation brings, `withheld` what waits for credit. `names` says whether a piece of text
    (at most 4,200 code points) has the name of a known entity in it; it is asked for every delta, so it must be quick.
    """

    trigger: Trigger = Trigger()
    max_hits: int = 5
    initial_credit: int = 16
    max_total_hits: int = 64
    max_total_tokens: int = 4096
    min_confidence: float = 0.0
    known: frozenset[MemoryKey] = frozenset()
    first_seq: int = 1
    prompt: str = ""
    names: Callable[[str], bool] = _no_names
    heartbeat: float = 15.0
    withheld: int = 16


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Text to search for now. `text` is what stands from `span_start` to `span_end`, in the prompt when `trigger_seq`
    is 0 and in the streamed text otherwise; before `new_start` it is context that was searched for already."""

    number: int
    text: str
    trigger_seq: int
    span_start: int
    span_end: int
    new_start: int

    @property
    def is_prompt(self) -> bool:
        return self.trigger_seq == 0

    @property
    def new_text(self) -> str:
        return self.text[self.new_start - self.span_start :]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What an evaluation found: a hit, and the tokens that showing it costs; the memories that it was read from, and
    those that were read from it (some are enough)."""

    hit: Hit
    tokens: int
    sources: tuple[Memory, ...] = ()
    readings: tuple[Memory, ...] = ()

    @property
    def key(self) -> MemoryKey:
        return self.hit.partition, self.hit.memory.id

    @property
    def version(self) -> int:
        return self.hit.memory.version


@dataclass(frozen=True, slots=True)
class Changed:
    """A form of a memory has stopped holding. `holds_from` is the first version that may be sent after it: of UPDATED
    the new one, of the others one above the version that the change has recorded, or that has expired; None when no
    form ever may (PURGED). `successor` lives in the same partition.
    """

    key: MemoryKey
    reason: Reason
    holds_from: int | None
    successor: Memory | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """A hit for the agent. The span is what it was searched with, context included."""

    candidate: Candidate
    trigger_seq: int
    span_start: int
    span_end: int
    remaining_credit: int


@dataclass(frozen=True, slots=True)
class Retract:
    """A hit that was sent and holds no longer."""

    key: MemoryKey
    reason: Reason
    successor: Memory | None


@dataclass(frozen=True, slots=True)
class Watermark:
    """Every delta up to `seq` has been considered. `coalesced` triggers were answered by a later one's evaluation;
    `degraded` is said of the last evaluation. It is about the text after so many `rewinds`."""

    seq: int
    coalesced: int
    withheld: int
    degraded: bool
    rewinds: int = 0


@dataclass(frozen=True, slots=True)
class Backoff:
    """The effective trigger has changed to this; the reason is safe to show."""

    min_chars: int
    min_interval: float
    reason: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The totals. `evaluations` were answered; `evaluated_seq` is the last delta that was considered."""

    outcome: GenerationOutcome
    remember: bool
    hits_sent: int
    evaluations: int
    coalesced: int
    evaluated_seq: int
    retracted: int


Output: TypeAlias = Send | Retract | Watermark | Backoff | Finished


@dataclass(frozen=True, slots=True)
class Exchange:
    """What finish.remember keeps: the prompt, then what the model said and what the user typed meanwhile, in order,
    each as `MODEL` or `USER`. Reasoning and tool results are not in it."""

    prompt: str
    said: tuple[tuple[Source, str], ...]
