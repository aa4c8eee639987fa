"""A watch without changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from memsidecar.domain.errors import Draining
from memsidecar.domain.recall import Filter
from memsidecar.domain.scope import Scope
from memsidecar.services.watch import Alive, Watch, Watched


class FakeWatch(Watch):
    """Says that it has begun, and then nothing until the drain."""

    def __init__(self, step: Callable[..., Awaitable[None]]) -> None:
        self._step = step
        self._drained = asyncio.Event()

    async def __call__(self, scope: Scope, wanted: Filter, after: int | None) -> AsyncGenerator[Watched, None]:
        await self._step("watch", scope, wanted, after)
        yield Alive(True, 7)
        await self._drained.wait()
        raise Draining

    def drain(self) -> None:
        self._drained.set()
