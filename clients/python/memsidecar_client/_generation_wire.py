"""One RecallDuring call. A generation has another one whenever the one before breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import grpc.aio

from memsidecar_client._call_ending import NOT_SENT, Ending, let_go, not_sent
from memsidecar_client._connection import Connection
from memsidecar_client._errors import Cancelled, Internal, Unavailable
from memsidecar_client.v1.generation_service_pb2 import (
    GenerationStart,
    GenerationStarted,
    RecallDuringRequest,
    RecallDuringResponse,
)


class Wire:
    """Written by one task and read by one task, from `open` until `cancel`, which ends both."""

    def __init__(self, connection: Connection, timeout: float | None) -> None:
        self._connection = connection
        self._metadata = connection.metadata()
        self._ending = Ending()
        self._call = connection.stubs.generation.RecallDuring(
            timeout=timeout, metadata=self._metadata, wait_for_ready=connection.wait_for_ready
        )
        self._ending.keep(self._call)
        connection.open_calls.add(self)
        self.over = False
        self._opening: asyncio.Timeout | None = None
        self._responses: AsyncIterator[RecallDuringResponse] = aiter(self._call)

    async def open(self, start: GenerationStart, within: float) -> GenerationStarted:
        """Raises MemsidecarError, DeadlineExceeded after `within` seconds; the call is over then."""
        try:
            async with asyncio.timeout(within) as self._opening:
                await self.write(RecallDuringRequest(start=start))
                response = await self.read()
        except BaseException as error:
            left, self._opening = self.over, None
            self.cancel()
            if isinstance(error, TimeoutError):
                raise (_left() if left else self._connection.not_opened()) from None
            raise
        self._opening = None
        if response is None or not response.HasField("started"):
            self.cancel()
            raise Internal("the server began the stream without saying so", code="INTERNAL")
        return response.started

    async def write(self, message: RecallDuringRequest) -> bool:
        """False when the call is over; `read` says why."""
        try:
            await self._call.write(message)
        except NOT_SENT:
            return False
        except asyncio.CancelledError:
            # grpc.aio raises this, too, when the call was cancelled and nobody cancels the task.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return False
        return True

    async def read(self) -> RecallDuringResponse | None:
        """The next message; None when the server has ended the call without an error. Raises MemsidecarError."""
        with self._connection.typed_errors(self._metadata):
            try:
                return await anext(self._responses, None)
            except grpc.aio.AioRpcError as error:
                status = self._ending.of(error)
                if not_sent(status.code(), status.details()):
                    raise Unavailable("the connection broke while a message was sent", code="UNAVAILABLE") from None
                raise status from None

    def cancel(self) -> None:
        self.over = True
        self._connection.open_calls.discard(self)
        opening, self._opening = self._opening, None
        if opening is not None:
            # grpc.aio lets a message wait for ever that was to be the first one of a cancelled call.
            opening.reschedule(asyncio.get_running_loop().time())
        let_go(self._call)


def _left() -> Cancelled:
    return Cancelled(
        "the generation was left, or the client closed, while its stream was being opened", code="CANCELLED"
    )
