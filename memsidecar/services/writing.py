"""One writer a partition: whatever waits is decided together, appended in one transaction, applied, answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from memsidecar.domain.decision import Decision, Steps
from memsidecar.domain.draft import Request
from memsidecar.domain.errors import RequestIdReused, SidecarError
from memsidecar.domain.events import Entry, Event
from memsidecar.domain.fold import apply
from memsidecar.domain.job import JobChange
from memsidecar.domain.tokens import token_counts
from memsidecar.domain.view import Overlay
from memsidecar.ports.ledger import Append, Head, Ledger, RequestKnown, StaleRevision
from memsidecar.ports.ledger import Request as KnownRequest
from memsidecar.ports.runtime import Clock, Ids
from memsidecar.ports.tracing import Span, Tracer
from memsidecar.services.long_texts import is_long
from memsidecar.services.recorded import Answer, Recorded, Result, encode
from memsidecar.services.resident import Resident, Terms
from memsidecar.services.turn import Turn
from memsidecar.services.write_counts import WriteCounts

T = TypeVar("T")

_log = logging.getLogger(__name__)

# Events decided together; more than this would make one transaction long.
MAX_EVENTS = 2_000


class Pause:
    """A command yields it where others may have a turn; it is no result."""


PAUSE = Pause()

Command = Callable[[Decision], Iterable[Result | Pause]]
"""Decides; may be run again on a newer state, so it keeps nothing. One of many items yields their results one by one:
others get a turn between them."""


def in_turns(steps: Steps[T]) -> Generator[Pause, None, T]:
    """The steps of a long decision, others having a turn between them; what comes of it."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        yield PAUSE


Committed = Callable[[Resident, Sequence[Entry]], Awaitable[None]]


class Retired(Exception):
    """This writer's partition has left memory: load it again. Never reaches a caller of the service."""


@dataclass(slots=True, eq=False)
class _Waiting:
    command: Command
    request: Request
    terms: Terms
    future: asyncio.Future[Answer]
    results: tuple[Result, ...] = ()
    events: list[Event] = field(default_factory=list)
    jobs: list[JobChange] = field(default_factory=list)
    revision: int = 0
    span: Span | None = None


_Refused = tuple[_Waiting, SidecarError]


class PartitionWriter:
    """Serialises the writes of one partition. Runs a task only while there is something to write.

    `committed` is awaited with every commit before it is answered. When the partition in memory can no longer be relied
    on (another process has appended, or applying failed), the writer calls `lost` and is retired.
    """

    def __init__(
        self,
        resident: Resident,
        ledger: Ledger,
        clock: Clock,
        ids: Ids,
        committed: Committed,
        lost: Callable[[Resident], None],
        counts: WriteCounts,
        tracer: Tracer | None = None,
    ) -> None:
        self._resident, self._ledger, self._clock, self._ids = resident, ledger, clock, ids
        self._committed, self._lost, self._counts, self._tracer = committed, lost, counts, tracer
        self._inbox: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self._free = asyncio.Lock()
        self._applied = asyncio.Event()
        self._applied.set()
        self._retired = False

    @property
    def waiting(self) -> int:
        """Commands that have not been begun with."""
        return len(self._inbox)

    @property
    def idle(self) -> bool:
        return self._task is None and not self._free.locked()

    @property
    def pause(self) -> asyncio.Lock:
        """Held around a commit; whoever holds it sees a partition that does not change."""
        return self._free

    @property
    def at_rest(self) -> bool:
        """Whether the partition shows whole transactions only: not while one is being applied."""
        return self._applied.is_set()

    async def rest(self) -> None:
        """Wait for the transaction that is being applied; another one may have begun when the caller runs."""
        await self._applied.wait()

    def retire(self) -> None:
        """Take no more writes. Only for a writer that is idle."""
        self._retired = True

    async def submit(self, command: Command, request: Request, terms: Terms | None = None) -> Answer:
        """Run a command on the newest state and make its events durable and visible.

        A repeated request gets the first answer again. A caller that is cancelled does not take its write along: it is
        durable, or it never was. Raises Retired when the partition has left memory; nothing was written then.
        """
        if self._retired:
            raise Retired
        waiting = _Waiting(command, request, terms or {}, asyncio.get_running_loop().create_future())
        if self._tracer is not None:
            waiting.span = self._tracer.current()
        self._inbox.append(waiting)
        if self._task is None:
            self._task = asyncio.create_task(self._drain(), name="partition-writer")
        # Nobody else awaits it: a caller that is cancelled cancels this future, and the write goes on.
        return await waiting.future

    async def finish(self) -> None:
        """Wait until everything submitted is written."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _drain(self) -> None:
        try:
            while self._inbox:
                batch, self._inbox = self._inbox, []
                async with self._free:
                    await self._write(batch)
        finally:
            self._task = None

    async def _write(self, batch: list[_Waiting]) -> None:
        while batch:
            if self._retired:
                _fail(batch, Retired())
                return
            decided, refused, rest = await self._decide(batch)
            for waiting, error in refused:
                await self._refuse(waiting, error)
            batch = await self._append(decided) + rest

    async def _decide(self, batch: list[_Waiting]) -> tuple[list[_Waiting], list[_Refused], list[_Waiting]]:
        """Decide commands in order, each on top of the ones before; what does not fit is left for the next round."""
        view = Overlay(self._resident)
        now = self._clock.now()
        decided: list[_Waiting] = []
        refused: list[_Refused] = []
        seen: set[str] = set()
        events = 0
        turn = Turn()
        for index, waiting in enumerate(batch):
            request_id = waiting.request.request_id
            if events >= MAX_EVENTS or request_id in seen:
                return decided, refused, batch[index:]
            await turn.give()
            decision = Decision.on(view, self._resident.partition, now, self._ids.new, waiting.request)
            results = []
            try:
                for result in waiting.command(decision):
                    if not isinstance(result, Pause):
                        results.append(result)
                    await turn.give()
            except SidecarError as error:
                refused.append((waiting, error))
                continue
            except Exception as error:  # whatever it is, it is this caller's alone
                _set_error(waiting.future, error)
                continue
            waiting.results, waiting.events, waiting.jobs = tuple(results), decision.events, decision.jobs
            if index + 1 < len(batch):
                for event in waiting.events:
                    view.add(event)
                    await turn.give()
            events += len(waiting.events)
            if request_id:
                seen.add(request_id)
            decided.append(waiting)
        return decided, refused, []

    async def _refuse(self, waiting: _Waiting, error: SidecarError) -> None:
        """The command's own error, unless the request is a repeated one: what the first has done (a purge, a new etag,
        an id taken) makes the second fail, and yet it gets the first answer."""
        request_id = waiting.request.request_id
        try:
            known = await self._ledger.find_request(self._resident.partition, request_id) if request_id else None
        except SidecarError:
            known = None  # the command's error is true all the same
        if known is None:
            _set_error(waiting.future, error)
        else:
            await self._answer_known([waiting], {request_id: known})

    async def _append(self, decided: list[_Waiting]) -> list[_Waiting]:
        """Commit, apply, answer. Returns the commands that must be decided again."""
        revision = self._resident.head.revision
        requests: list[KnownRequest] = []
        turn = Turn()
        for waiting in decided:
            await turn.give()
            start = revision
            revision += len(waiting.events)
            waiting.revision = revision
            if waiting.request.request_id:
                answer = encode(waiting.results, waiting.events, start, revision)
                requests.append(KnownRequest(waiting.request.request_id, waiting.request.digest, answer))
        events = [event for waiting in decided for event in waiting.events]
        jobs = [change for waiting in decided for change in waiting.jobs]
        if events or requests or jobs:
            head, now = self._resident.head.revision, self._clock.now()
            batch = Append(self._resident.partition, head, events, now, requests, jobs)
            try:
                if self._tracer is None:
                    entries = await self._ledger.append(batch)
                else:
                    spans = [waiting.span for waiting in decided if waiting.span is not None]
                    with self._tracer.shared("ledger.append", spans, {"memsidecar.events": len(events)}):
                        entries = await self._ledger.append(batch)
            except RequestKnown as error:
                return await self._answer_known(decided, {r.request_id: r for r in error.known})
            except StaleRevision:
                _log.warning("somebody else has appended; the partition is loaded again")
                self._lose()
                return decided
            except Exception as error:  # nothing was stored, and whoever waits is told
                _fail(decided, error)
                return []
            try:
                await self._apply(entries, decided)
            except Exception:
                # It is durable: the answer stands, and the partition is loaded again from the ledger.
                _log.exception("a commit could not be applied")
                self._lose()
        for waiting in decided:
            self._counts.answered(waiting.results)
            if not waiting.future.done():
                waiting.future.set_result(Answer(waiting.results, waiting.revision))
        return []

    async def _apply(self, entries: Sequence[Entry], decided: list[_Waiting]) -> None:
        terms = await self._terms(entries, decided)
        turn = Turn()
        self._applied.clear()
        try:
            for entry in entries:
                if entry.event is not None:
                    for _ in self._resident.applying(apply(entry.event), terms, entry.revision):
                        await turn.give()
                    await turn.give()
            if entries:
                self._resident.head = Head(entries[-1].revision, b"")
        finally:
            self._applied.set()
        if entries:
            await self._committed(self._resident, entries)

    async def _terms(self, entries: Sequence[Entry], decided: list[_Waiting]) -> Terms:
        """The terms that the callers have counted, and those of long texts that change or go, counted in a thread."""
        terms = {text: found for waiting in decided for text, found in waiting.terms.items()}
        turn = Turn()
        for entry in entries:
            await turn.give()
            for text in self._resident.texts_of(apply(entry.event)) if entry.event is not None else ():
                if is_long(text) and text not in terms:
                    terms[text] = await asyncio.to_thread(token_counts, text)
        return terms

    def _lose(self) -> None:
        self._retired = True
        self._lost(self._resident)

    async def _answer_known(self, decided: list[_Waiting], known: dict[str, KnownRequest]) -> list[_Waiting]:
        again = []
        for waiting in decided:
            recorded = known.get(waiting.request.request_id)
            if recorded is None:
                again.append(waiting)
            elif recorded.digest != waiting.request.digest:
                _set_error(waiting.future, RequestIdReused(recorded.request_id))
            else:
                try:
                    answer = await Recorded(self._ledger, self._resident.partition).answer(recorded.answer)
                except SidecarError as error:
                    _set_error(waiting.future, error)
                    continue
                if not waiting.future.done():
                    waiting.future.set_result(answer)
        return again


def _fail(batch: list[_Waiting], error: Exception) -> None:
    for waiting in batch:
        _set_error(waiting.future, error)


def _set_error(future: asyncio.Future[Answer], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        # A caller that went away must not turn the error into a warning of the event loop.
        future.exception()
