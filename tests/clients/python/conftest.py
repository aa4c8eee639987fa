"""Fixtures of the Python client's tests.

`fake` is a stand-in for the protocol's sake; `client` and `blocking_client` talk to it.

Seam: tests of what the product does (a memory that is written is recalled, an etag that is stale is refused) belong
behind a fixture `sidecar` in this file, which starts the real server on a temporary socket and yields its target, a
string such as `unix:///tmp/x/s.sock`. Nothing else has to change: every client takes that target.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from memsidecar_client import AsyncMemsidecar, Memsidecar

from tests.clients.python.fake_sidecar import FakeSidecar
from tests.clients.python.scripted_generation import ScriptedGeneration


@pytest.fixture
def fake() -> Iterator[FakeSidecar]:
    server = FakeSidecar().start()
    yield server
    server.close()


@pytest.fixture
async def client(fake: FakeSidecar) -> AsyncIterator[AsyncMemsidecar]:
    async with AsyncMemsidecar(fake.target, namespace="acme", user="ana", agent="planner") as client:
        yield client
    await nothing_left()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ScriptedGeneration]:
    server = ScriptedGeneration(tmp_path)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def writer(server: ScriptedGeneration) -> AsyncIterator[AsyncMemsidecar]:
    """A client of `server`, for generations."""
    async with AsyncMemsidecar(server.target, namespace="acme", user="ana") as client:
        yield client
    await server.stop()
    await nothing_left()


async def nothing_left() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        # Ended calls leave the loop a few turns after their end.
        _, left = await asyncio.wait(left, timeout=2)
    assert not left, f"the client left tasks behind: {left}"


@pytest.fixture
def blocking_client(fake: FakeSidecar) -> Iterator[Memsidecar]:
    with Memsidecar(fake.target, namespace="acme", user="ana", agent="planner") as client:
        yield client
    names = [thread.name for thread in threading.enumerate()]
    assert "memsidecar-client" not in names, "the client left its thread behind"
