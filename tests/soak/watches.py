"""Writers and watchers of several users: every acknowledged write is told to each watcher, once and in order.

Checked all the time: revisions grow, and names are of the watcher's user. Checked again and again, with the writers at
rest: what was told live, over all restarts, is what a watch that begins anew reads from the ledger, and every
acknowledged write is in it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from uuid import uuid4

from memsidecar_client import (
    AsyncMemsidecar,
    Fact,
    Memory,
    MemoryChange,
    MemoryChanged,
    WatchBehind,
    WatchHeartbeat,
    WatchInterrupted,
)

from tests.soak.worker import Soak, is_of

USERS = ("ann", "ben", "北京", "")
WATCHERS = 3
WRITERS = 2
UNREAD = 20
# Memories that a writer keeps: older ones are purged, so that a long soak does not only grow.
KEPT = 200
CHECK_EVERY = 15.0
CATCH_UP_SECONDS = 90.0

_Told = tuple[int, str]


@dataclass
class _User:
    """`acknowledged` are numbers of writes that must be told; `told` what each watcher was, since the last check."""

    name: str
    since: str = ""
    acknowledged: set[str] = field(default_factory=set)
    purged: set[str] = field(default_factory=set)
    told: list[list[_Told]] = field(default_factory=lambda: [[] for _ in range(WATCHERS)])
    numbers: list[set[str]] = field(default_factory=lambda: [set() for _ in range(WATCHERS)])
    reached: list[str] = field(default_factory=lambda: [""] * WATCHERS)
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)


class Watches:
    def __init__(self) -> None:
        self._users = [_User(name) for name in USERS]
        self._count = self._changes = self._behind = self._interrupted = self._checks = 0

    async def run(self, soak: Soak) -> None:
        async with asyncio.TaskGroup() as tasks:
            lasting = [tasks.create_task(self._never_read(soak))]
            for user in self._users:
                begun = [asyncio.Event() for _ in range(WATCHERS)]
                lasting += [
                    tasks.create_task(self._watch(soak, user, number, event)) for number, event in enumerate(begun)
                ]
                for event in begun:
                    await event.wait()
                user.since = user.reached[0]
            writers = [
                tasks.create_task(self._write(soak, user, number)) for user in self._users for number in range(WRITERS)
            ]
            while await soak.pause(CHECK_EVERY):
                await self._check_all(soak)
            await asyncio.wait(writers)
            await self._check_all(soak)
            for task in lasting:
                task.cancel()

    def progress(self) -> str:
        return (
            f"{self._count} writes, {self._changes} changes told, {self._interrupted} interruptions, "
            f"{self._behind} times behind, {self._checks} checks"
        )

    async def _write(self, soak: Soak, user: _User, writer: int) -> None:
        dice = random.Random(f"{soak.seed} {user.name} {writer}")
        kept: list[Memory] = []
        while not soak.stop.is_set():
            # One writer of a user at a time, and none during a check.
            async with user.writing:
                await self._one_write(soak, user, kept, dice)
            await asyncio.sleep(dice.uniform(0.0, 0.02))

    async def _one_write(self, soak: Soak, user: _User, kept: list[Memory], dice: random.Random) -> None:
        number, request_id = f"w{self._count}", str(uuid4())
        self._count += 1
        what = dice.choice(kept) if kept and dice.random() < 0.4 else None
        if len(kept) > KEPT:
            name = kept.pop(0).name
            await soak.answered(lambda: soak.client.delete_memory(name, purge=True, request_id=request_id))
            user.purged.add(name)
            return
        if what is None:
            text = f"{number} " + "words " * dice.choice((1, 10, 500))
            fresh = Memory(Fact(text), labels={"n": number})
            written = await soak.answered(
                lambda: soak.client.create_memory(fresh, user=user.name, request_id=request_id)
            )
            kept += [written.memory] if written is not None else []
        else:
            changed = Memory(what.body, name=what.name, labels={"n": number})
            written = await soak.answered(
                lambda: soak.client.update_memory(changed, fields=["labels"], request_id=request_id)
            )
        if written is not None:
            user.acknowledged.add(number)

    async def _watch(self, soak: Soak, user: _User, number: int, begun: asyncio.Event) -> None:
        last = 0
        async with soak.client.watch_memories(user=user.name) as events:
            async for event in events:
                if isinstance(event, MemoryChanged):
                    revision = int(event.change.name.rpartition("/")[2])
                    soak.expect(revision > last, f"{user.name}: revision {revision} told after {last}")
                    soak.expect(is_of(event.memory, user.name), f"{event.memory} told to {user.name!r}")
                    last = revision
                    user.told[number].append((revision, event.memory))
                    if event.change.snapshot is not None:
                        user.numbers[number].add(event.change.snapshot.labels.get("n", ""))
                    elif event.change.change is MemoryChange.PURGED:
                        user.purged.add(event.memory)
                    self._changes += 1
                self._behind += isinstance(event, WatchBehind)
                self._interrupted += isinstance(event, WatchInterrupted)
                user.reached[number] = event.revision
                begun.set()

    async def _never_read(self, soak: Soak) -> None:
        """Watches that are opened and not read."""
        async with AsyncMemsidecar(soak.sidecar.target) as client, AsyncExitStack() as stack:
            for number in range(UNREAD):
                user = self._users[number % len(self._users)].name
                await stack.enter_async_context(client.watch_memories(user=user, timeout=60))
            await asyncio.Event().wait()

    async def _check_all(self, soak: Soak) -> None:
        for user in self._users:
            async with user.writing, soak.restarting:
                await self._check(soak, user)

    async def _check(self, soak: Soak, user: _User) -> None:
        stored, reached, erased = await _read_again(soak.client, user)
        for number in range(WATCHERS):
            told = user.told[number]
            caught_up = await _until(_ends_as(told, stored))
            soak.expect(caught_up, f"{user.name}: a watcher does not catch up; {len(told)} of {len(stored)} changes")
            soak.expect(told == stored, f"{user.name}: told {len(told)} changes, the ledger has {len(stored)}")
            lost = user.acknowledged - user.numbers[number]
            soak.expect(len(lost) <= erased, f"{user.name}: acknowledged and never told: {sorted(lost)[:5]}")
            told.clear()
            user.numbers[number].clear()
        user.acknowledged.clear()
        user.since = reached
        self._checks += 1


async def _read_again(client: AsyncMemsidecar, user: _User) -> tuple[list[_Told], str, int]:
    """What the ledger holds since the last check, up to which revision, and how much of it is erased."""
    found: list[_Told] = []
    erased = 0
    async with client.watch_memories(user=user.name, after=user.since, timeout=60) as events:
        async for event in events:
            if isinstance(event, MemoryChanged):
                found.append((int(event.change.name.rpartition("/")[2]), event.memory))
                erased += event.change.snapshot is None and event.change.change is not MemoryChange.PURGED
            elif isinstance(event, WatchHeartbeat) and event.caught_up:
                break
        return found, events.revision, erased


def _ends_as(told: list[_Told], stored: list[_Told]) -> Callable[[], bool]:
    return lambda: told[-1:] == stored[-1:]


async def _until(condition: Callable[[], bool]) -> bool:
    loop = asyncio.get_running_loop()
    until = loop.time() + CATCH_UP_SECONDS
    while not condition():
        if loop.time() > until:
            return False
        await asyncio.sleep(0.05)
    return True
