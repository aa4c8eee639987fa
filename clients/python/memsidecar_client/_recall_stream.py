"""A recall whose hits arrive as the tiers find them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import grpc
import grpc.aio

from memsidecar_client._connection import Connection
from memsidecar_client._defaults import RECALL_QUEUE_EVENTS
from memsidecar_client._recall_mapping import (
    hit_from_proto,
    message_hit_from_proto,
    result_from_proto,
    tier_report_from_proto,
)
from memsidecar_client._recall_values import (
    Hit,
    HitFound,
    MessageFound,
    MessageHit,
    RecallDone,
    RecallEvent,
    TierDone,
)
from memsidecar_client.v1.recall_service_pb2 import RecallRequest, RecallResponse, RecallSummary


@dataclass(frozen=True, slots=True)
class _End:
    """The stream is over; why, when it broke."""

    error: Exception | None


class AsyncRecallStream(AsyncIterator[RecallEvent]):
    """`async with` starts the recall, `async for` gives its events, leaving the block cancels what is still running.

    Waiting for an event may be cancelled or timed out without harm to the stream. Events of kinds that this client does
    not know are left out. A failed call raises MemsidecarError from the iteration, after the events that came before.
    """

    def __init__(self, connection: Connection, request: RecallRequest, timeout: float | None) -> None:
        self._connection = connection
        self._request = request
        self._timeout = timeout
        self._call: grpc.aio.UnaryStreamCall[RecallRequest, RecallResponse] | None = None
        self._pump: asyncio.Task[None] | None = None
        self._events: asyncio.Queue[RecallEvent | _End] = asyncio.Queue(RECALL_QUEUE_EVENTS)
        self._end: _End | None = None
        self._hits: dict[str, Hit] = {}
        self._messages: list[MessageHit] = []

    async def __aenter__(self) -> Self:
        if self._pump is not None:
            raise RuntimeError("a recall stream is used once; call recall_stream again")
        metadata = self._connection.metadata()
        self._call = self._connection.stubs.recall.Recall(
            self._request,
            timeout=self._connection.deadline(self._timeout),
            metadata=metadata,
            wait_for_ready=self._connection.wait_for_ready,
        )
        # Reading in a task of its own: a read that the application cancels, by a timeout for example, would cancel the
        # whole call.
        self._pump = asyncio.create_task(self._read(self._call, metadata), name="memsidecar-recall")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end = self._end or _End(None)
        if self._call is not None and self._pump is not None:
            # The pump ends by itself once its call is cancelled. Cancelling the pump instead, in the middle of a read,
            # would cost native memory each time.
            self._call.cancel()
            while not self._events.empty():
                self._events.get_nowait()
            await asyncio.wait([self._pump])

    def __aiter__(self) -> Self:
        if self._pump is None:
            raise RuntimeError("enter the recall stream first: async with client.recall_stream(...) as events")
        return self

    async def __anext__(self) -> RecallEvent:
        event = await self.next_event()
        if event is None:
            raise StopAsyncIteration
        return event

    async def next_event(self) -> RecallEvent | None:
        """The next event; None once the stream is over or the block has been left."""
        if self._end is None:
            event = await self._events.get()
            if not isinstance(event, _End):
                return event
            self._end = event
        if self._end.error is not None:
            error, self._end = self._end.error, _End(None)
            raise error
        return None

    async def _read(
        self, call: grpc.aio.UnaryStreamCall[RecallRequest, RecallResponse], metadata: tuple[tuple[str, str], ...]
    ) -> None:
        end = _End(None)
        try:
            with self._connection.typed_errors(metadata):
                async for response in call:
                    for event in self._decode(response):
                        await self._events.put(event)
        except Exception as error:  # whatever it is, the reader of the events gets it instead of waiting for ever
            end = _End(error)
        finally:
            call.cancel()
        await self._events.put(end)

    def _decode(self, response: RecallResponse) -> Iterator[RecallEvent]:
        match response.WhichOneof("event"):
            case "hit":
                hit = hit_from_proto(response.hit)
                self._hits[hit.memory.name] = hit
                yield HitFound(hit)
            case "message":
                found = message_hit_from_proto(response.message)
                self._messages.append(found)
                yield MessageFound(found)
            case "tier_report":
                yield TierDone(tier_report_from_proto(response.tier_report))
            case "summary":
                yield RecallDone(result_from_proto(response.summary, self._ranked(response.summary), self._messages))

    def _ranked(self, summary: RecallSummary) -> Iterator[Hit]:
        for name, score in zip(summary.ranked_memories, summary.ranked_scores, strict=False):
            if name in self._hits:
                yield replace(self._hits[name], score=score)
