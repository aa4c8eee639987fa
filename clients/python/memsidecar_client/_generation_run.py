"""Keeps a generation going: one task reads, one writes, and a call that breaks is replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memsidecar_client._connection import Connection
from memsidecar_client._defaults import GENERATION_TEXT_BYTES
from memsidecar_client._enums import GenerationOutcome, TextSource
from memsidecar_client._errors import Cancelled, InvalidArgument, MemsidecarError, Unavailable
from memsidecar_client._generation_flushes import Flushes
from memsidecar_client._generation_inbox import Inbox
from memsidecar_client._generation_known import Known
from memsidecar_client._generation_mapping import (
    backoff_from_proto,
    reason_from_proto,
    recalled_from_proto,
    session_error_from_proto,
    successor_from_proto,
    terms_from_proto,
    watermark_from_proto,
)
from memsidecar_client._generation_resuming import (
    Attempts,
    Silence,
    idle,
    no_longer_true,
    resumable,
    sign_of_life_after,
    start_again,
)
from memsidecar_client._generation_script import Script
from memsidecar_client._generation_values import (
    Draining,
    GenerationEvent,
    GenerationSummary,
    GenerationTerms,
    Resumed,
    Watermark,
)
from memsidecar_client._generation_wire import Wire
from memsidecar_client._status_details import Violation
from memsidecar_client._times import from_duration
from memsidecar_client.v1.generation_service_pb2 import (
    GenerationFinish,
    GenerationFinished,
    GenerationStart,
    RecallDuringRequest,
    RecallDuringResponse,
)
from memsidecar_client.v1.generation_service_pb2 import GenerationOutcome as WireOutcome
from memsidecar_client.v1.generation_service_pb2 import Watermark as WireWatermark


class GenerationRun:
    """What is called here changes the script and the inbox at once; the tasks catch up with it."""

    def __init__(
        self,
        connection: Connection,
        start: GenerationStart,
        *,
        known: Mapping[str, Known],
        auto_credit: bool,
        on_event: Callable[[GenerationEvent], None] | None,
        timeout: float | None,
        resume_timeout: float,
    ) -> None:
        self.script = Script()
        self.inbox = Inbox(known, self._renew if auto_credit else None)
        self.result: GenerationSummary | None = None
        self._connection = connection
        self._start = start
        self._on_event = on_event
        self._timeout = timeout
        self._deadline: float | None = None
        self._attempts = Attempts(resume_timeout)
        self._resumed = 0
        self._heard = datetime.now(UTC)
        self._terms: GenerationTerms | None = None
        # Those of the first call: what every call together may use.
        self._limits: GenerationTerms
        self._wire: Wire | None = None
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._leaving = asyncio.Event()
        self._flushes = Flushes()
        self._finishing: asyncio.Future[GenerationSummary] | None = None
        # The finish that the server may have acted on.
        self._finish_sent: GenerationFinish | None = None
        self._error: Exception | None = None
        self._raised = False

    async def open(self) -> None:
        """Raises MemsidecarError when the server does not take the generation on."""
        if self._wire is not None:
            raise RuntimeError("a generation is used once; call generation again")
        if self._timeout is not None:
            self._deadline = asyncio.get_running_loop().time() + self._timeout
        self._wire = Wire(self._connection, self._timeout)
        started = await self._wire.open(self._start, self._connection.deadline(self._timeout))
        self._terms = self._limits = terms_from_proto(started)
        self.inbox.settle(self._terms.initial_credit)
        self.inbox.knows(started.known)
        self._heard = datetime.now(UTC)
        self._task = asyncio.create_task(self._go_on(self._wire), name="memsidecar-generation")

    async def close(self) -> None:
        """Abandons what has not been finished."""
        self._leave()
        if self._task is not None:
            # It ends by itself; cancelling it in the middle of a read would cost native memory each time.
            await asyncio.wait([self._task])

    @property
    def going(self) -> bool:
        """Whether it takes text."""
        self.check_entered()
        return self._error is None and self._finishing is None and not self._leaving.is_set()

    @property
    def terms(self) -> GenerationTerms:
        self.check_entered()
        assert self._terms is not None
        return self._terms

    def feed(self, text: str, source: TextSource) -> None:
        self._check_going()
        self.script.feed(text, source, self._now())
        if self.script.too_long:
            self._error = _too_long()
            self._leave()
            raise self._error
        self._wake.set()

    def flush(self) -> asyncio.Future[Watermark]:
        self._check_going()
        considered = self._flushes.add(self.script.flush(), self.script.rewinds)
        self._wake.set()
        return considered

    def allow(self, hits: int) -> None:
        self._check_going()
        if not 1 <= hits <= 1000:
            raise ValueError(f"credit is 1 to 1000 hits, not {hits}")
        self.inbox.credit += hits
        self._renew(hits)

    def rewind(self, seq: int) -> None:
        self._check_going()
        self.script.rewind(seq)
        self._rewound(seq)

    def rewind_to(self, length: int) -> None:
        self._check_going()
        self._rewound(self.script.rewind_to(length, self._now()))

    def finish(self, outcome: GenerationOutcome, remember: bool) -> asyncio.Future[GenerationSummary]:
        if self._finishing is None:
            self._check_going()
            self._finishing = asyncio.get_running_loop().create_future()
            self.script.finish(GenerationFinish(outcome=WireOutcome.ValueType(outcome), remember=remember))
            self._wake.set()
        return asyncio.shield(self._finishing)

    def check_entered(self) -> None:
        if self._terms is None:
            raise RuntimeError("enter the generation first: async with client.generation(...) as generation")

    def raise_once(self) -> None:
        """What ended the generation, if it was an error that was not raised here before."""
        if self._error is not None and not self._raised:
            self._raised = True
            raise self._error

    def _check_going(self) -> None:
        self.check_entered()
        if self._error is not None:
            raise self._error
        if self._finishing is not None or self._leaving.is_set():
            raise RuntimeError("the generation is finished")

    def _leave(self) -> None:
        self._leaving.set()
        self._wake.set()
        if self._wire is not None:
            self._wire.cancel()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _renew(self, hits: int) -> None:
        self.script.allow(hits)
        self._wake.set()

    def _rewound(self, seq: int) -> None:
        self._flushes.rewound(seq)
        self.inbox.rewound(seq)
        if self.script.replace_call and self._wire is not None:
            self._wire.cancel()
        self._wake.set()

    async def _go_on(self, wire: Wire) -> None:
        error: Exception | None = Cancelled("the generation was cancelled", code="CANCELLED")
        replay: Iterable[RecallDuringRequest] = ()
        try:
            while (broken := await self._converse(wire, replay)) is not None:
                wire, replay = await self._resume(broken)
            error = None
        except Exception as caught:  # whatever it is, those who wait get it instead of waiting for ever
            error = caught
        finally:
            self._end(error)

    async def _converse(self, wire: Wire, replay: Iterable[RecallDuringRequest]) -> MemsidecarError | None:
        """Until the generation is over, or why it has to go on with another call."""
        writer = asyncio.create_task(self._write(wire, replay), name="memsidecar-generation-writer")
        try:
            while (response := await wire.read()) is not None:
                if self._take(response):
                    return None
            broken: MemsidecarError = Unavailable("the server ended the stream early", code="UNAVAILABLE")
        except MemsidecarError as error:
            if self._leaving.is_set():
                return None
            if not self.script.replace_call and not resumable(error):
                raise
            broken = error
        finally:
            wire.cancel()
            self._wake.set()
            await writer
        if self._finish_sent is not None:
            if self._finish_sent.remember:
                raise Unavailable(f"{broken}; it is unknown whether the generation was remembered", code="UNAVAILABLE")
            self.script.finish(self._finish_sent)
            self._finish_sent = None
        return broken

    async def _write(self, wire: Wire, replay: Iterable[RecallDuringRequest]) -> None:
        for message in replay:
            if not await wire.write(message):
                return
        self.script.began(self._now())
        while not wire.over:
            self._wake.clear()
            next_message = self.script.next(self._now(), self.inbox.watched)
            if next_message is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(self.script.due(self.inbox.watched)):
                        await self._wake.wait()
                continue
            if next_message.HasField("finish"):
                self._finish_sent = next_message.finish
            if not await wire.write(next_message):
                return

    async def _resume(self, broken: MemsidecarError) -> tuple[Wire, list[RecallDuringRequest]]:
        if idle(broken):
            self.script.keepalive = sign_of_life_after(broken, self.script.keepalive)
            while not (self.script.waits or self.inbox.watched or self._leaving.is_set()):
                self._wake.clear()
                await self._wake.wait()
        began, heard = self._now(), self._heard
        self._attempts.begin(broken, began)
        while True:
            if not self.script.replace_call:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._attempts.pause(self._now())):
                        await self._leaving.wait()
            if self._leaving.is_set():
                raise Cancelled("the generation was left", code="CANCELLED")
            first_seq, replay = self.script.replay(flush=bool(self._flushes))
            remaining = None if self._deadline is None else max(0.0, self._deadline - self._now())
            self._wire = wire = Wire(self._connection, remaining)
            try:
                start = start_again(self._start, self._limits, self.inbox, first_seq)
                started = await wire.open(start, self._attempts.left(self._now()))
            except MemsidecarError as error:
                if not self.script.replace_call:
                    self._attempts.failed(error, self._now())
                continue
            if not self.script.replace_call:
                break
            wire.cancel()
        self._attempts.succeeded(self._now())
        self._resumed += 1
        self._terms = terms_from_proto(started)
        self.inbox.credit = self._terms.initial_credit
        self._tell(Resumed(self._terms, timedelta(seconds=self._now() - began)))
        self._heard = datetime.now(UTC)
        self.inbox.knows(started.known)
        silence = Silence(heard, frozenset(known.memory for known in started.known))
        async for name, reason, successor in no_longer_true(self._connection, self.inbox.told, silence):
            self.inbox.take_back(name, reason, successor)
            self._call_back()
        return wire, replay

    def _take(self, response: RecallDuringResponse) -> bool:
        """Whether it was the last message. Events that this client does not know are left out."""
        self._heard = datetime.now(UTC)
        match response.WhichOneof("event"):
            case "hit":
                found = recalled_from_proto(response.hit)
                if self.inbox.recalled < self._limits.max_total_hits or not self._resumed:
                    self.inbox.found(replace(found, trigger_seq=self.script.own_seq(found.trigger_seq)))
                    self._wake.set()
            case "retracted":
                gone = response.retracted
                self.inbox.take_back(gone.memory, reason_from_proto(gone), successor_from_proto(gone))
            case "watermark":
                self._considered(response.watermark)
            case "backoff":
                backoff = backoff_from_proto(response.backoff)
                self.script.slow_down(backoff.min_interval.total_seconds())
                self._tell(backoff)
            case "draining":
                self._tell(Draining(from_duration(response.draining.grace)))
            case "finished":
                self._finished(response.finished)
                return True
        self._call_back()
        return False

    def _considered(self, message: WireWatermark) -> None:
        mark = watermark_from_proto(message)
        mark = replace(mark, seq=self.script.own_seq(mark.seq))
        rewinds = self.script.rewinds
        if message.HasField("rewinds"):
            rewinds = self.script.own_rewinds(message.rewinds)
        elif mark.seq > self.script.seq:
            # An older server's: all that shows that it was on its way when the text was rewound.
            return
        crossed = rewinds < self.script.rewinds
        if not crossed:
            self._tell(mark)
        self._flushes.considered(mark, rewinds, crossed=crossed)

    def _finished(self, message: GenerationFinished) -> None:
        self.result = GenerationSummary(
            recalled=self.inbox.recalled,
            retracted=self.inbox.retracted,
            evaluations=message.evaluations,
            coalesced=message.coalesced,
            evaluated_seq=self.script.own_seq(message.evaluated_seq),
            remembered=tuple(message.remembered_memories),
            revision=message.revision.token,
            resumed=self._resumed,
            session_error=session_error_from_proto(message),
        )

    def _tell(self, event: GenerationEvent) -> None:
        self.inbox.tell(event)
        self._call_back()

    def _call_back(self) -> None:
        if self._on_event is not None:
            while (event := self.inbox.take()) is not None:
                self._on_event(event)

    def _end(self, error: Exception | None) -> None:
        self._error = error = self._error or error
        self.inbox.end()
        waiting: list[asyncio.Future[Any]] = [*self._flushes.unanswered()]
        if self._finishing is not None:
            waiting.append(self._finishing)
            if self.result is not None and not self._finishing.done():
                self._finishing.set_result(self.result)
        for future in waiting:
            if not future.done():
                future.set_exception(error or RuntimeError("the generation is finished"))
                # Nobody may wait any more.
                future.exception()


def _too_long() -> InvalidArgument:
    problem = f"is longer than {GENERATION_TEXT_BYTES:,} bytes of UTF-8 in all; open another generation"
    return InvalidArgument(f"the text {problem}", code="INVALID_ARGUMENT", violations=(Violation("text", problem),))
