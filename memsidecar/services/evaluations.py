"""Whose turn it is to search."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

# Evaluations that begin between two looks at what else there is to do: each takes a millisecond of the event loop.
BEGIN_TOGETHER = 2


class Evaluations:
    """Lets `most` evaluations run at once, over all streams, in the order in which they were asked for.

    A stream asks for one at a time, so this is a round of all streams that have something to search for: one that
    always has waits for all others before its next turn. However many ask at the same moment, other calls get their
    turn of the event loop in between.
    """

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)
        self._begun = 0
        self._may_begin = asyncio.Event()
        self.waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Held while an evaluation runs. Costs nothing while there is room."""
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        try:
            while self._begun >= BEGIN_TOGETHER:
                await self._may_begin.wait()
            if not self._begun:
                self._may_begin.clear()
                asyncio.get_running_loop().call_soon(self._begin_again)
            self._begun += 1
            yield
        finally:
            self._free.release()

    def _begin_again(self) -> None:
        self._begun = 0
        self._may_begin.set()
