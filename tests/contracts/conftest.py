from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.ports.ledger import Ledger
from memsidecar.ports.sessions import SessionStore
from tests.session_servers import RunningServer

Opener = Callable[[Path], Awaitable[Ledger]]


async def open_sqlite(directory: Path) -> Ledger:
    return await SqliteLedger.open(directory, ProtobufEventCodec())


OPENERS: dict[str, Opener] = {"sqlite": open_sqlite}


@pytest.fixture(params=list(OPENERS.values()), ids=list(OPENERS))
def opener(request: pytest.FixtureRequest) -> Opener:
    chosen: Opener = request.param
    return chosen


@pytest.fixture
async def ledger(opener: Opener, tmp_path: Path) -> AsyncIterator[Ledger]:
    opened = await opener(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def session_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("sessions")) as server:
        yield server


@pytest.fixture(params=["redis"])
async def sessions(request: pytest.FixtureRequest, session_server: RunningServer) -> AsyncIterator[SessionStore]:
    """A store of every kind, with small limits: 50 messages, 5 pinned ones, 20 scratch entries, 4 KiB of scratch."""
    settings = RedisSettings(
        session_server.url, max_messages=50, max_pinned=5, max_scratch_entries=20, max_scratch_bytes=4096
    )
    store = {"redis": RedisSessions.connect}[request.param](settings)
    yield store
    await store.close()
