"""How many calls run, how many may, and whether new ones are still taken."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import Any

from memsidecar.domain.errors import Draining, Overloaded


class Kind(Enum):
    """What a call takes: a moment, a while, as long as a model writes, or as long as a client wants.

    The last two wait nearly all of the time.
    """

    SHORT = 1
    STREAM = 2
    GENERATION = 3
    WATCH = 4


class Admission:
    """Lets calls in, or refuses them before any work. Knows the tasks that are in, so that a drain can await them.

    `max_calls` and `max_streams` do not count generations and watches, which have limits of their own.
    """

    def __init__(self, max_calls: int, max_streams: int, max_generations: int, max_watches: int) -> None:
        self._limits = {
            Kind.SHORT: (max_calls, "limits.max_concurrent_rpcs"),
            Kind.STREAM: (max_streams, "limits.max_streams"),
            Kind.GENERATION: (max_generations, "generation.max_streams"),
            Kind.WATCH: (max_watches, "limits.max_watches"),
        }
        self._calls: dict[Kind, set[asyncio.Task[Any] | None]] = {kind: set() for kind in Kind}
        self._draining = False
        self._idle = asyncio.Event()
        self._idle.set()

    def open(self, kind: Kind) -> int:
        """Calls of a kind that run."""
        return len(self._calls[kind])

    def most(self, kind: Kind) -> int:
        """How many of a kind may run; short ones share theirs with streams."""
        return self._limits[kind][0]

    @property
    def running(self) -> int:
        return sum(map(len, self._calls.values()))

    def enter(self, task: asyncio.Task[Any] | None, kind: Kind) -> None:
        """Raises Draining, Overloaded; then `leave` must not be called."""
        if self._draining:
            raise Draining
        if kind in (Kind.SHORT, Kind.STREAM):
            self._require_room(Kind.SHORT, len(self._calls[Kind.SHORT]) + len(self._calls[Kind.STREAM]))
        if kind is not Kind.SHORT:
            self._require_room(kind, len(self._calls[kind]))
        self._calls[kind].add(task)

    def _require_room(self, kind: Kind, running: int) -> None:
        most, limit = self._limits[kind]
        if running >= most:
            raise Overloaded(limit)

    def leave(self, task: asyncio.Task[Any] | None, kind: Kind) -> None:
        self._calls[kind].discard(task)
        if not self.running:
            self._idle.set()

    async def drain(self, grace: float) -> bool:
        """Refuse new calls from now on and wait for those that run; False when some still do after `grace` seconds."""
        self._draining = True
        return await self.idle(grace)

    def cancel(self, kind: Kind) -> None:
        """End the calls of a kind that do not end by themselves, because their client does not read."""
        for task in self._calls[kind]:
            if task is not None:
                task.cancel()

    async def idle(self, within: float) -> bool:
        """Whether all calls have ended, their clean-up included, within so many seconds."""
        if not self.running:
            return True
        self._idle.clear()
        try:
            await asyncio.wait_for(self._idle.wait(), within)
        except TimeoutError:
            return False
        return True
