"""A real grpc.aio server of RecallDuring that does what a test writes down, a script for each call that comes in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import Message
from memsidecar_client.v1.generation_service_pb2 import RecallDuringRequest, RecallDuringResponse
from memsidecar_client.v1.memory_service_pb2 import GetMemoryRequest, GetMemoryResponse
from memsidecar_client.v1.recall_service_pb2 import FeedbackRequest, FeedbackResponse

from tests.clients.python.fake_sidecar import made

# ErrorInfo{reason} and RetryInfo{50 ms} as bytes: googleapis is not installed where the oldest versions are tested.
_KINDS = {"reason": b"type.googleapis.com/google.rpc.ErrorInfo", "retry": b"type.googleapis.com/google.rpc.RetryInfo"}
_FIFTY_MS = b"\x0a\x05\x10\x80\xe1\xeb\x17"


def _field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


def details(reason: str, *, retry: bool = False, **metadata: str) -> tuple[tuple[str, bytes], ...]:
    """Trailing metadata as the server sends it."""
    entries = (_field(1, key.encode()) + _field(2, value.encode()) for key, value in metadata.items())
    info = _field(1, reason.encode()) + b"".join(_field(3, entry) for entry in entries)
    parts = [_field(1, _KINDS["reason"]) + _field(2, info)]
    if retry:
        parts.append(_field(1, _KINDS["retry"]) + _field(2, _FIFTY_MS))
    return (("grpc-status-details-bin", b"".join(_field(3, part) for part in parts)),)


class Stream:
    """One call, as its script sees it."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._arrived = asyncio.Condition()
        self.received: list[RecallDuringRequest] = []
        self.closed = asyncio.Event()

    @property
    def start(self) -> Any:
        return self.received[0].start

    @property
    def text(self) -> str:
        return "".join(message.text.text for message in self.received)

    def kinds(self) -> list[str | None]:
        return [message.WhichOneof("event") for message in self.received]

    def every(self, kind: str) -> list[Any]:
        return [getattr(message, kind) for message in self.received if message.HasField(kind)]  # type: ignore[arg-type]

    async def take(self, message: RecallDuringRequest) -> None:
        async with self._arrived:
            self.received.append(message)
            self._arrived.notify_all()

    async def until(self, kind: str, number: int = 1) -> Any:
        """The number-th message of that kind."""
        async with self._arrived:
            await asyncio.wait_for(self._arrived.wait_for(lambda: len(self.every(kind)) >= number), 10)
        return self.every(kind)[number - 1]

    async def message(self, number: int) -> RecallDuringRequest:
        """The number-th message from 0, the start."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.received) > number)
        return self.received[number]

    async def until_text(self, text: str) -> None:
        async with self._arrived:
            await asyncio.wait_for(self._arrived.wait_for(lambda: text in self.text), 10)

    async def send(self, **event: Any) -> None:
        await self._context.write(made(RecallDuringResponse, **event))

    async def started(self, **fields: Any) -> None:
        """The first message, with what the start asked for or the defaults."""
        credit = self.start.initial_credit if self.start.HasField("initial_credit") else 16
        granted = {
            "stream_id": "s",
            "initial_credit": credit,
            "max_total_hits": self.start.max_total_hits or 64,
            "max_total_tokens": self.start.max_total_tokens or 4096,
            "revision": {"token": "r1"},
        }
        await self.send(started=granted | fields)

    async def hit(self, name: str, text: str = "", **fields: Any) -> None:
        memory = {"name": name, "fact": {"statement": text or name}}
        await self.send(hit={"hit": {"memory": memory, "text": text or name}, **fields})

    async def abort(
        self, code: grpc.StatusCode, message: str = "no", reason: str = "", *, retry: bool = False, **metadata: str
    ) -> None:
        trailing = details(reason, retry=retry, **metadata) if reason else ()
        await self._context.abort(code, message, trailing_metadata=trailing)


Script = Callable[[Stream], Awaitable[None]]


async def obliging(stream: Stream) -> None:
    """Finds nothing: a watermark for each flush, a summary for the finish."""
    await stream.started()
    await oblige(stream)


async def oblige(stream: Stream) -> None:
    for number in count():
        message = await stream.message(number)
        if message.HasField("flush"):
            seqs = [delta.seq for delta in stream.every("text")]
            rewinds = sum(before.HasField("rewind") for before in stream.received[:number])
            await stream.send(watermark={"seq": seqs[-1] if seqs else 0, "rewinds": rewinds})
        if message.HasField("finish"):
            await stream.send(finished={"evaluations": 3, "evaluated_seq": 2, "revision": {"token": "r2"}})
            return


class ScriptedGeneration:
    """Uses the scripts up in the order of the calls; whatever comes after them is obliged."""

    def __init__(self, folder: Path) -> None:
        self.target = f"unix:{folder}/scripted.sock"
        self.scripts: list[Script] = []
        self.streams: list[Stream] = []
        self.feedback: list[FeedbackRequest] = []
        # What GetMemory answers; a name that is not in here is NOT_FOUND.
        self.memories: dict[str, dict[str, Any]] = {}
        self._opened = asyncio.Condition()
        self._server: grpc.aio.Server | None = None

    async def start(self) -> None:
        server = grpc.aio.server()
        by_service: dict[str, dict[str, Any]] = {
            "GenerationService": {
                "RecallDuring": _handler(grpc.stream_stream_rpc_method_handler, self._serve, RecallDuringRequest)
            },
            "RecallService": {
                "Feedback": _handler(grpc.unary_unary_rpc_method_handler, self._take_feedback, FeedbackRequest)
            },
            "MemoryService": {
                "GetMemory": _handler(grpc.unary_unary_rpc_method_handler, self._get_memory, GetMemoryRequest)
            },
        }
        server.add_generic_rpc_handlers(
            tuple(
                grpc.method_handlers_generic_handler(f"memsidecar.v1.{name}", methods)
                for name, methods in by_service.items()
            )
        )
        server.add_insecure_port(self.target)
        await server.start()
        self._server = server

    async def stop(self) -> None:
        """At once, as a process that dies."""
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    async def stream(self, number: int) -> Stream:
        """The number-th call, from 1, once its start has come."""
        async with self._opened:
            await asyncio.wait_for(self._opened.wait_for(lambda: len(self.streams) >= number), 10)
        return self.streams[number - 1]

    async def _serve(self, messages: AsyncIterator[RecallDuringRequest], context: Any) -> None:
        stream = Stream(context)
        await stream.take(await anext(messages))
        async with self._opened:
            self.streams.append(stream)
            self._opened.notify_all()
        script = self.scripts.pop(0) if self.scripts else obliging

        async def read() -> None:
            async for message in messages:
                await stream.take(message)

        reader = asyncio.create_task(read())
        try:
            await script(stream)
        finally:
            reader.cancel()
            stream.closed.set()

    async def _take_feedback(self, request: FeedbackRequest, context: Any) -> FeedbackResponse:
        self.feedback.append(request)
        return FeedbackResponse()

    async def _get_memory(self, request: GetMemoryRequest, context: Any) -> GetMemoryResponse:
        if request.name not in self.memories:
            await context.abort(grpc.StatusCode.NOT_FOUND, "gone")
        return made(GetMemoryResponse, memory={"name": request.name, **self.memories[request.name]})


def _handler(kind: Callable[..., Any], method: Any, request: type[Message]) -> Any:
    return kind(
        method, request_deserializer=request.FromString, response_serializer=lambda message: message.SerializeToString()
    )
