"""GenerationService."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from memsidecar.domain.errors import InvalidField, ProtocolViolation, StreamIdle
from memsidecar.domain.feedback import Verdict
from memsidecar.domain.generation.values import GenerationOutcome, Terms
from memsidecar.server.mapping.generation import (
    happening_response,
    read_memory_key,
    read_source,
    read_start,
    started_response,
)
from memsidecar.server.mapping.memory_out import UsageOf
from memsidecar.server.mapping.names import read_scope
from memsidecar.server.validation import Violations, check
from memsidecar.services.following import Ended, Following
from memsidecar.services.generation import RecallDuring
from memsidecar.v1 import generation_service_pb2 as pb

# What an idle client has to take the status of its stream; one that does not read takes none, and is cancelled.
_UNREAD_SECONDS: Final = 1.0
# A message that was sent in the same breath as finish is here by then. Whoever closes his side is not waited for.
_SAME_BREATH: Final = 0.005


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """`usual` has what a stream settles on where its agent does not say; `idle` is in seconds."""

    default_namespace: str
    idle: float
    usual: Terms


class GenerationServicer:
    def __init__(
        self, recall_during: RecallDuring, usage_of: UsageOf, now: Callable[[], int], settings: GenerationSettings
    ) -> None:
        self._recall_during, self._usage_of, self._now = recall_during, usage_of, now
        self._settings = settings

    async def RecallDuring(  # noqa: N802
        self, requests: AsyncIterator[pb.RecallDuringRequest]
    ) -> AsyncGenerator[pb.RecallDuringResponse, None]:
        # A task of its own reads: who reads messages cannot tell a cancelled call from one that is half-closed.
        incoming = _Incoming(self._recall_during, self._settings)
        reader = asyncio.create_task(incoming.read(requests), name="recall-during-reader")
        try:
            following, revision = await incoming.opened
            partition = following.opening.question.scope.partition
            incoming.offers()
            yield started_response(following, revision)
            incoming.took()
            async with aclosing(following.happenings()) as happenings:
                async for happening in happenings:
                    incoming.offers()
                    if isinstance(happening, Ended):
                        incoming.require_silence()
                    yield happening_response(happening, partition, self._now(), self._usage_of)
                    incoming.took()
        finally:
            # All of it is told to end before anything is awaited: a call that fails and is cancelled, too, is cancelled
            # here.
            reader.cancel()
            incoming.stop()
            await asyncio.gather(reader, return_exceptions=True)
            await incoming.close()


class _Incoming:
    """What the agent sends. Whatever is wrong with it ends the stream."""

    def __init__(self, recall_during: RecallDuring, settings: GenerationSettings) -> None:
        self._recall_during, self._settings = recall_during, settings
        self._loop = asyncio.get_running_loop()
        self._call = asyncio.current_task()
        self.opened: asyncio.Future[tuple[Following, int]] = self._loop.create_future()
        self._following: Following | None = None
        self._finished = self._offered = self._is_overdue = False
        self._finish: pb.GenerationFinish | None = None
        self._finishing: asyncio.TimerHandle | None = None
        self._wrong: Exception | None = None
        self._received = time.monotonic()
        self._idle = self._loop.call_later(settings.idle, self._look_for_life)

    def offers(self) -> None:
        """An event waits until the agent takes it."""
        self._offered = True

    def took(self) -> None:
        """It has; after finish that is the only sign of life."""
        self._offered = False
        if self._finished:
            self._received = time.monotonic()

    async def read(self, requests: AsyncIterator[pb.RecallDuringRequest]) -> None:
        try:
            async for request in requests:
                self._received = time.monotonic()
                if self._following is None:
                    await self._open(request)
                else:
                    await self._take(self._following, request)
                self._received = time.monotonic()
            if not self._finished:
                raise ProtocolViolation("finish" if self._following else "start", "the end of the stream")
            self._end()
        except Exception as error:
            self._fail(error)

    def require_silence(self) -> None:
        """Raises what was wrong with anything that came after finish."""
        if self._wrong is not None:
            raise self._wrong

    def stop(self) -> None:
        self._idle.cancel()
        if self._finishing is not None:
            self._finishing.cancel()
        if self._following is not None:
            self._following.stop()
        if self.opened.done() and not self.opened.cancelled():
            self.opened.exception()  # seen, also when the call ended first

    async def close(self) -> None:
        self.stop()
        if self._following is not None:
            await self._following.close()

    async def _open(self, request: pb.RecallDuringRequest) -> None:
        event = request.WhichOneof("event")
        if event != "start":
            raise ProtocolViolation("start", event or "an empty message")
        start = request.start
        violations = Violations(check(start, "start"))
        violations.raise_any()
        scope = read_scope(start.scope, self._settings.default_namespace)
        opening = read_start(start, scope, self._settings.usual, violations)
        violations.raise_any()
        try:
            self._following, revision = await self._recall_during.open(opening)
        except InvalidField as error:
            (path, problem), *more = ((f"start.{path}", problem) for path, problem in error.violations)
            raise InvalidField(path, problem, *more) from error
        if not self.opened.done():
            self.opened.set_result((self._following, revision))

    async def _take(self, following: Following, request: pb.RecallDuringRequest) -> None:
        event = request.WhichOneof("event")
        if self._finished:
            raise ProtocolViolation("the end of the stream", event or "an empty message")
        if event is None or event == "start":
            raise ProtocolViolation("text, flush, credit, rewind, feedback or finish", event or "an empty message")
        message = getattr(request, event)
        Violations(check(message, event)).raise_any()
        match event:
            case "text":
                following.text(message.seq, message.text, read_source(message))
            case "flush":
                following.flush()
            case "credit":
                following.credit(message.hits)
            case "rewind":
                following.rewind(message.seq)
            case "feedback":
                scope = following.opening.question.scope
                key = read_memory_key(message.memory, "feedback.memory", scope)
                await following.judge(key, Verdict(message.kind))
            case "finish":
                # Not at once: what is wrong with a message that is here already is told before anything is kept.
                self._finished, self._finish = True, message
                self._finishing = self._loop.call_later(_SAME_BREATH, self._loop.call_soon, self._end)

    def _end(self) -> None:
        """The agent has said its last: there is nothing more, or not yet."""
        finish, self._finish = self._finish, None
        if finish is None or self._following is None or self._wrong is not None:
            return
        try:
            self._following.finish(GenerationOutcome(finish.outcome), finish.remember)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._wrong = self._wrong or error
        if self._following is not None:
            self._following.fail(error)
        elif not self.opened.done():
            self.opened.set_exception(error)

    def _look_for_life(self) -> None:
        left = self._received + self._settings.idle - time.monotonic()
        if left <= 0:
            if self._is_overdue and self._offered and self._call is not None:
                self._call.cancel()
                return
            self._is_overdue, left = True, _UNREAD_SECONDS
            if not self._finished:
                self._fail(StreamIdle(self._settings.idle))
        self._idle = self._loop.call_later(left, self._look_for_life)
