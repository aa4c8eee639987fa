"""SessionService."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from memsidecar.domain.draft import Outcome
from memsidecar.domain.scope import Scope
from memsidecar.domain.session import Session
from memsidecar.ports.sessions import SessionKey
from memsidecar.server.mapping.memory_out import UsageOf
from memsidecar.server.mapping.names import read_scope
from memsidecar.server.mapping.outcome_out import Outcomes, set_stages
from memsidecar.server.mapping.sessions import (
    read_expiration,
    read_key,
    read_messages,
    read_writes,
    set_entry,
    set_message,
    set_session,
)
from memsidecar.server.mapping.values import length
from memsidecar.server.paging import Page, fill
from memsidecar.server.servicers.writes import large_request_of, request_of
from memsidecar.server.tokens import revision_token
from memsidecar.server.validation import Violations, check
from memsidecar.services.session_end import MAX_OUTCOMES, EndSession
from memsidecar.services.sessions import Sessions
from memsidecar.services.turn import Turn
from memsidecar.v1 import session_service_pb2 as pb

_HasSession = TypeVar(
    "_HasSession", pb.CreateSessionResponse, pb.GetSessionResponse, pb.UpdateSessionResponse, pb.EndSessionResponse
)
_MUTABLE = ("labels", "expire_time", "ttl")


class SessionServicer:
    def __init__(
        self,
        sessions: Sessions,
        end_session: EndSession,
        usage_of: UsageOf,
        default_namespace: str,
        now: Callable[[], int],
    ) -> None:
        self._sessions, self._end_session, self._usage_of = sessions, end_session, usage_of
        self._default_namespace = default_namespace
        self._now = now

    async def CreateSession(self, request: pb.CreateSessionRequest) -> pb.CreateSessionResponse:  # noqa: N802
        Violations(check(request)).raise_any()
        asked = read_scope(request.scope, self._default_namespace)
        session_id = request.session_id or asked.session
        scope = Scope(asked.namespace, asked.user, request.session.scope.agent or asked.agent, session_id)
        expires_at, ttl = read_expiration(request.session)
        labels = dict(request.session.labels)
        session = await self._sessions.create(
            scope, session_id, labels, expires_at, ttl, request_of(request, scope.agent)
        )
        return _with_session(pb.CreateSessionResponse(), session)

    async def GetSession(self, request: pb.GetSessionRequest) -> pb.GetSessionResponse:  # noqa: N802
        session = await self._sessions.get(_key(request, "name"))
        return _with_session(pb.GetSessionResponse(), session)

    async def ListSessions(self, request: pb.ListSessionsRequest) -> pb.ListSessionsResponse:  # noqa: N802
        violations = Violations(check(request))
        for field in ("agent", "session"):
            if getattr(request.scope, field):
                violations.add(f"scope.{field}", "must be empty")
        page = Page(request)
        after = page.key(violations)
        violations.raise_any()
        partition = read_scope(request.scope, self._default_namespace).partition
        sessions = await self._sessions.list(partition, after, page.size)
        response = pb.ListSessionsResponse()
        count = await fill(response.sessions, sessions, set_session)
        if count and (count < len(sessions) or count == page.size):
            response.next_page_token = page.token(sessions[count - 1].id)
        return response

    async def UpdateSession(self, request: pb.UpdateSessionRequest) -> pb.UpdateSessionResponse:  # noqa: N802
        violations = Violations(check(request))
        session = request.session
        key = read_key(session.name, "session.name", violations)
        asked = _asked(request, violations)
        violations.raise_any()
        expires_at, ttl = read_expiration(session)
        labels = dict(session.labels) if "labels" in asked else None
        expires_at = expires_at if "expire_time" in asked else None
        ttl = ttl if "ttl" in asked else None
        etag = session.etag
        updated = await self._sessions.update(key, labels, expires_at, ttl, etag, request_of(request))
        return _with_session(pb.UpdateSessionResponse(), updated)

    async def EndSession(self, request: pb.EndSessionRequest) -> pb.EndSessionResponse:  # noqa: N802
        key = _key(request, "name")
        ended = await self._end_session(key, request.remember, request_of(request))
        response = _with_session(pb.EndSessionResponse(), ended.session)
        if ended.revision is not None:
            outcomes = [outcome for outcome in ended.outcomes if isinstance(outcome, Outcome)]
            await Outcomes(self._now(), self._usage_of).fill(response.outcomes, outcomes)
            # Those that were read out of others come last.
            del response.outcomes[MAX_OUTCOMES:]
            set_stages(response.stages, ended.stages, key.partition)
            response.revision.token = revision_token(key.partition, ended.revision)
        return response

    async def DeleteSession(self, request: pb.DeleteSessionRequest) -> pb.DeleteSessionResponse:  # noqa: N802
        await self._sessions.delete(_key(request, "name"), request_of(request))
        return pb.DeleteSessionResponse()

    async def AppendMessages(self, request: pb.AppendMessagesRequest) -> pb.AppendMessagesResponse:  # noqa: N802
        key = _key(request, "session")
        once = await large_request_of(request)
        turn = Turn()
        messages = read_messages(request.messages)
        await turn.give()
        expected = request.expected_last_seq if request.HasField("expected_last_seq") else None
        appended = await self._sessions.append(key, messages, expected, once)
        return pb.AppendMessagesResponse(seqs=appended.seqs, token_count=appended.token_count)

    async def ListMessages(self, request: pb.ListMessagesRequest) -> pb.ListMessagesResponse:  # noqa: N802
        violations = Violations(check(request))
        key = read_key(request.session, "session", violations)
        page = Page(request)
        position = page.position(violations)
        violations.raise_any()
        after = max(request.min_seq - 1, 0) if position is None else position
        messages = await self._sessions.messages(key, after, page.size)
        response = pb.ListMessagesResponse()
        count = await fill(response.messages, messages, set_message)
        if count and (count < len(messages) or count == page.size):
            response.next_page_token = page.token(messages[count - 1].seq)
        return response

    async def GetWindow(self, request: pb.GetWindowRequest) -> pb.GetWindowResponse:  # noqa: N802
        key = _key(request, "session")
        reserved = request.reserved_tokens if request.HasField("reserved_tokens") else None
        window = await self._sessions.window(key, request.max_tokens, reserved, request.max_messages, request.tokenizer)
        response = pb.GetWindowResponse(
            token_count=window.token_count, omitted_messages=window.omitted, shortened=window.shortened
        )
        turn = Turn()
        for message in window.messages:
            await turn.give()
            set_message(response.messages.add(), message)
        return response

    async def SetScratch(self, request: pb.SetScratchRequest) -> pb.SetScratchResponse:  # noqa: N802
        violations = Violations(check(request))
        violations.raise_any()
        key = read_key(request.session, "session", violations)
        violations.raise_any()
        once = await large_request_of(request)
        turn = Turn()
        writes = read_writes(request.entries, violations)
        violations.raise_any()
        await turn.give()
        ttl = length(request.ttl) if request.HasField("ttl") else None
        response = pb.SetScratchResponse()
        for entry in await self._sessions.set_scratch(key, writes, ttl, once):
            await turn.give()
            set_entry(response.entries.add(), entry)
        return response

    async def GetScratch(self, request: pb.GetScratchRequest) -> pb.GetScratchResponse:  # noqa: N802
        violations = Violations(check(request))
        key = read_key(request.session, "session", violations)
        page = Page(request)
        after = page.key(violations)
        if request.keys and (request.key_prefix or request.page_token):
            violations.add("keys", "are asked for alone, without key_prefix and page_token")
        violations.raise_any()
        response = pb.GetScratchResponse()
        if request.keys:
            for entry in await self._sessions.scratch(key, list(dict.fromkeys(request.keys))):
                set_entry(response.entries.add(), entry)
            return response
        entries = await self._sessions.list_scratch(key, request.key_prefix, after, page.size)
        count = await fill(response.entries, entries, set_entry)
        if count and (count < len(entries) or count == page.size):
            response.next_page_token = page.token(entries[count - 1].key)
        return response

    async def DeleteScratch(self, request: pb.DeleteScratchRequest) -> pb.DeleteScratchResponse:  # noqa: N802
        key = _key(request, "session")
        keys = list(dict.fromkeys(request.keys))
        return pb.DeleteScratchResponse(
            deleted_count=await self._sessions.delete_scratch(key, keys, request_of(request))
        )


def _key(request: Any, field: str) -> SessionKey:
    violations = Violations(check(request))
    violations.raise_any()
    key = read_key(getattr(request, field), field, violations)
    violations.raise_any()
    return key


def _asked(request: pb.UpdateSessionRequest, violations: Violations) -> set[str]:
    """The fields that an update names, or without a mask those that are set."""
    session = request.session
    given = {field.name for field, _ in session.ListFields()} & set(_MUTABLE)
    if not request.HasField("update_mask"):
        asked = given
    else:
        asked = set(_MUTABLE) & (given | {"labels"}) if "*" in request.update_mask.paths else set()
        for index, path in enumerate(request.update_mask.paths):
            if path in _MUTABLE:
                asked.add(path)
                if path != "labels" and path not in given:
                    violations.add(f"session.{path}", "must be set: a session always expires")
            elif path != "*":
                violations.add(f"update_mask.paths[{index}]", f"is not one of {', '.join(_MUTABLE)}")
    if not asked and not violations.found:
        violations.add("update_mask", f"names none of {', '.join(_MUTABLE)}, and none of them is set")
    return asked


def _with_session(response: _HasSession, session: Session) -> _HasSession:
    set_session(response.session, session)
    return response
