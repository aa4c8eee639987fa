from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import grpc
import pytest

from memsidecar.domain.conflict import Conflict, Rule
from memsidecar.domain.job import Job, JobKind, JobState
from memsidecar.domain.memory import Entity, Episode, Memory
from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.session import Session
from memsidecar.ports.sessions import SessionKey
from memsidecar.server.app import Server, ServerSettings
from tests.doubles.hash_embedder import HashEmbedder
from tests.server.api import Api
from tests.server.fakes import NOW, World
from tests.server.live import Live, live, served
from tests.session_servers import RunningServer

HOME = Partition("home", "ann")


@pytest.fixture(autouse=True)
async def no_leaks() -> AsyncIterator[None]:
    """No test leaves a task or a thread behind. gRPC's own poller thread starts once and stays."""
    grpc.aio.init_grpc_aio()
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    yield
    for _ in range(200):
        left = asyncio.all_tasks() - tasks - {asyncio.current_task()}
        if not left:
            break
        await asyncio.sleep(0.005)
    assert not left
    # The loop's own pool, which would end with it.
    await asyncio.get_running_loop().shutdown_default_executor()
    assert not {t for t in threading.enumerate() if t not in threads and not t.daemon}


@pytest.fixture
async def world() -> World:
    """Holds of ann at home the memory m1 (an episode), the entity e1, the conflict c1, the job j1, the session s1."""
    made = World()
    scope = Scope(HOME.namespace, HOME.user)
    made.memories[HOME, "m1"] = Memory("m1", scope, Episode("hello", start_time=NOW), NOW, NOW)
    made.memories[HOME, "e1"] = Memory("e1", scope, Entity("Ann"), NOW, NOW)
    made.conflicts[HOME, "c1"] = Conflict("c1", "", "lives_in", Rule.VALUE, ("m1",), NOW, NOW)
    made.jobs.append(Job("j1", HOME, "", "", JobKind.EXTRACTION, JobState.RUNNING, 3, 1, 0, NOW, NOW))
    made.sessions[SessionKey(HOME, "s1")] = Session("s1", scope, NOW, NOW, NOW + 10, 10)
    return made


@pytest.fixture
def settings(tmp_path: Path) -> ServerSettings:
    return ServerSettings(
        socket=str(tmp_path / "m.sock"), health_host="127.0.0.1", health_port=0, default_namespace="home"
    )


@pytest.fixture
async def server(settings: ServerSettings, world: World) -> AsyncIterator[Server]:
    running = Server(settings, world.services())
    await running.start()
    yield running
    await running.drain(1)


@pytest.fixture
async def channel(server: Server, settings: ServerSettings) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(f"unix:{settings.socket}") as opened:
        yield opened


@pytest.fixture
def api(channel: grpc.aio.Channel) -> Api:
    return Api(channel)


@pytest.fixture
async def alive(tmp_path: Path) -> AsyncIterator[Live]:
    """The real use cases, without sessions."""
    (tmp_path / "data").mkdir()
    async with live(tmp_path / "data", HashEmbedder()) as made:
        yield made


@pytest.fixture
async def line(alive: Live, settings: ServerSettings) -> AsyncIterator[grpc.aio.Channel]:
    """To a server over `alive`."""
    async with served(settings, alive.services) as (_, opened):
        yield opened


@pytest.fixture(scope="module")
def session_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("sessions")) as running:
        yield running
