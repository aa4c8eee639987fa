"""A job as it goes on, over restarts of the sidecar."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from memsidecar_client._connection import Connection
from memsidecar_client._defaults import WATCH_FIRST_PAUSE, WATCH_LAST_PAUSE, WATCH_QUEUE_EVENTS
from memsidecar_client._errors import Cancelled, DeadlineExceeded, MemsidecarError, ResourceExhausted, Unavailable
from memsidecar_client._job_values import Job
from memsidecar_client.v1 import job_service_pb2 as pb

if TYPE_CHECKING:
    import grpc.aio

# What goes away by itself: a restart, a crowd after it. All else ends the watch.
_PASSING = (Unavailable, Cancelled, ResourceExhausted, DeadlineExceeded)


@dataclass(frozen=True, slots=True)
class _End:
    error: Exception | None


class AsyncJobWatch(AsyncIterator[Job]):
    """`async with` begins the watch, `async for` gives the job whenever it has changed, the last time in a final state.

    While the sidecar is away it waits, and goes on as soon as it is back. Waiting for a change may be cancelled or
    timed out without harm. Whatever does not pass by itself raises MemsidecarError from the iteration.
    """

    def __init__(
        self,
        connection: Connection,
        request: pb.WatchJobRequest,
        read: Callable[[pb.Job], Job],
        timeout: float | None,
    ) -> None:
        self._connection, self._request, self._read_job, self._timeout = connection, request, read, timeout
        self._call: grpc.aio.UnaryStreamCall[pb.WatchJobRequest, pb.WatchJobResponse] | None = None
        self._pump: asyncio.Task[None] | None = None
        self._events: asyncio.Queue[Job | _End] = asyncio.Queue(WATCH_QUEUE_EVENTS)
        self._closing = asyncio.Event()
        self._end: _End | None = None
        self._begun = False

    async def __aenter__(self) -> Self:
        if self._pump is not None:
            raise RuntimeError("a watch is used once; call watch_job again")
        # Reading in a task of its own: a read that the application cancels would cancel the whole call.
        self._pump = asyncio.create_task(self._read(), name="memsidecar-job-watch")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end = _End(None)
        self._closing.set()
        if self._pump is None:
            return
        # The pump ends by itself once its call is cancelled.
        if self._call is not None:
            self._call.cancel()
        while not self._events.empty():
            self._events.get_nowait()
        await asyncio.wait([self._pump])

    def __aiter__(self) -> Self:
        if self._pump is None:
            raise RuntimeError("enter the watch first: async with client.watch_job(...) as jobs")
        return self

    async def __anext__(self) -> Job:
        job = await self.next_job()
        if job is None:
            raise StopAsyncIteration
        return job

    async def next_job(self, timeout: float | None = None) -> Job | None:
        """The job after its next change; None once it has ended or the block has been left.

        With `timeout`, seconds, raises TimeoutError when nothing changes; the watch goes on.
        """
        if self._end is None:
            async with asyncio.timeout(timeout):
                event = await self._events.get()
            if not isinstance(event, _End):
                return event
            self._end = self._end or event
        if self._end.error is not None:
            error, self._end = self._end.error, _End(None)
            raise error
        return None

    async def _read(self) -> None:
        """Call again and again until the job has ended, the watch is closed, or something stays wrong."""
        pause, told, end = WATCH_FIRST_PAUSE, None, _End(None)
        while not self._closing.is_set():
            error: MemsidecarError = Unavailable("the sidecar has ended the watch", code="UNAVAILABLE")
            try:
                async for job in self._one_call():
                    self._begun, pause = True, WATCH_FIRST_PAUSE
                    # After a break the first message tells again how it stands.
                    if job != told:
                        await self._events.put(job)
                        told = job
                if told is not None and told.is_final:
                    break
            except _PASSING as passing:
                error = passing
            except Exception as lasting:  # whatever it is, the reader gets it instead of waiting for ever
                end = _End(lasting)
                break
            if not self._begun or self._connection.is_closed:
                end = _End(error)
                break
            # Shortened at random: the watches of a sidecar that was restarted must not all come back at once.
            wait = max(pause * random.uniform(0.5, 1.0), error.retry_after or 0.0)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), wait)
            pause = min(2 * pause, WATCH_LAST_PAUSE)
        await self._events.put(end)

    async def _one_call(self) -> AsyncIterator[Job]:
        metadata, loop = self._connection.metadata(), asyncio.get_running_loop()
        # Entering waits for a sidecar if the client does; going on always does.
        wait_for_ready = self._connection.wait_for_ready or self._begun
        call = self._connection.stubs.jobs.WatchJob(self._request, metadata=metadata, wait_for_ready=wait_for_ready)
        self._call = call
        self._connection.open_calls.add(call)
        # A watch has no deadline; that it begins has one.
        late = loop.create_future()
        opening = loop.call_later(self._connection.deadline(self._timeout), _expire, call, late)
        try:
            with self._connection.typed_errors(metadata):
                async for response in call:
                    opening.cancel()
                    yield self._read_job(response.job)
        except Cancelled:
            if late.done():
                raise self._connection.not_opened() from None
            raise
        finally:
            opening.cancel()
            self._connection.open_calls.discard(call)
            call.cancel()


def _expire(
    call: grpc.aio.UnaryStreamCall[pb.WatchJobRequest, pb.WatchJobResponse], late: asyncio.Future[None]
) -> None:
    late.set_result(None)
    call.cancel()
