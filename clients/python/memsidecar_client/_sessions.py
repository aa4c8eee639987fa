"""One conversation's working memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from uuid import uuid4

from google.protobuf.field_mask_pb2 import FieldMask

from memsidecar_client._connection import Connected, Connection
from memsidecar_client._defaults import NO_LABELS, SCRATCH_PAGE_SIZE
from memsidecar_client._json_values import JsonValue
from memsidecar_client._memory_mapping import scope_to_proto
from memsidecar_client._memory_values import Scope
from memsidecar_client._pages import AsyncPages
from memsidecar_client._remember_mapping import declined_from_proto, outcomes_from_proto, stages_from_proto
from memsidecar_client._remember_values import EndedSession
from memsidecar_client._session_mapping import (
    message_from_proto,
    message_to_proto,
    scratch_from_proto,
    scratch_to_proto,
    session_from_proto,
    session_name,
)
from memsidecar_client._session_values import Appended, Message, ScratchEntry, Session, Window
from memsidecar_client._times import to_duration, to_timestamp
from memsidecar_client.v1 import session_service_pb2


class AsyncSession(Connected):
    """A handle on a session; making one makes no call. Every method raises MemsidecarError when its call fails."""

    def __init__(self, connection: Connection, scope: Scope, name: str = "") -> None:
        super().__init__(connection)
        self._owner = scope
        self._name = name

    def _set_before(self) -> Mapping[str, object]:
        return asdict(self._owner)

    async def create(
        self,
        *,
        labels: Mapping[str, str] = NO_LABELS,
        ttl: timedelta | None = None,
        expire_time: datetime | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> Session:
        """Starts the conversation. Lives for `ttl` after each append (default one hour), or until `expire_time`."""
        response = await self._connection.unary(
            self._connection.stubs.sessions.CreateSession,
            session_service_pb2.CreateSessionRequest(
                scope=scope_to_proto(self._owner),
                session=_settings(labels, ttl, expire_time),
                session_id=self._owner.session,
                request_id=request_id or str(uuid4()),
            ),
            timeout,
        )
        self._name = response.session.name
        return session_from_proto(response.session)

    async def get(self, *, timeout: float | None = None) -> Session:
        """The session's state, without its messages. Raises NotFound."""
        request = session_service_pb2.GetSessionRequest(name=await self._resolve(timeout))
        response = await self._connection.unary(self._connection.stubs.sessions.GetSession, request, timeout)
        return session_from_proto(response.session)

    async def update(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        ttl: timedelta | None = None,
        expire_time: datetime | None = None,
        etag: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Session:
        """Replaces what is given: all labels, or when it expires. Raises Conflict when `etag` does not match."""
        session = _settings(labels or NO_LABELS, ttl, expire_time)
        session.name, session.etag = await self._resolve(timeout), etag
        given = {"labels": labels, "ttl": ttl, "expire_time": expire_time}
        response = await self._connection.unary(
            self._connection.stubs.sessions.UpdateSession,
            session_service_pb2.UpdateSessionRequest(
                session=session,
                update_mask=FieldMask(paths=[path for path, value in given.items() if value is not None]),
                request_id=request_id or str(uuid4()),
            ),
            timeout,
        )
        return session_from_proto(response.session)

    async def end(self, *, request_id: str = "", timeout: float | None = None) -> Session:
        """Closes the session: readable until it expires, no more writes."""
        name = await self._resolve(timeout)
        request = session_service_pb2.EndSessionRequest(name=name, request_id=request_id or str(uuid4()))
        response = await self._connection.unary(self._connection.stubs.sessions.EndSession, request, timeout)
        return session_from_proto(response.session)

    async def end_and_remember(self, *, request_id: str = "", timeout: float | None = None) -> EndedSession:
        """Closes the session and hands its messages to long-term memory: those of the user are read for facts and
        preferences, each once, however often this is called."""
        name = await self._resolve(timeout)
        request = session_service_pb2.EndSessionRequest(name=name, remember=True, request_id=request_id or str(uuid4()))
        response = await self._connection.unary(self._connection.stubs.sessions.EndSession, request, timeout)
        return EndedSession(
            session_from_proto(response.session),
            outcomes_from_proto(response.outcomes),
            response.revision.token,
            declined_from_proto(response.outcomes),
            stages_from_proto(response.stages),
        )

    async def delete(self, *, request_id: str = "", timeout: float | None = None) -> None:
        """Drops the session and everything in it. One that is gone already is no error."""
        name = await self._resolve(timeout)
        request = session_service_pb2.DeleteSessionRequest(name=name, request_id=request_id or str(uuid4()))
        await self._connection.unary(self._connection.stubs.sessions.DeleteSession, request, timeout)

    async def append(
        self,
        messages: Iterable[Message],
        *,
        expected_last_seq: int | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> Appended:
        """Adds 1 to 256 messages in order: all, or none.

        Raises Conflict when `expected_last_seq` is given and the newest message is another one, FailedPrecondition when
        the session has ended.
        """
        response = await self._connection.unary(
            self._connection.stubs.sessions.AppendMessages,
            session_service_pb2.AppendMessagesRequest(
                session=await self._resolve(timeout),
                messages=[message_to_proto(message) for message in messages],
                expected_last_seq=expected_last_seq,
                request_id=request_id or str(uuid4()),
            ),
            timeout,
        )
        return Appended(tuple(response.seqs), response.token_count)

    def messages(self, *, min_seq: int = 0, page_size: int = 0, timeout: float | None = None) -> AsyncPages[Message]:
        """Iterates over the messages from `min_seq` on, oldest first."""

        async def fetch(token: str) -> tuple[Sequence[Message], str]:
            request = session_service_pb2.ListMessagesRequest(
                session=await self._resolve(timeout), min_seq=min_seq, page_size=page_size, page_token=token
            )
            response = await self._connection.unary(self._connection.stubs.sessions.ListMessages, request, timeout)
            return [message_from_proto(message) for message in response.messages], response.next_page_token

        return AsyncPages(fetch)

    async def window(
        self,
        *,
        max_tokens: int = 0,
        reserved_tokens: int | None = None,
        max_messages: int = 0,
        tokenizer: str = "",
        timeout: float | None = None,
    ) -> Window:
        """The newest part of the conversation that fits `max_tokens` less `reserved_tokens`, and the pinned messages.

        0 and None take the server's defaults. `tokenizer` names one of `server_info().tokenizers`, or a model.
        The newest message is there, shortened when it does not fit; InvalidArgument when not even that fits.
        """
        request = session_service_pb2.GetWindowRequest(
            session=await self._resolve(timeout),
            max_tokens=max_tokens,
            tokenizer=tokenizer,
            reserved_tokens=reserved_tokens,
            max_messages=max_messages,
        )
        response = await self._connection.unary(self._connection.stubs.sessions.GetWindow, request, timeout)
        messages = tuple(message_from_proto(message) for message in response.messages)
        return Window(messages, response.token_count, response.omitted_messages, response.shortened)

    async def set_scratch(
        self,
        entries: Mapping[str, JsonValue] | Iterable[ScratchEntry],
        *,
        ttl: timedelta | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> tuple[ScratchEntry, ...]:
        """Writes 1 to 256 values, all or none. Raises Conflict when an entry's etag does not match.

        `ttl` is for entries without an expire_time; without either they live as long as the session.
        """
        if isinstance(entries, Mapping):
            entries = [ScratchEntry(key, value) for key, value in entries.items()]
        response = await self._connection.unary(
            self._connection.stubs.sessions.SetScratch,
            session_service_pb2.SetScratchRequest(
                session=await self._resolve(timeout),
                entries=[scratch_to_proto(entry) for entry in entries],
                ttl=to_duration(ttl),
                request_id=request_id or str(uuid4()),
            ),
            timeout,
        )
        return tuple(scratch_from_proto(entry) for entry in response.entries)

    async def get_scratch(self, keys: Iterable[str], *, timeout: float | None = None) -> dict[str, ScratchEntry]:
        """The entries of up to 256 keys; keys that are not there are not in the answer."""
        wanted = list(keys)
        if not wanted:
            return {}
        pages = self._scratch_pages(wanted, "", timeout)
        return {entry.key: entry async for entry in pages}

    def list_scratch(self, prefix: str = "", *, timeout: float | None = None) -> AsyncPages[ScratchEntry]:
        """Iterates over the entries whose keys begin with `prefix`."""
        return self._scratch_pages([], prefix, timeout)

    async def delete_scratch(self, keys: Iterable[str], *, request_id: str = "", timeout: float | None = None) -> int:
        """Removes 1 to 256 values; gives how many were there."""
        request = session_service_pb2.DeleteScratchRequest(
            session=await self._resolve(timeout), keys=keys, request_id=request_id or str(uuid4())
        )
        response = await self._connection.unary(self._connection.stubs.sessions.DeleteScratch, request, timeout)
        return response.deleted_count

    def _scratch_pages(self, keys: list[str], prefix: str, timeout: float | None) -> AsyncPages[ScratchEntry]:
        async def fetch(token: str) -> tuple[Sequence[ScratchEntry], str]:
            request = session_service_pb2.GetScratchRequest(
                session=await self._resolve(timeout),
                keys=keys,
                key_prefix=prefix,
                page_size=SCRATCH_PAGE_SIZE,
                page_token=token,
            )
            response = await self._connection.unary(self._connection.stubs.sessions.GetScratch, request, timeout)
            return [scratch_from_proto(entry) for entry in response.entries], response.next_page_token

        return AsyncPages(fetch)

    async def _resolve(self, timeout: float | None) -> str:
        """The resource name. Names spell the namespace out, so the server is asked for its default one, once."""
        if not self._name:
            if not self._owner.session:
                raise ValueError("this session has no id yet; create() it first")
            namespace = self._owner.namespace or await self._connection.default_namespace(timeout)
            self._name = session_name(namespace, self._owner.user, self._owner.session)
        return self._name


def _settings(
    labels: Mapping[str, str], ttl: timedelta | None, expire_time: datetime | None
) -> session_service_pb2.Session:
    if ttl is not None and expire_time is not None:
        raise ValueError("a session takes a ttl or an expire_time, not both")
    return session_service_pb2.Session(labels=labels, ttl=to_duration(ttl), expire_time=to_timestamp(expire_time))
