"""A watch over the changes of a scope, which outlives restarts of the sidecar."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from memsidecar_client._connection import Connection
from memsidecar_client._defaults import WATCH_FIRST_PAUSE, WATCH_LAST_PAUSE, WATCH_QUEUE_EVENTS
from memsidecar_client._errors import Cancelled, DeadlineExceeded, MemsidecarError, ResourceExhausted, Unavailable
from memsidecar_client._knowledge_mapping import conflict_from_proto
from memsidecar_client._memory_mapping import revision_from_proto
from memsidecar_client._watch_values import (
    ConflictChanged,
    MemoryChanged,
    WatchBehind,
    WatchEvent,
    WatchHeartbeat,
    WatchInterrupted,
)
from memsidecar_client.v1.watch_pb2 import WatchMemoriesRequest, WatchMemoriesResponse

if TYPE_CHECKING:
    import grpc.aio

# What goes away by itself: a restart, a crowd after it. All else ends the watch.
_PASSING = (Unavailable, Cancelled, ResourceExhausted, DeadlineExceeded)


@dataclass(frozen=True, slots=True)
class _End:
    """The watch is over; why, when it broke."""

    error: Exception | None


class AsyncMemoryWatch(AsyncIterator[WatchEvent]):
    """`async with` begins the watch, `async for` gives what it tells, leaving the block ends it.

    Once the block is entered, every later change is told. When the sidecar goes away the watch says so, and goes on
    where it was as soon as it is back: each change is told once. Waiting for an event may be cancelled or timed out
    without harm. Whatever does not pass by itself raises MemsidecarError from the iteration, after the events that came
    before: a revision that a restored store has not reached, damaged data.
    """

    def __init__(self, connection: Connection, request: WatchMemoriesRequest, timeout: float | None) -> None:
        self._connection = connection
        self._request = request
        self._timeout = timeout
        self._revision = request.after.token
        self._call: grpc.aio.UnaryStreamCall[WatchMemoriesRequest, WatchMemoriesResponse] | None = None
        self._pump: asyncio.Task[None] | None = None
        self._events: asyncio.Queue[WatchEvent | _End] = asyncio.Queue(WATCH_QUEUE_EVENTS)
        self._begun = asyncio.Event()
        self._closing = asyncio.Event()
        self._end: _End | None = None

    @property
    def revision(self) -> str:
        """Where a later watch goes on: the revision of the event that was given last."""
        return self._revision

    async def __aenter__(self) -> Self:
        if self._pump is not None:
            raise RuntimeError("a watch is used once; call watch_memories again")
        # Reading in a task of its own: a read that the application cancels would cancel the whole call.
        self._pump = asyncio.create_task(self._read(), name="memsidecar-watch")
        try:
            await self._begun.wait()
            if self._end is not None and self._end.error is not None:
                raise self._end.error
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end = _End(None)
        self._closing.set()
        if self._pump is None:
            return
        # The pump ends by itself once its call is cancelled. Cancelling the pump instead, in the middle of a read,
        # would cost native memory each time.
        if self._call is not None:
            self._call.cancel()
        while not self._events.empty():
            self._events.get_nowait()
        await asyncio.wait([self._pump])

    def __aiter__(self) -> Self:
        if self._pump is None:
            raise RuntimeError("enter the watch first: async with client.watch_memories(...) as events")
        return self

    async def __anext__(self) -> WatchEvent:
        event = await self.next_event()
        if event is None:
            raise StopAsyncIteration
        return event

    async def next_event(self, timeout: float | None = None) -> WatchEvent | None:
        """The next event; None once the block has been left.

        With `timeout`, seconds, raises TimeoutError when none comes; the watch goes on.
        """
        if self._end is None:
            async with asyncio.timeout(timeout):
                event = await self._events.get()
            if not isinstance(event, _End):
                self._revision = event.revision
                return event
            self._end = self._end or event
        if self._end.error is not None:
            error, self._end = self._end.error, _End(None)
            raise error
        return None

    async def _read(self) -> None:
        """Call again and again, each time after what came last, until the watch is closed or something stays wrong."""
        pause, reached, is_told = WATCH_FIRST_PAUSE, self._revision, True
        end = _End(None)
        while not self._closing.is_set():
            before = reached
            try:
                async for event in self._one_call(reached):
                    await self._events.put(event)
                    reached, is_told = event.revision, False
                    self._begun.set()
                error: MemsidecarError = Unavailable("the sidecar has ended the watch", code="UNAVAILABLE")
            except _PASSING as passing:
                error = passing
            except Exception as lasting:  # whatever it is, the reader of the events gets it instead of waiting for ever
                end = _End(lasting)
                break
            if not self._begun.is_set() or self._connection.is_closed:
                end = _End(error)
                break
            if not is_told:
                await self._events.put(WatchInterrupted(error, reached))
                is_told = True
            pause = WATCH_FIRST_PAUSE if reached != before else min(2 * pause, WATCH_LAST_PAUSE)
            # Shortened at random: the watches of a sidecar that was restarted must not all come back at once.
            wait = max(pause * random.uniform(0.5, 1.0), error.retry_after or 0.0)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), wait)
        if not self._begun.is_set():
            self._end = self._end or end
            self._begun.set()
        await self._events.put(end)

    async def _one_call(self, after: str) -> AsyncIterator[WatchEvent]:
        """What one call tells. Raises MemsidecarError when it ends."""
        metadata, loop = self._connection.metadata(), asyncio.get_running_loop()
        request = WatchMemoriesRequest()
        request.CopyFrom(self._request)
        if after:
            request.after.token = after
        # Entering waits for a sidecar if the client does; going on always does.
        wait_for_ready = self._connection.wait_for_ready or self._begun.is_set()
        call = self._connection.stubs.memories.WatchMemories(request, metadata=metadata, wait_for_ready=wait_for_ready)
        self._call = call
        self._connection.open_calls.add(call)
        # A watch has no deadline; that it begins has one.
        too_late = loop.create_future()
        opening = loop.call_later(self._connection.deadline(self._timeout), _expire, call, too_late)
        try:
            with self._connection.typed_errors(metadata):
                async for response in call:
                    opening.cancel()
                    if (event := _event(response)) is not None:
                        yield event
        except Cancelled:
            if too_late.done():
                raise self._connection.not_opened() from None
            raise
        finally:
            opening.cancel()
            self._connection.open_calls.discard(call)
            call.cancel()


def _expire(
    call: grpc.aio.UnaryStreamCall[WatchMemoriesRequest, WatchMemoriesResponse], too_late: asyncio.Future[None]
) -> None:
    too_late.set_result(None)
    call.cancel()


def _event(response: WatchMemoriesResponse) -> WatchEvent | None:
    """None for a kind that this client does not know."""
    revision = response.revision.token
    match response.WhichOneof("event"):
        case "change":
            return MemoryChanged(revision_from_proto(response.change), revision)
        case "conflict":
            return ConflictChanged(conflict_from_proto(response.conflict), revision)
        case "heartbeat":
            return WatchHeartbeat(response.heartbeat.caught_up, revision)
        case "behind":
            return WatchBehind(response.behind.pending, revision)
        case _:
            return None
