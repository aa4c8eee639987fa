"""The asyncio client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from memsidecar_client._connection import Connection
from memsidecar_client._contexts import ContextCalls
from memsidecar_client._defaults import DEFAULT_TIMEOUT
from memsidecar_client._generating import GenerationCalls
from memsidecar_client._info_values import ServerInfo
from memsidecar_client._jobs import JobCalls
from memsidecar_client._knowledge import KnowledgeCalls
from memsidecar_client._memories import MemoryCalls
from memsidecar_client._memory_mapping import scope_to_proto
from memsidecar_client._memory_values import Scope
from memsidecar_client._pages import AsyncPages
from memsidecar_client._remembering import RememberCalls
from memsidecar_client._session_mapping import session_from_proto
from memsidecar_client._session_values import Session
from memsidecar_client._sessions import AsyncSession
from memsidecar_client._target import default_target
from memsidecar_client._times import from_duration
from memsidecar_client.v1 import info_service_pb2, session_service_pb2


class AsyncMemsidecar(RememberCalls, MemoryCalls, KnowledgeCalls, JobCalls, GenerationCalls, ContextCalls):
    """A client of one memsidecar, for asyncio. Makes no call and opens nothing until it is used.

    `target` is a gRPC target: `unix:///path/to/socket` or `host:port`; empty is `default_target()`, the sidecar of this
    machine. `namespace`, `user` and `agent` are the scope of every call that does not name its own. `token` is sent as
    a bearer token. `timeout` is in seconds, for one call with its retries. With `wait_for_ready` a call waits, within
    its timeout, for a sidecar that is still starting; without it such a call fails at once. `correlation_id` is asked
    before each call for the value of x-request-id, under which the server logs it: a trace id, for example.

    One client serves any number of tasks of one event loop. Close it, or use it as an async context manager.
    """

    def __init__(
        self,
        target: str = "",
        *,
        namespace: str = "",
        user: str = "",
        agent: str = "",
        token: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        wait_for_ready: bool = True,
        correlation_id: Callable[[], str] | None = None,
    ) -> None:
        super().__init__(
            Connection(
                target or default_target(),
                Scope(namespace, user, agent),
                token=token,
                timeout=timeout,
                wait_for_ready=wait_for_ready,
                correlation_id=correlation_id,
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancels calls that are under way and closes the connection. Harmless to repeat."""
        await self._connection.close()

    async def ready(self, timeout: float | None = None) -> ServerInfo:
        """Waits until the sidecar answers and says what it is. Raises DeadlineExceeded after `timeout` seconds."""
        return _info_from_proto(await self._connection.server_info(timeout, wait_for_ready=True))

    async def server_info(self, *, timeout: float | None = None) -> ServerInfo:
        """Version, limits and capabilities of the server."""
        return _info_from_proto(await self._connection.server_info(timeout))

    def session(
        self,
        session: str | Session = "",
        *,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
    ) -> AsyncSession:
        """A handle on the session of that id, or on one from a list; without either `create` lets the server choose."""
        if isinstance(session, Session):
            return AsyncSession(self._connection, session.scope, session.name)
        return AsyncSession(self._connection, self._scope(namespace, user, agent, session))

    def list_sessions(
        self,
        *,
        page_size: int = 0,
        namespace: str | None = None,
        user: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPages[Session]:
        """Iterates over a user's live sessions, those of every agent."""
        scope = scope_to_proto(self._scope(namespace, user, agent="", session=""))

        async def fetch(token: str) -> tuple[Sequence[Session], str]:
            request = session_service_pb2.ListSessionsRequest(scope=scope, page_size=page_size, page_token=token)
            response = await self._connection.unary(self._connection.stubs.sessions.ListSessions, request, timeout)
            return [session_from_proto(session) for session in response.sessions], response.next_page_token

        return AsyncPages(fetch)


def _info_from_proto(message: info_service_pb2.GetServerInfoResponse) -> ServerInfo:
    return ServerInfo(
        version=message.version,
        api_versions=tuple(message.api_versions),
        capabilities=frozenset(message.capabilities),
        tokenizers=tuple(message.tokenizers),
        default_namespace=message.default_namespace,
        embedding_model=message.embedding_model,
        embedding_dimension=message.embedding_dimension,
        graph_engine=message.graph_engine,
        max_message_bytes=message.max_message_bytes,
        max_batch_items=message.max_batch_items,
        max_text_bytes=message.max_text_bytes,
        max_page_size=message.max_page_size,
        max_hits=message.max_hits,
        heartbeat_interval=from_duration(message.heartbeat_interval),
    )
