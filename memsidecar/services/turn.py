"""Long work on the event loop, in slices."""

from __future__ import annotations

import asyncio
import time

# Seconds of work before others get a turn on the loop.
SLICE = 0.002


class Turn:
    """Gives others a turn on the loop once a slice of time is used up."""

    def __init__(self) -> None:
        self._end = time.perf_counter() + SLICE

    async def give(self) -> None:
        if time.perf_counter() >= self._end:
            await asyncio.sleep(0)
            self._end = time.perf_counter() + SLICE
