"""Real stores with a switch: they fail, or they hold a call back until told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from memsidecar.domain.events import Entry
from memsidecar.ports.graph import GraphChange, GraphStore
from memsidecar.ports.ledger import Append, Ledger


class SwitchedLedger:
    """A Ledger. `failure` is raised by appends; appends wait for `gate`; `appends` holds those that were stored."""

    def __init__(self, real: Ledger) -> None:
        self._real = real
        self.failure: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.appends: list[Append] = []
        self.reads = 0

    async def append(self, batch: Append) -> Sequence[Entry]:
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        entries = await self._real.append(batch)
        self.appends.append(batch)
        return entries

    async def read(self, *args: Any) -> Sequence[Entry]:
        self.reads += 1
        return await self._real.read(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class SwitchedGraph:
    """A GraphStore. `failure` is raised by writes; they wait for `gate`."""

    def __init__(self, real: GraphStore) -> None:
        self._real = real
        self.failure: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.tries = 0
        self.rebuild_wanted = False

    @property
    def needs_rebuild(self) -> bool:
        return self.rebuild_wanted

    async def apply(self, changes: Sequence[GraphChange]) -> None:
        self.tries += 1
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        await self._real.apply(changes)

    async def reset(self, reason: str, keep: bool = True) -> None:
        self.rebuild_wanted = False
        await self._real.reset(reason, keep)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
