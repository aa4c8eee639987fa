"""Going on with another call after one has broken: when, with what, and what has changed meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from random import uniform

from memsidecar_client._connection import Connection
from memsidecar_client._defaults import (
    CHECK_TIMEOUT,
    FIRST_RESUME_PAUSE,
    GENERATION_KNOWN_MEMORIES,
    LAST_RESUME_PAUSE,
    STEADY_AFTER,
)
from memsidecar_client._enums import MemoryState, RetractionReason
from memsidecar_client._errors import Conflict, DeadlineExceeded, MemsidecarError, NotFound, Unavailable
from memsidecar_client._errors import ResourceExhausted as Exhausted
from memsidecar_client._generation_inbox import Inbox
from memsidecar_client._generation_known import Known, known_to_proto
from memsidecar_client._generation_values import GenerationTerms
from memsidecar_client._memory_mapping import memory_from_proto
from memsidecar_client._memory_values import Episode, Fact, Memory
from memsidecar_client.v1.generation_service_pb2 import GenerationStart
from memsidecar_client.v1.memory_service_pb2 import GetMemoryRequest

_NO_LONGER: Mapping[MemoryState, RetractionReason] = {
    MemoryState.SUPERSEDED: RetractionReason.SUPERSEDED,
    MemoryState.DELETED: RetractionReason.DELETED,
    MemoryState.EXPIRED: RetractionReason.EXPIRED,
}


def idle(error: MemsidecarError) -> bool:
    """The server has ended a stream on which nothing was said for long. Where nothing may have to be taken back, it is
    not worth another before something is."""
    return isinstance(error, Conflict) and error.reason == "STREAM_IDLE"


def sign_of_life_after(error: MemsidecarError, before: float) -> float:
    """Seconds of silence that a server bears which has ended a stream as idle, halved."""
    try:
        limit = float(error.metadata.get("idle_seconds", ""))
    except ValueError:
        limit = before
    return min(before, limit) / 2


def resumable(error: MemsidecarError) -> bool:
    """Whether another call may get further than the one that ended so."""
    return isinstance(error, Unavailable) or idle(error) or (isinstance(error, Exhausted) and bool(error.retry_after))


class Attempts:
    """Spaces the attempts and ends them `allowed` seconds after the stream broke.

    A stream that breaks again soon after it was resumed is the same trouble, whose time goes on running.
    """

    def __init__(self, allowed: float) -> None:
        self._allowed = allowed
        self._until = 0.0
        self._pause = FIRST_RESUME_PAUSE
        self._resumed_at = float("-inf")
        self._error = MemsidecarError("")

    def begin(self, broken: MemsidecarError, now: float) -> None:
        self._error = broken
        if now - self._resumed_at > STEADY_AFTER:
            self._until, self._pause = now + self._allowed, FIRST_RESUME_PAUSE

    def pause(self, now: float) -> float:
        """Seconds until the next attempt. Raises Unavailable when there is to be none."""
        pause = max(uniform(self._pause / 2, self._pause), self._error.retry_after or 0.0)
        self._pause = min(2 * self._pause, LAST_RESUME_PAUSE)
        if now + pause >= self._until:
            raise self._given_up() from self._error
        return pause

    def left(self, now: float) -> float:
        return max(0.0, self._until - now)

    def failed(self, error: MemsidecarError, now: float) -> None:
        """Raises what is not worth another attempt."""
        if isinstance(error, DeadlineExceeded) and now >= self._until:
            self._error = error
            raise self._given_up() from error
        if not resumable(error):
            raise error
        self._error = error

    def succeeded(self, now: float) -> None:
        self._resumed_at = now

    def _given_up(self) -> Unavailable:
        message = f"the stream broke and could not go on within {self._allowed:g} s: {self._error}"
        return Unavailable(message, code="UNAVAILABLE", reason=self._error.reason, metadata=self._error.metadata)


def start_again(start: GenerationStart, limits: GenerationTerms, inbox: Inbox, first_seq: int) -> GenerationStart:
    """The start of a call that replaces another: what the first one granted, less what was used of it."""
    again = GenerationStart()
    again.CopyFrom(start)
    del again.known_memories[:]
    again.known_memories.extend(inbox.seen()[:GENERATION_KNOWN_MEMORIES])
    del again.known[:]
    again.known.extend(known_to_proto(inbox.told.items())[:GENERATION_KNOWN_MEMORIES])
    again.first_seq = first_seq
    # 0 would be the default again; when all are used up no credit is left either.
    again.max_total_hits = max(1, limits.max_total_hits - inbox.recalled)
    again.max_total_tokens = max(1, limits.max_total_tokens - inbox.tokens)
    again.initial_credit = inbox.credit
    return again


@dataclass(frozen=True, slots=True)
class Silence:
    """When the server was heard last, and of which memories it tells by itself that they are superseded."""

    since: datetime
    told_of: frozenset[str]


async def no_longer_true(
    connection: Connection, told: Mapping[str, Known], silence: Silence
) -> AsyncIterator[tuple[str, RetractionReason, Memory | None]]:
    """Of memories that the application has, those that stopped being true while nobody listened; what is superseded
    the server tells, with what holds instead, unless it is an older one."""
    for name, known in told.items():
        try:
            response = await connection.unary(
                connection.stubs.memories.GetMemory, GetMemoryRequest(name=name), CHECK_TIMEOUT
            )
        except NotFound:
            yield name, RetractionReason.PURGED, None
            continue
        except MemsidecarError:
            return
        memory = memory_from_proto(response.memory)
        reason = _ended(memory, known, silence, datetime.now(UTC))
        if reason is not None:
            yield name, reason, memory if reason is RetractionReason.UPDATED else None


def _ended(memory: Memory, known: Known, silence: Silence, now: datetime) -> RetractionReason | None:
    before, is_superseded = known.form, memory.state is MemoryState.SUPERSEDED
    if is_superseded and memory.name in silence.told_of and memory.name not in (known.superseded or ()):
        return None
    was_so = (before is not None and before.state is memory.state) or (
        is_superseded and memory.name in (known.superseded or ())
    )
    if memory.state in _NO_LONGER and not was_so:
        return _NO_LONGER[memory.state]
    if before is not None and _said(memory) != _said(before):
        return RetractionReason.UPDATED
    if memory.valid_end_time is not None and silence.since < memory.valid_end_time <= now:
        return RetractionReason.EXPIRED
    return None


def _said(memory: Memory) -> tuple[object, ...]:
    """What a reader was told: who said what, and when it holds."""
    body = memory.body
    own: object = body if isinstance(body, Fact) else body.speaker if isinstance(body, Episode) else None
    return memory.text, own, memory.valid_start_time, memory.valid_end_time
