from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from tests.doubles.hash_embedder import HashEmbedder
from tests.services.stack import Stack
from tests.session_servers import RunningServer


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


@pytest.fixture
async def stack(tmp_path: Path, embedder: HashEmbedder) -> AsyncIterator[Stack]:
    """A stack that leaves no task behind when it is closed."""
    opened = await Stack.open(tmp_path, embedder)
    yield opened
    await opened.close()
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task() and not task.done()]
    assert [task.get_name() for task in left if not task.get_name().startswith("Task-")] == []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("sessions")) as running:
        yield running


@pytest.fixture
async def store(server: RunningServer) -> AsyncIterator[RedisSessions]:
    opened = RedisSessions.connect(RedisSettings(server.url))
    yield opened
    await opened.close()
