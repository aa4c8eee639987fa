"""What a soak is made of: workers that use one sidecar and say what is wrong with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar
from urllib.parse import quote

from memsidecar_client import AsyncMemsidecar, MemsidecarError

from tests.sidecar import Sidecar

T = TypeVar("T")
PASSING = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED")
"""Codes of calls that a restart has cut."""


@dataclass
class Soak:
    """What the workers share: `restarting` is held while the process is away, `faults` are broken promises."""

    sidecar: Sidecar
    client: AsyncMemsidecar
    seed: int
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    restarting: asyncio.Lock = field(default_factory=asyncio.Lock)
    faults: list[str] = field(default_factory=list)

    def expect(self, holds: bool, promise: str) -> None:
        """Say that a promise is broken, and end the soak when many are."""
        if not holds:
            print(f"BROKEN: {promise}", flush=True)
            self.faults.append(promise)
            if len(self.faults) >= 20:
                self.stop.set()

    async def pause(self, seconds: float) -> bool:
        """False as soon as the soak is over."""
        try:
            await asyncio.wait_for(self.stop.wait(), seconds)
        except TimeoutError:
            return True
        return False

    async def answered(self, call: Callable[[], Awaitable[T]]) -> T | None:
        """The same call, with its request_id, until it is answered. None when it is refused: a broken promise."""
        while True:
            try:
                return await call()
            except MemsidecarError as error:
                passing = error.code in PASSING
                self.expect(passing, f"a call failed: {error.code} {error.reason} {error}")
                if not passing:
                    return None
                await asyncio.sleep(0.1)


def is_of(memory: str, user: str) -> bool:
    """Whether the name is one of that user's memories; "" has the shared ones."""
    owner = memory.partition("/users/")[2].partition("/")[0]
    return owner == quote(user, safe="@:.~-_+=,")


class Worker(Protocol):
    """One kind of use. Another one is added in `__main__.WORKERS`."""

    async def run(self, soak: Soak) -> None:
        """Work until `soak.stop`, then look once more whether every promise was kept; leave nothing running."""
        ...

    def progress(self) -> str:
        """A few words for the progress line."""
        ...


MakeWorker = Callable[[], Worker]
