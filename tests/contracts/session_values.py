"""Sessions and messages that the contract cases of session stores begin with."""

from __future__ import annotations

from uuid import uuid4

from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.session import Message, Role, Session
from memsidecar.ports.sessions import SessionKey, SessionStore

HOUR = 3_600_000_000
NOW = 1_900_000_000_000_000


def a_session(session_id: str = "s", partition: Partition | None = None, ttl: int = HOUR, **more: object) -> Session:
    where = partition or Partition(f"n-{uuid4()}", "u")
    scope = Scope(where.namespace, where.user, "agent", session_id)
    return Session(session_id, scope, NOW, NOW, NOW + ttl, ttl, **more)  # type: ignore[arg-type]


async def started(sessions: SessionStore, session: Session | None = None) -> SessionKey:
    session = session or a_session()
    await sessions.create(session, "", b"")
    return SessionKey(session.scope.partition, session.id)


def said(*texts: str, tokens: int = 3) -> list[Message]:
    return [Message(Role.USER, text, created_at=NOW, token_count=tokens) for text in texts]


async def say(sessions: SessionStore, key: SessionKey, *texts: str) -> None:
    await sessions.append(key, said(*texts), NOW, None, "", b"")
