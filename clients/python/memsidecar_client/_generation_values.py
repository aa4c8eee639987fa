"""What recall during generation takes and gives. All offsets count code points, as Python's strings do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from memsidecar_client._enums import RetractionReason
from memsidecar_client._memory_values import Memory
from memsidecar_client._recall_values import Hit


@dataclass(frozen=True, slots=True)
class Trigger:
    """When new text is worth an evaluation; what is not given is the server's default.

    Any one of a sentence's end, the name of a known entity, and `min_chars` code points starts one, but none before
    `min_interval` has passed. Text nearer than `min_drift` (0 to 1) to what was evaluated last is not searched for.
    """

    min_chars: int = 0
    min_interval: timedelta | None = None
    on_sentence_end: bool | None = None
    on_entity_mention: bool | None = None
    min_drift: float = 0.0


@dataclass(frozen=True, slots=True)
class GenerationTerms:
    """What the server settled on. `revision` is what the memory was when the stream began."""

    stream_id: str
    trigger: Trigger
    max_hits: int
    initial_credit: int
    max_total_hits: int
    max_total_tokens: int
    min_confidence: float
    revision: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory has become relevant. Each comes once, and once more when it was retracted because its text changed.

    `trigger_seq` is the piece of text that brought it up, 0 the prompt. `span` is the text that it was searched with,
    as a slice: of all text fed so far, or of the prompt. `remaining_credit` is how many more hits the server may send.
    """

    hit: Hit
    trigger_seq: int
    span: tuple[int, int]
    remaining_credit: int


@dataclass(frozen=True, slots=True)
class Retracted:
    """A memory that was sent is no longer true. `memory` is its resource name, `hit` what had been sent.

    `successor` holds instead: another memory or, after an update, the same one in its present form.
    """

    memory: str
    reason: RetractionReason
    successor: Memory | None = None
    hit: Hit | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """Every piece of text up to `seq` has been considered; what was found in it has been sent.

    `coalesced` counts triggers that were answered by a later one, `withheld_hits` wait for credit. `degraded`: a source
    failed or was late.
    """

    seq: int
    coalesced: int = 0
    withheld_hits: int = 0
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class Backoff:
    """The server is busy; the stream sends larger pieces, less often, from now on."""

    min_chars: int
    min_interval: timedelta
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Draining:
    """The server goes away within `grace`. Finish by then, or go on: the stream moves to the next server by itself."""

    grace: timedelta


@dataclass(frozen=True, slots=True)
class Resumed:
    """The stream broke and goes on, on another call. `away` is how long nothing could be recalled."""

    terms: GenerationTerms
    away: timedelta


GenerationEvent: TypeAlias = Recalled | Retracted | Watermark | Backoff | Draining | Resumed


@dataclass(frozen=True, slots=True)
class GenerationSummary:
    """What came of a generation. `recalled`, `retracted` and `resumed` count over all of it, what the server counts
    (`evaluations`, `coalesced`) since it was resumed last.

    `remembered` are the names of the memories that finishing has stored. `session_error` is why the session has not got
    what was remembered, a reason as in `MemsidecarError.reason` ("SESSION_ENDED"), or empty. `evaluated_seq` is how far
    the text was considered.
    """

    recalled: int
    retracted: int
    evaluations: int
    coalesced: int
    evaluated_seq: int
    remembered: tuple[str, ...]
    revision: str
    resumed: int = 0
    session_error: str = ""
