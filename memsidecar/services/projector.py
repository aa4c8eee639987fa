"""Keeps the graph behind the ledger by as little as possible, and never ahead of it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence

from memsidecar.domain.errors import LedgerDamaged, SidecarError
from memsidecar.domain.events import Entry
from memsidecar.domain.fold import apply
from memsidecar.ports.graph import GraphChange, GraphStore
from memsidecar.ports.ledger import Ledger

_log = logging.getLogger(__name__)

# Changes applied in one graph transaction: large ones cost less each, and a kill repeats at most this many.
BATCH = 1_000
# Entries held in memory for the graph; behind by more than this, it reads the ledger instead.
BACKLOG = 20_000
# A transaction costs the engine 2 to 5 ms whatever is in it: what comes within this time goes into one.
COALESCE = 0.1
FIRST_RETRY = 0.2
LAST_RETRY = 10.0


class GraphProjector:
    """One task that applies what was committed. The graph may be deleted, locked or broken: writes go on."""

    def __init__(self, graph: GraphStore, ledger: Ledger) -> None:
        self._graph, self._ledger = graph, ledger
        self._backlog: deque[Entry] = deque()
        self._applied = 0
        self._newest = 0
        self._behind = True  # the backlog does not reach back to what is applied
        self._wake = asyncio.Event()
        self._caught_up = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._hurry = asyncio.Event()
        self._damaged: set[str] = set()

    @property
    def lag(self) -> int:
        """Ledger entries that the graph does not show yet."""
        return max(0, self._newest - self._applied)

    async def start(self) -> None:
        """Begin where the graph is. A graph that is ahead of the ledger is of another history: it is set aside."""
        self._newest = await self._ledger.position()
        self._applied = await self._graph.applied()
        if self._applied > self._newest:
            await self._start_over("it is ahead of the ledger")
        self._task = asyncio.create_task(self._run(), name="graph-projector")

    def publish(self, entries: Sequence[Entry]) -> None:
        """Entries that have been committed. Positions of different partitions may arrive out of order."""
        self._newest = max(self._newest, entries[-1].position)
        if len(self._backlog) + len(entries) > BACKLOG:
            self._backlog.clear()
            self._behind = True
        if not self._behind:
            self._backlog.extend(entries)
        self._caught_up.clear()
        self._wake.set()

    async def wait_until_caught_up(self) -> None:
        """Until the graph shows everything committed before this call."""
        while self.lag:
            self._caught_up.clear()
            self._hurry.set()
            await self._caught_up.wait()

    async def rebuild(self, reason: str) -> None:
        """Set the graph aside and make it anew from the ledger; done when it has caught up."""
        await self._start_over(reason)
        self._wake.set()
        await self.wait_until_caught_up()

    async def _start_over(self, reason: str) -> None:
        await self._graph.reset(reason)
        self._backlog.clear()
        self._behind, self._applied = True, 0

    async def close(self) -> None:
        """Apply what is committed, then stop; give up when the graph does not answer."""
        self._closing = True
        self._hurry.set()
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        retry = FIRST_RETRY
        while True:
            try:
                if not self.lag:
                    self._caught_up.set()
                    if self._closing:
                        return
                    if self._graph.needs_rebuild:
                        await self._start_over("mostly dead space")
                        continue
                    self._wake.clear()
                    await self._wake.wait()
                    await self._gather()
                    continue
                await self._apply_next()
                retry = FIRST_RETRY
            except SidecarError as error:
                _log.warning("the graph does not follow", extra={"problem": str(error), "lag": self.lag})
                self._backlog.clear()
                self._behind = True
                if self._closing:
                    return
                await asyncio.sleep(retry)
                retry = min(retry * 2, LAST_RETRY)

    async def _gather(self) -> None:
        """Let a batch grow, unless it is large already or somebody waits for it."""
        self._hurry.clear()
        if len(self._backlog) < BATCH and not self._closing:
            try:
                async with asyncio.timeout(COALESCE):
                    await self._hurry.wait()
            except TimeoutError:
                pass

    async def _apply_next(self) -> None:
        entries = self._take()
        if entries is None:
            # Order: the flag first. What is committed during the read is then in the backlog, or in what is read.
            self._behind = False
            try:
                entries = list(await self._ledger.tail(self._applied, BATCH))
            except LedgerDamaged as error:
                self._pass_over(error)
                return
            if len(entries) == BATCH:
                self._behind = True
                self._backlog.clear()
            if not entries:
                self._applied = max(self._applied, self._newest)
                return
        changes = [
            GraphChange(entry.position, entry.partition, apply(entry.event))
            for entry in entries
            if entry.event is not None and entry.partition.name not in self._damaged
        ]
        last = entries[-1].position
        if changes:
            await self._graph.apply(changes)
        self._applied = max(self._applied, last)

    def _pass_over(self, error: LedgerDamaged) -> None:
        """Go past an entry that cannot be trusted, so that it does not keep the other partitions' graph behind. Its own
        partition is not followed any further: what comes after may build on what is lost."""
        name = error.metadata["partition"]
        if name not in self._damaged:
            _log.error("the graph leaves out a partition", extra={"problem": str(error)})
            self._damaged.add(name)
        self._behind = True
        self._applied += 1

    def _take(self) -> list[Entry] | None:
        """The next entries without a gap, or None when they must be read from the ledger."""
        if self._behind:
            return None
        while self._backlog and self._backlog[0].position <= self._applied:
            self._backlog.popleft()
        if not self._backlog:
            return None
        batch = sorted((self._backlog.popleft() for _ in range(min(BATCH, len(self._backlog)))), key=_position)
        if batch[0].position != self._applied + 1 or batch[-1].position - batch[0].position != len(batch) - 1:
            # A commit of another partition is not published yet: the ledger has it.
            return None
        return batch


def _position(entry: Entry) -> int:
    return entry.position
