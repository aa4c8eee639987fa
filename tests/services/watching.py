"""A watcher for tests: what one watch has told. Every wait is bounded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from memsidecar.domain.draft import Patch, Request
from memsidecar.domain.events import MemoryPurged, MemoryRecorded
from memsidecar.domain.recall import NO_FILTER, Filter
from memsidecar.domain.scope import Scope
from memsidecar.services.tail import Tail
from memsidecar.services.watch import Alive, Changed, Watch, Watched
from tests.services.stack import ANN, Stack

WHO = ANN.partition
NO = Request()
SOON = 0.02
PATIENCE = 20.0


class Watcher:
    """What one watch has told. Every wait is bounded."""

    def __init__(self, events: AsyncGenerator[Watched, None]) -> None:
        self._events = events
        self.seen: list[Watched] = []

    async def next(self) -> Watched:
        event = await asyncio.wait_for(anext(self._events), PATIENCE)
        self.seen.append(event)
        return event

    async def changes(self, count: int) -> list[tuple[str, str]]:
        """The next so many changes: what made them, and the text that they left."""
        found: list[tuple[str, str]] = []
        while len(found) < count:
            event = await self.next()
            if isinstance(event, Changed):
                found.append(told_of(event))
        return found

    async def until(self, revision: int) -> list[tuple[str, str]]:
        """All changes up to a revision."""
        first = len(self.seen)
        while not self.seen or self.seen[-1].revision < revision:
            await self.next()
        return [told_of(event) for event in self.seen[first:] if isinstance(event, Changed)]


def told_of(event: Changed) -> tuple[str, str]:
    match event.entry.event:
        case MemoryRecorded(change=change, memory=memory):
            return change.name, memory.text
        case MemoryPurged():
            return "PURGED", ""
        case _:
            return "ERASED", ""


@asynccontextmanager
async def watching(
    stack: Stack,
    scope: Scope = ANN,
    wanted: Filter = NO_FILTER,
    after: int | None = None,
    watch: Watch | None = None,
) -> AsyncIterator[Watcher]:
    """A watch that has begun."""
    async with aclosing((watch or stack.watch)(scope, wanted, after)) as events:
        watcher = Watcher(events)
        assert isinstance(await watcher.next(), Alive)
        yield watcher


async def head(stack: Stack, scope: Scope = ANN) -> int:
    return (await stack.real_ledger.head(scope.partition)).revision


async def update(stack: Stack, memory_id: str, patch: Patch) -> None:
    await stack.memories.update(WHO, memory_id, patch, NO)


async def evict(stack: Stack) -> None:
    loaded = stack.residency.peek(WHO)
    assert loaded is not None
    loaded.leaving = True
    await stack.residency._unload(loaded)
    assert stack.residency.peek(WHO) is None


def tail_of(stack: Stack) -> Tail:
    return stack.watch._tails[WHO][0]
