"""Whose turn it is to search."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Evaluations:
    """Lets `most` evaluations run at once, over all streams, in the order in which they were asked for.

    A stream asks for one at a time, so this is a round of all streams that have something to search for: one that
    always has waits for all others before its next turn.
    """

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Held while an evaluation runs. Costs nothing while there is room."""
        await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()
