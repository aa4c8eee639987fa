"""Watches outlive the process: whatever kills it, each change is told once, in order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from uuid import uuid4

import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    Fact,
    Memory,
    MemoryChanged,
    MemsidecarError,
    WatchHeartbeat,
    WatchInterrupted,
)

from tests.e2e.process import Launch
from tests.e2e.story import ALL
from tests.session_servers import until
from tests.sidecar import Sidecar

USERS = ("ann", "ben")
ROUNDS = 2


class Watcher:
    """Follows one user from the beginning; `seen` are the numbers of the revisions that it was told, by name."""

    def __init__(self, user: str) -> None:
        self.user = user
        self.seen: list[tuple[int, str]] = []
        self.interruptions = 0
        self.begun = asyncio.Event()

    def has_seen(self, count: int) -> Callable[[], Awaitable[bool]]:
        async def seen() -> bool:
            return len(self.seen) >= count

        return seen

    async def follow(self, client: AsyncMemsidecar) -> None:
        async with client.watch_memories(user=self.user) as events:
            self.begun.set()
            async for event in events:
                self.interruptions += isinstance(event, WatchInterrupted)
                if isinstance(event, MemoryChanged):
                    number = int(event.change.name.rpartition("/")[2])
                    self.seen.append((number, event.memory))


async def write(client: AsyncMemsidecar, user: str, stop: asyncio.Event, dice: random.Random) -> None:
    """Without a pause, and each write again until it is acknowledged."""
    known: list[Memory] = []
    while not stop.is_set():
        request_id, text = str(uuid4()), f"{user} {len(known)}"
        memory = dice.choice(known) if known and dice.random() < 0.4 else None
        for _ in range(200):
            with suppress(MemsidecarError):
                if memory is None:
                    written = await client.create_memory(Fact(text), user=user, request_id=request_id)
                    known.append(written.memory)
                else:
                    await client.delete_memory(memory.name, request_id=request_id)
                break
        else:
            raise AssertionError("not acknowledged")


async def history(client: AsyncMemsidecar, user: str) -> list[tuple[int, str]]:
    """All that was recorded, by the API's other way to see it."""
    found: list[tuple[int, str]] = []
    async for memory in client.list_memories(ALL, user=user, page_size=1000):
        found += [(int(r.name.rpartition("/")[2]), memory.name) async for r in client.memory_history(memory.name)]
    return sorted(found)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("way", ["kill", "stop"])
async def test_nothing_is_lost_and_nothing_told_twice_when_the_process_goes_and_comes(launch: Launch, way: str) -> None:
    sidecar = launch({"limits.heartbeat": "1"})
    dice = random.Random(4)
    watchers = [Watcher(user) for user in USERS for _ in range(2)]
    async with AsyncMemsidecar(sidecar.target, timeout=60) as client, asyncio.TaskGroup() as tasks:
        following = [tasks.create_task(watcher.follow(client)) for watcher in watchers]
        for watcher in watchers:
            await asyncio.wait_for(watcher.begun.wait(), 30)
        stop = asyncio.Event()
        writing = [tasks.create_task(write(client, user, stop, random.Random(user))) for user in USERS]
        for _ in range(ROUNDS):
            await asyncio.sleep(dice.uniform(0.2, 0.6))
            await asyncio.to_thread(_go, sidecar, way)
            await asyncio.to_thread(sidecar.start)
        await asyncio.sleep(0.3)
        stop.set()
        await asyncio.wait(writing)
        for watcher in watchers:
            expected = await history(client, watcher.user)
            await until(watcher.has_seen(len(expected)))
            assert watcher.seen == expected
            assert watcher.interruptions >= ROUNDS
            assert len(expected) > 20
        for task in following:
            task.cancel()


def _go(sidecar: Sidecar, way: str) -> None:
    if way == "kill":
        sidecar.kill()
    else:
        assert sidecar.stop() == 0


async def test_a_stop_does_not_wait_for_watches(launch: Launch) -> None:
    sidecar = launch({"drain_grace": "30"})
    async with AsyncMemsidecar(sidecar.target) as client, client.watch_memories() as events:
        assert isinstance(await anext(events), WatchHeartbeat)
        sidecar.terminate()
        assert await asyncio.to_thread(sidecar.wait, 15) == 0
        event = await anext(events)
        assert isinstance(event, WatchInterrupted)
        assert event.error.reason == "DRAINING"
    assert "Traceback" not in sidecar.log()
