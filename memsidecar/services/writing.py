"""One writer a partition: whatever waits is decided together, appended in one transaction, applied, answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from memsidecar.domain.decide import Decision
from memsidecar.domain.draft import Action, Outcome, Request
from memsidecar.domain.errors import InvalidField, RequestIdReused, SidecarError, StoreUnavailable
from memsidecar.domain.events import Entry, Event, MemoryRecorded
from memsidecar.domain.fold import apply
from memsidecar.domain.memory import Memory
from memsidecar.domain.view import Overlay
from memsidecar.ports.ledger import Append, Head, Ledger, RequestKnown, StaleRevision
from memsidecar.ports.ledger import Request as Recorded
from memsidecar.ports.runtime import Clock, Ids
from memsidecar.services.resident import Resident

# Events decided together; more than this would make one transaction, and one slice of applying, long.
MAX_EVENTS = 2_000
# Memories applied before others get a turn on the loop.
APPLY_SLICE = 16

Result = Outcome | SidecarError | None
"""What a command did to one memory: an outcome, an error of that item alone, or None for a memory that is gone."""

Command = Callable[[Decision], Sequence[Result]]


@dataclass(frozen=True, slots=True)
class Answer:
    """Results in the order of the command's items, and the revision that shows them."""

    results: tuple[Result, ...]
    revision: int


@dataclass(slots=True, eq=False)
class _Waiting:
    command: Command
    request: Request
    terms: Mapping[bytes, list[str]]
    future: asyncio.Future[Answer]
    results: tuple[Result, ...] = ()
    events: list[Event] = field(default_factory=list)
    revision: int = 0


class PartitionWriter:
    """Serialises the writes of one partition. Runs a task only while there is something to write."""

    def __init__(
        self,
        resident: Resident,
        ledger: Ledger,
        clock: Clock,
        ids: Ids,
        committed: Callable[[Resident, Sequence[Entry]], None],
    ) -> None:
        self._resident, self._ledger, self._clock, self._ids = resident, ledger, clock, ids
        self._committed = committed
        self._inbox: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self._free = asyncio.Lock()

    @property
    def idle(self) -> bool:
        return self._task is None and not self._free.locked()

    @property
    def pause(self) -> asyncio.Lock:
        """Held around a commit; whoever holds it sees a partition that does not change."""
        return self._free

    async def submit(
        self, command: Command, request: Request, terms: Mapping[bytes, list[str]] | None = None
    ) -> Answer:
        """Run a command on the newest state and make its events durable and visible.

        `terms` are tokens prepared for drafts, by content digest. A repeated request gets the first answer again.
        A caller that is cancelled does not take its write along: it is durable, or it never was.
        """
        waiting = _Waiting(command, request, terms or {}, asyncio.get_running_loop().create_future())
        self._inbox.append(waiting)
        if self._task is None:
            self._task = asyncio.create_task(self._drain(), name="partition-writer")
        return await asyncio.shield(waiting.future)

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
        try:
            while batch:
                decided, rest = self._decide(batch)
                batch = rest + await self._append(decided)
        except SidecarError as error:
            _fail(batch, error)
        except Exception as error:
            _fail(batch, error)
            raise

    def _decide(self, batch: list[_Waiting]) -> tuple[list[_Waiting], list[_Waiting]]:
        """Decide commands in order, each on top of the ones before; what does not fit is left for the next round."""
        view = Overlay(self._resident)
        now = self._clock.now()
        decided: list[_Waiting] = []
        seen: dict[str, _Waiting] = {}
        events = 0
        for index, waiting in enumerate(batch):
            request_id = waiting.request.request_id
            if events >= MAX_EVENTS or request_id in seen:
                return decided, batch[index:]
            decision = Decision.on(view, self._resident.partition, now, self._ids.new, waiting.request)
            try:
                waiting.results = tuple(waiting.command(decision))
            except SidecarError as error:
                _set_error(waiting.future, error)
                continue
            waiting.events = decision.events
            if index + 1 < len(batch):
                for event in waiting.events:
                    view.add(event)
            events += len(waiting.events)
            if request_id:
                seen[request_id] = waiting
            decided.append(waiting)
        return decided, []

    async def _append(self, decided: list[_Waiting]) -> list[_Waiting]:
        """Commit, apply, answer. Returns the commands that must be decided again."""
        revision = self._resident.head.revision
        requests: list[Recorded] = []
        for waiting in decided:
            start = revision
            revision += len(waiting.events)
            waiting.revision = revision
            if waiting.request.request_id:
                answer = _encode(waiting, start)
                requests.append(Recorded(waiting.request.request_id, waiting.request.digest, answer))
        events = [event for waiting in decided for event in waiting.events]
        if events or requests:
            batch = Append(self._resident.partition, self._resident.head.revision, events, self._clock.now(), requests)
            try:
                entries = await self._ledger.append(batch)
            except RequestKnown as error:
                return await self._answer_known(decided, {r.request_id: r for r in error.known})
            except StaleRevision as error:
                _fail(decided, StoreUnavailable("ledger", "was written by another process"))
                raise StoreUnavailable("ledger", "was written by another process") from error
            except SidecarError as error:
                _fail(decided, error)
                return []
            await self._apply(entries, decided)
        for waiting in decided:
            if not waiting.future.done():
                waiting.future.set_result(Answer(waiting.results, waiting.revision))
        return []

    async def _apply(self, entries: Sequence[Entry], decided: list[_Waiting]) -> None:
        terms = {digest: found for waiting in decided for digest, found in waiting.terms.items()}
        for count, entry in enumerate(entries, 1):
            if entry.event is None:
                continue
            delta = apply(entry.event)
            known = terms.get(delta.put.digest) if delta.put is not None and delta.put.version == 1 else None
            self._resident.apply(delta, known)
            if count % APPLY_SLICE == 0:
                await asyncio.sleep(0)
        if entries:
            self._resident.head = Head(entries[-1].revision, b"")
            self._committed(self._resident, entries)

    async def _answer_known(self, decided: list[_Waiting], known: dict[str, Recorded]) -> list[_Waiting]:
        again = []
        for waiting in decided:
            recorded = known.get(waiting.request.request_id)
            if recorded is None:
                again.append(waiting)
            elif recorded.digest != waiting.request.digest:
                _set_error(waiting.future, RequestIdReused(recorded.request_id))
            else:
                answer = await self._replay(recorded.answer)
                if not waiting.future.done():
                    waiting.future.set_result(answer)
        return again

    async def _replay(self, stored: bytes) -> Answer:
        """The first answer again, from the ledger. A memory purged since is None."""
        parsed = json.loads(stored)
        results: list[Result] = []
        for item in parsed["results"]:
            if "field" in item:
                results.append(InvalidField(item["field"], item["problem"]))
                continue
            memory = await self._version(item["id"], item["at"]) if item["id"] else None
            if memory is None:
                results.append(None)
            else:
                results.append(Outcome(Action(item["action"]), memory, item["why"], item["due"]))
        return Answer(tuple(results), parsed["revision"])

    async def _version(self, memory_id: str, at: int) -> Memory | None:
        entries = await self._ledger.history(self._resident.partition, memory_id, at + 1, 8)
        for entry in entries:
            if isinstance(entry.event, MemoryRecorded):
                return entry.event.memory
        return None


def _encode(waiting: _Waiting, start: int) -> bytes:
    at = {
        event.memory.id: start + offset
        for offset, event in enumerate(waiting.events, 1)
        if isinstance(event, MemoryRecorded)
    }
    results: list[dict[str, object]] = []
    for result in waiting.results:
        if isinstance(result, InvalidField):
            field_path, problem = result.violations[0]
            results.append({"field": field_path, "problem": problem})
        elif isinstance(result, Outcome):
            memory_id = result.memory.id
            results.append(
                {
                    "id": memory_id,
                    "at": at.get(memory_id, start),
                    "action": int(result.action),
                    "why": result.explanation,
                    "due": result.embedding_pending,
                }
            )
        else:
            results.append({"id": ""})
    return json.dumps({"results": results, "revision": waiting.revision}, ensure_ascii=False).encode()


def _fail(batch: list[_Waiting], error: Exception) -> None:
    for waiting in batch:
        _set_error(waiting.future, error)


def _set_error(future: asyncio.Future[Answer], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        # A caller that went away must not turn the error into a warning of the event loop.
        future.exception()
