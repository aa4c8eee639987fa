"""What surrounds every call, in this order: request id, log, admission, token, the call itself, status.

One wrapper for each handler, made at start: a chain of interceptors would cost several awaits and objects a call.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
import logging
import re
import secrets
import time
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Any, Final, TypeAlias

import grpc

from memsidecar.domain import limits
from memsidecar.domain.errors import InvalidField, SidecarError, TokenInvalid
from memsidecar.ports.tracing import CallSpan, Tracer
from memsidecar.server.admission import Admission, Kind
from memsidecar.server.rpc_counts import BOTH_WAYS, CLIENT_STREAM, SERVER_STREAM, UNARY, MethodCounts, RpcCounts
from memsidecar.server.status import DETAILS_KEY, Failure, failure_of, internal
from memsidecar.server.tokens import serve_history
from memsidecar.server.wire import Unreadable
from memsidecar.services.patience import expect_answer_within

_log = logging.getLogger(__name__)

REQUEST_ID: Final = "x-request-id"
# Bytes of a message that take about a millisecond to write.
_LARGE: Final = 256 * 1024
_SANE_ID = re.compile(r"[!-~]{1,128}")

Context: TypeAlias = grpc.aio.ServicerContext[Any, Any]
Handler: TypeAlias = Callable[[Any, Context], Any]
# Where a request says its namespace: first its scope, then the names that requests carry.
_NAMES = ("name", "session", "parent", "memory", "target", "source")


class Calls:
    """Wraps servicer methods into gRPC handlers. A method gets the request alone, or an iterator over requests."""

    def __init__(
        self,
        admission: Admission,
        token: str,
        unread: float,
        counts: RpcCounts,
        tracer: Tracer | None = None,
        history: int = 0,
    ) -> None:
        """`unread`: seconds that a message of a server stream may wait for its client; `history`: of the store."""
        self.admission, self.counts, self.tracer = admission, counts, tracer
        self._unread, self.history = unread, history
        self.token = f"Bearer {token}".encode() if token else b""
        # Unique over restarts by its random head, and cheap.
        self._head = secrets.token_hex(6)
        self._count = itertools.count(1)

    def new_id(self) -> str:
        return f"{self._head}-{next(self._count):x}"

    def unary(self, method: str, behaviour: Callable[[Any], Awaitable[Any]], is_open: bool) -> Handler:
        """A handler that answers bytes: of the message, or the bytes, that the method returns."""
        counts = self.counts.of(method, UNARY)

        async def handler(request: Any, context: Context) -> Any:
            with (call := _Call(self, counts, method, context, is_open, Kind.SHORT)):
                call.admit(request)
                response = await behaviour(request)
                if not isinstance(response, bytes) and response.ByteSize() > _LARGE:
                    # Serialised in a turn of its own.
                    await asyncio.sleep(0)
                return _encoded(response)
            return await call.abort()

        return handler

    def server_stream(
        self, method: str, behaviour: Callable[[Any], AsyncGenerator[Any, None]], kind: Kind = Kind.STREAM
    ) -> Handler:
        counts = self.counts.of(method, SERVER_STREAM)

        # Written with context.write, not as a generator: gRPC does not close a generator whose call has ended.
        async def handler(request: Any, context: Context) -> None:
            with (call := _Call(self, counts, method, context, False, kind)):
                call.admit(request)
                async with aclosing(behaviour(request)) as responses:
                    async for response in responses:
                        try:
                            async with asyncio.timeout(self._unread):
                                await context.write(response)
                            counts.sent += 1
                        except TimeoutError:
                            # It would not take a status either: the call is cut, and its place is free.
                            raise asyncio.CancelledError from None
                return
            await call.abort()

        return handler

    def client_stream(self, method: str, behaviour: Callable[[AsyncIterator[Any]], Awaitable[Any]]) -> Handler:
        counts = self.counts.of(method, CLIENT_STREAM)

        async def handler(requests: AsyncIterator[Any], context: Context) -> Any:
            with (call := _Call(self, counts, method, context, False, Kind.STREAM)):
                call.admit(None)
                return _encoded(await behaviour(_readable(requests, counts)))
            return await call.abort()

        return handler

    def both_ways(self, method: str, behaviour: Callable[[AsyncIterator[Any]], AsyncGenerator[Any, None]]) -> Handler:
        counts = self.counts.of(method, BOTH_WAYS)

        async def handler(requests: AsyncIterator[Any], context: Context) -> None:
            with (call := _Call(self, counts, method, context, False, Kind.GENERATION)):
                call.admit(None)
                async with aclosing(behaviour(_readable(requests, counts))) as responses:
                    async for response in responses:
                        await context.write(response)
                        counts.sent += 1
                return
            await call.abort()

        return handler


def _encoded(response: Any) -> bytes:
    data: bytes = response if type(response) is bytes else response.SerializeToString()
    if len(data) > limits.MAX_MESSAGE_BYTES:
        raise InvalidField("", f"the answer would be larger than {limits.MAX_MESSAGE_BYTES:,} bytes")
    return data


class _Call:
    """One call from its first moment to its last. Leaving it with an error remembers the status for `abort`."""

    __slots__ = (
        "_calls",
        "_context",
        "_counts",
        "_failure",
        "_is_in",
        "_is_open",
        "_kind",
        "_method",
        "_request",
        "_span",
        "_started",
        "_task",
        "id",
    )

    def __init__(
        self, calls: Calls, counts: MethodCounts, method: str, context: Context, is_open: bool, kind: Kind
    ) -> None:
        counts.started += 1
        self._calls = calls
        self._counts = counts
        self._method = method
        self._context = context
        self._is_open = is_open
        self._kind = kind
        self._task = asyncio.current_task()
        self._is_in = False
        self._failure: Failure | None = None
        self._request: Any = None
        self._span: CallSpan | None = None
        self._started = time.perf_counter()
        self.id = ""

    def __enter__(self) -> None:
        pass

    def admit(self, request: Any) -> None:
        """Raises what keeps the call from being served at all."""
        token = b""
        for key, value in self._context.invocation_metadata() or ():
            if key == REQUEST_ID:
                self.id = value if isinstance(value, str) and _SANE_ID.fullmatch(value) else ""
            elif key == "authorization":
                token = value.encode() if isinstance(value, str) else value
        self.id = self.id or self._calls.new_id()
        self._context.set_trailing_metadata(((REQUEST_ID, self.id),))
        if (tracer := self._calls.tracer) is not None:
            self._span = tracer.serve(self._method, self._context.invocation_metadata() or (), self.id)
        self._calls.admission.enter(self._task, self._kind)
        self._is_in = True
        expect_answer_within(self._context.time_remaining())
        serve_history(self._calls.history)
        expected = self._calls.token
        if expected and not self._is_open and not hmac.compare_digest(token, expected):
            raise TokenInvalid
        _require_readable(request)
        self._request = request

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if self._is_in:
            self._calls.admission.leave(self._task, self._kind)
        if error is None:
            self._report("OK", "")
        elif isinstance(error, SidecarError):
            self._failure = failure_of(error)
            if error.__cause__ is not None:
                _log.warning("call %s: %s, because of\n%s", self.id, type(error).__name__, _cause_of(error))
        elif isinstance(error, Exception):
            self._failure = internal(self.id)
            _log.error("call %s of %s failed with a defect\n%s", self.id, self._method, _cause_of(error))
        else:
            # Cancelled by the client, its deadline or a stop; gRPC leaks a call whose handler hides that.
            self._report("CANCELLED", "")
        return self._failure is not None

    async def abort(self) -> Any:
        """Send the status of the error that the call was left with. Always raises."""
        failure = self._failure
        if failure is None:
            raise RuntimeError("nothing to abort with")
        self._report(failure.code.name, failure.reason)
        await self._context.abort(
            failure.code, failure.message, ((REQUEST_ID, self.id), (DETAILS_KEY, failure.details))
        )

    def _report(self, code: str, reason: str) -> None:
        seconds = time.perf_counter() - self._started
        self._counts.end(code, seconds)
        if reason:
            self._calls.counts.refuse(reason)
        if self._span is not None:
            self._span.end(code, reason, _namespace(self._request))
        # A healthy call is a line only for who asks for it: written always, lines were a tenth of a recall.
        level = logging.DEBUG if code == "OK" else logging.INFO
        if _log.isEnabledFor(level):
            _log.log(
                level,
                "%s %s",
                self._method,
                code,
                extra={
                    "method": self._method,
                    "code": code,
                    "reason": reason,
                    "ms": round(seconds * 1000, 3),
                    "request_id": self.id,
                    "namespace": _namespace(self._request),
                },
            )


def _namespace(request: Any) -> str:
    """The namespace that a request names, encoded as in names; "" when it leaves it to the server."""
    if request is None:
        return ""
    fields = request.DESCRIPTOR.fields_by_name
    if "scope" in fields:
        return str(request.scope.namespace)[: limits.MAX_ID_CHARS]
    for field in _NAMES:
        if field in fields and isinstance(name := getattr(request, field), str):
            if not name.startswith("namespaces/"):
                return ""
            return name.removeprefix("namespaces/").split("/", 1)[0][: limits.MAX_ID_CHARS]
    return ""


def _cause_of(error: BaseException) -> str:
    """The chain of errors with their frames, without their messages: those may quote what a user said."""
    parts: list[str] = []
    link: BaseException | None = error
    while link is not None:
        parts.append(
            f"{type(link).__module__}.{type(link).__qualname__}\n{''.join(traceback.format_tb(link.__traceback__))}"
        )
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "caused by ".join(parts)


def _require_readable(request: Any) -> None:
    if type(request) is Unreadable:
        raise InvalidField(request.field, request.problem)


async def _readable(requests: AsyncIterator[Any], counts: MethodCounts) -> AsyncIterator[Any]:
    async for request in requests:
        counts.received += 1
        _require_readable(request)
        yield request
