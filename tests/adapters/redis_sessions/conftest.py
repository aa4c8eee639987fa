from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.domain.scope import Scope
from memsidecar.domain.session import Message, Role, Session
from memsidecar.ports.sessions import SessionKey
from tests.session_servers import RunningServer

NOW = 1_900_000_000_000_000
HOUR = 3_600_000_000


def a_session(session_id: str = "s", namespace: str = "n") -> Session:
    return Session(session_id, Scope(namespace, "u", "", session_id), NOW, NOW, NOW + HOUR, HOUR)


def said(text: str, role: Role = Role.USER) -> Message:
    return Message(role, text, created_at=NOW, token_count=1)


def key_of(session: Session) -> SessionKey:
    return SessionKey(session.scope.partition, session.id)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    """A server of the test's own, with durable data; it may be killed and started again."""
    with RunningServer(tmp_path, appendonly="yes", appendfsync="everysec") as server:
        yield server


@pytest.fixture
async def store(server: RunningServer) -> AsyncIterator[RedisSessions]:
    store = RedisSessions.connect(RedisSettings(server.url, timeout_s=5.0))
    yield store
    await store.close()
