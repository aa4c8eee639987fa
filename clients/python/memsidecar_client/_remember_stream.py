"""Remembering an unbounded source in one call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Self

import grpc.aio

from memsidecar_client._arguments import Named
from memsidecar_client._call_ending import NOT_SENT, Ending
from memsidecar_client._connection import Connection
from memsidecar_client._errors import Internal
from memsidecar_client._remember_mapping import batches, summary_from_proto
from memsidecar_client._remember_values import Rememberable, StreamSummary
from memsidecar_client.v1.memory_service_pb2 import (
    StreamRememberFinish,
    StreamRememberItems,
    StreamRememberRequest,
    StreamRememberResponse,
    StreamRememberStart,
)


class AsyncRememberStream(Named):
    """`async with` opens the stream; leaving the block finishes it, leaving it by an exception abandons it.

    Chunks that the server has committed by then stay; nothing further is stored. `result` holds the summary after a
    finish. Cancelling a `send` or a `finish` abandons the stream, too: how far it got is unknown.
    """

    def __init__(self, connection: Connection, start: StreamRememberStart, timeout: float | None) -> None:
        self._connection = connection
        self._start = start
        self._timeout = timeout
        self._metadata: tuple[tuple[str, str], ...] = ()
        self._call: grpc.aio.StreamUnaryCall[StreamRememberRequest, StreamRememberResponse] | None = None
        self._ending = Ending()
        self.result: StreamSummary | None = None

    async def __aenter__(self) -> Self:
        if self._call is not None:
            raise RuntimeError("a remember stream is used once; call remember_stream again")
        self._metadata = self._connection.metadata()
        # No deadline unless asked for: the source has no end that could be foreseen. Only opening has one.
        self._call = self._connection.stubs.memories.StreamRemember(
            timeout=self._timeout, metadata=self._metadata, wait_for_ready=self._connection.wait_for_ready
        )
        self._ending.keep(self._call)
        try:
            async with asyncio.timeout(self._connection.deadline(self._timeout)):
                await self._write(StreamRememberRequest(start=self._start))
        except BaseException as error:
            self._call.cancel()
            if isinstance(error, TimeoutError):
                raise self._connection.not_opened() from None
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self.result is None:
                await self.finish()
        finally:
            if self._call is not None:
                self._call.cancel()

    async def send(self, items: Iterable[Rememberable]) -> None:
        """Sends the items in chunks of at most 256 items and 3 MiB, each committed as a unit.

        Waits while the server is behind. Give many items at once: every chunk costs the server a commit.
        """
        for batch in batches(items):
            await self._write(StreamRememberRequest(items=StreamRememberItems(items=batch)))

    async def finish(self) -> StreamSummary:
        """Ends the stream and gives its summary. Harmless to repeat."""
        if self.result is None:
            await self._write(StreamRememberRequest(finish=StreamRememberFinish()))
            call = self._open_call()
            with self._connection.typed_errors(self._metadata), suppress(*NOT_SENT):
                await call.done_writing()
            self.result = summary_from_proto(await self._answer())
        return self.result

    def _open_call(self) -> grpc.aio.StreamUnaryCall[StreamRememberRequest, StreamRememberResponse]:
        if self._call is None:
            raise RuntimeError("enter the remember stream first: async with client.remember_stream(...) as stream")
        return self._call

    async def _write(self, message: StreamRememberRequest) -> None:
        call = self._open_call()
        if self.result is not None:
            raise RuntimeError("the remember stream is finished")
        with self._connection.typed_errors(self._metadata):
            try:
                await call.write(message)
                return
            except NOT_SENT:
                pass
        await self._answer()
        raise Internal("the server answered before the stream was finished", code="INTERNAL")

    async def _answer(self) -> StreamRememberResponse:
        """What the server ended the call with. Raises MemsidecarError."""
        with self._connection.typed_errors(self._metadata):
            try:
                return await self._open_call()
            except grpc.aio.AioRpcError as error:
                raise self._ending.of(error) from None
