"""One channel to one sidecar: opens it, sends calls, turns failures into typed errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

import grpc
import grpc.aio

from memsidecar_client import _status_details
from memsidecar_client._arguments import Named, check_seconds
from memsidecar_client._channel import channel_options
from memsidecar_client._errors import Cancelled, DeadlineExceeded, MemsidecarError, make_error
from memsidecar_client._memory_values import Scope
from memsidecar_client._tracing import traced
from memsidecar_client.v1.generation_service_pb2_grpc import GenerationServiceStub
from memsidecar_client.v1.info_service_pb2 import GetServerInfoRequest, GetServerInfoResponse
from memsidecar_client.v1.info_service_pb2_grpc import InfoServiceStub
from memsidecar_client.v1.job_service_pb2_grpc import JobServiceStub
from memsidecar_client.v1.knowledge_service_pb2_grpc import KnowledgeServiceStub
from memsidecar_client.v1.memory_service_pb2_grpc import MemoryServiceStub
from memsidecar_client.v1.recall_service_pb2_grpc import RecallServiceStub
from memsidecar_client.v1.session_service_pb2_grpc import SessionServiceStub

if TYPE_CHECKING:
    # These exist for type checkers only; at run time one stub class serves both kinds of channel.
    from memsidecar_client.v1.generation_service_pb2_grpc import GenerationServiceAsyncStub
    from memsidecar_client.v1.info_service_pb2_grpc import InfoServiceAsyncStub
    from memsidecar_client.v1.job_service_pb2_grpc import JobServiceAsyncStub
    from memsidecar_client.v1.knowledge_service_pb2_grpc import KnowledgeServiceAsyncStub
    from memsidecar_client.v1.memory_service_pb2_grpc import MemoryServiceAsyncStub
    from memsidecar_client.v1.recall_service_pb2_grpc import RecallServiceAsyncStub
    from memsidecar_client.v1.session_service_pb2_grpc import SessionServiceAsyncStub

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
Metadata = tuple[tuple[str, str], ...]

_REQUEST_ID = "x-request-id"
_DETAILS = "grpc-status-details-bin"


class OpenCall(Protocol):
    """Whoever opens it puts it into `open_calls`, and takes it out at its end."""

    def cancel(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Stubs:
    """The generated stubs on one open channel."""

    info: InfoServiceAsyncStub
    memories: MemoryServiceAsyncStub
    knowledge: KnowledgeServiceAsyncStub
    jobs: JobServiceAsyncStub
    recall: RecallServiceAsyncStub
    sessions: SessionServiceAsyncStub
    generation: GenerationServiceAsyncStub


class Connection:
    """A channel that opens at its first call, in the event loop of that call, and the defaults its calls share."""

    def __init__(
        self,
        target: str,
        scope: Scope,
        *,
        token: str | None,
        timeout: float,
        wait_for_ready: bool,
        correlation_id: Callable[[], str] | None,
    ) -> None:
        check_seconds("timeout", timeout)
        self.target = target
        self.scope = scope
        self.wait_for_ready = wait_for_ready
        self._authorization: Metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._timeout = timeout
        self._correlation_id = correlation_id
        self._channel: grpc.aio.Channel | None = None
        self._stubs: Stubs | None = None
        self._closed = False
        self.open_calls: set[OpenCall] = set()
        """Calls that closing the channel would leave hanging: an older grpc.aio does not find every one."""
        self._default_namespace = ""

    @property
    def stubs(self) -> Stubs:
        """Opens the channel when there is none yet. Raises RuntimeError once closed."""
        if self._closed:
            raise RuntimeError("this memsidecar client is closed")
        if self._stubs is None:
            channel = grpc.aio.insecure_channel(self.target, options=channel_options(self.target))
            self._channel = channel
            channel = traced(channel)
            self._stubs = Stubs(
                info=cast("InfoServiceAsyncStub", InfoServiceStub(channel)),
                memories=cast("MemoryServiceAsyncStub", MemoryServiceStub(channel)),
                knowledge=cast("KnowledgeServiceAsyncStub", KnowledgeServiceStub(channel)),
                jobs=cast("JobServiceAsyncStub", JobServiceStub(channel)),
                recall=cast("RecallServiceAsyncStub", RecallServiceStub(channel)),
                sessions=cast("SessionServiceAsyncStub", SessionServiceStub(channel)),
                generation=cast("GenerationServiceAsyncStub", GenerationServiceStub(channel)),
            )
        return self._stubs

    @property
    def is_closed(self) -> bool:
        return self._closed

    def deadline(self, timeout: float | None) -> float:
        check_seconds("timeout", timeout)
        return self._timeout if timeout is None else timeout

    def metadata(self) -> Metadata:
        """What goes with one call: interceptors would leak on streams, so every call carries it itself."""
        if self._correlation_id is None:
            return self._authorization
        return (*self._authorization, (_REQUEST_ID, self._correlation_id()))

    async def unary(
        self,
        method: grpc.aio.UnaryUnaryMultiCallable[RequestT, ResponseT],
        request: RequestT,
        timeout: float | None,
        *,
        wait_for_ready: bool | None = None,
    ) -> ResponseT:
        """The answer of one call, retries included. Raises MemsidecarError."""
        metadata = self.metadata()
        wait = self.wait_for_ready if wait_for_ready is None else wait_for_ready
        call = method(request, timeout=self.deadline(timeout), metadata=metadata, wait_for_ready=wait)
        with self.typed_errors(metadata):
            return await call

    @contextmanager
    def typed_errors(self, sent: Metadata) -> Iterator[None]:
        """Gives what goes wrong with a call its type; `sent` is the metadata that went with the call."""
        try:
            yield
        except grpc.aio.AioRpcError as error:
            raise self._typed(error, sent) from error
        except asyncio.CancelledError:
            # grpc.aio raises this for a call cut by close(), too, although nobody cancels the task.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise Cancelled("the client was closed during the call", code="CANCELLED") from None

    def _typed(self, error: grpc.aio.AioRpcError, sent: Metadata) -> MemsidecarError:
        received = [*(error.initial_metadata() or ()), *(error.trailing_metadata() or ())]
        serialized = next((value for key, value in received if key == _DETAILS), b"")
        details = _status_details.parse(serialized if isinstance(serialized, bytes) else b"")
        request_ids = [str(value) for key, value in (*received[::-1], *sent) if key == _REQUEST_ID]
        return make_error(error.code().name, self._message(error), details, request_ids[0] if request_ids else "")

    def _message(self, error: grpc.aio.AioRpcError) -> str:
        message = error.details() or error.code().name
        expired = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        return f"{message}; {self._no_connection()}" if expired and not self._connected() else message

    def not_opened(self) -> DeadlineExceeded:
        """The error of a stream that could not be opened in time."""
        why = "the sidecar does not answer" if self._connected() else self._no_connection()
        return DeadlineExceeded(f"the stream was not opened in time; {why}", code="DEADLINE_EXCEEDED")

    def _connected(self) -> bool:
        return self._channel is not None and self._channel.get_state() is grpc.ChannelConnectivity.READY

    def _no_connection(self) -> str:
        return f"no connection to {self.target}, is the sidecar running there?"

    async def default_namespace(self, timeout: float | None) -> str:
        """What an empty namespace means on this server; asked once."""
        if not self._default_namespace:
            self._default_namespace = (await self.server_info(timeout)).default_namespace
        return self._default_namespace

    async def server_info(self, timeout: float | None, *, wait_for_ready: bool | None = None) -> GetServerInfoResponse:
        method = self.stubs.info.GetServerInfo
        return await self.unary(method, GetServerInfoRequest(), timeout, wait_for_ready=wait_for_ready)

    async def close(self) -> None:
        """Cancels the calls that are under way and closes the channel. Harmless to repeat."""
        self._closed = True
        for call in [*self.open_calls]:
            call.cancel()
        channel, self._channel, self._stubs = self._channel, None, None
        if channel is not None:
            await channel.close()


class Connected(Named):
    """Something that makes calls over a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _set_before(self) -> Mapping[str, object]:
        return asdict(self._connection.scope)

    def _scope(self, namespace: str | None, user: str | None, agent: str | None, session: str | None) -> Scope:
        """The client's scope with what a call overrides; None means not overridden, empty is a value."""
        default = self._connection.scope
        return Scope(
            default.namespace if namespace is None else namespace,
            default.user if user is None else user,
            default.agent if agent is None else agent,
            default.session if session is None else session,
        )
