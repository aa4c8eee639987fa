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
        self._max_calls = max_calls
        self._max_streams = max_streams
        self._max_generations = max_generations
        self._max_watches = max_watches
        self._calls: set[asyncio.Task[Any] | None] = set()
        self._watches: set[asyncio.Task[Any] | None] = set()
        self._streams = 0
        self._generations = 0
        self._draining = False
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def running(self) -> int:
        return len(self._calls)

    def enter(self, task: asyncio.Task[Any] | None, kind: Kind) -> None:
        """Raises Draining, Overloaded; then `leave` must not be called."""
        if self._draining:
            raise Draining
        if kind is Kind.WATCH:
            if len(self._watches) >= self._max_watches:
                raise Overloaded("max_watches")
            self._watches.add(task)
        elif kind is Kind.GENERATION:
            if self._generations >= self._max_generations:
                raise Overloaded("generation.max_streams")
            self._generations += 1
        elif len(self._calls) - len(self._watches) - self._generations >= self._max_calls:
            raise Overloaded("max_concurrent_rpcs")
        elif kind is Kind.STREAM:
            if self._streams >= self._max_streams:
                raise Overloaded("max_streams")
            self._streams += 1
        self._calls.add(task)

    def leave(self, task: asyncio.Task[Any] | None, kind: Kind) -> None:
        self._streams -= kind is Kind.STREAM
        self._watches.discard(task)
        self._generations -= kind is Kind.GENERATION
        self._calls.discard(task)
        if not self._calls:
            self._idle.set()

    async def drain(self, grace: float) -> bool:
        """Refuse new calls from now on and wait for those that run; False when some still do after `grace` seconds."""
        self._draining = True
        return await self.idle(grace)

    def cancel_watches(self) -> None:
        """End those that do not end by themselves, because their client does not read."""
        for task in self._watches:
            if task is not None:
                task.cancel()

    async def idle(self, within: float) -> bool:
        """Whether all calls have ended, their clean-up included, within so many seconds."""
        if not self._calls:
            return True
        self._idle.clear()
        try:
            await asyncio.wait_for(self._idle.wait(), within)
        except TimeoutError:
            return False
        return True
