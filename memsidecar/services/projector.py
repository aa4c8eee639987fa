"""Keeps the graph behind the ledger by as little as possible, and never ahead of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence

from memsidecar.domain.errors import LedgerDamaged, SidecarError, StoreUnavailable
from memsidecar.domain.events import Entry
from memsidecar.domain.fold import apply
from memsidecar.ports.graph import GraphChange, GraphStore
from memsidecar.ports.ledger import Ledger
from memsidecar.ports.metrics import Kind, Metric
from memsidecar.services.behind import Behind
from memsidecar.services.turn import Turn

_log = logging.getLogger(__name__)

# Changes applied in one graph transaction: large ones cost less each, and a kill repeats at most this many.
BATCH = 2_000
# Entries held in memory for the graph; behind by more than this, it reads the ledger instead.
BACKLOG = 20_000
# A transaction costs the engine 2 to 5 ms whatever is in it, and a pass over its tables to find what edges join: what
# comes within this time goes into one ...
COALESCE = 0.1
# ... and while more keeps coming, what comes within this, unless it is a batch before. A batch is then applied in a
# fraction of the time that it takes to write one, so this also bounds how far behind the graph is.
COALESCE_MOST = 1.0
DEAD_SPACE = "mostly dead space"
FIRST_RETRY = 0.2
LAST_RETRY = 10.0
# Failures in a row after which whoever waits for the graph is told instead.
PATIENCE = 3
# A graph that does not take what is left within this time is left behind; it catches up at the next start.
CLOSE_TIMEOUT = 10.0


class GraphProjector:
    """One task that applies what was committed. The graph may be deleted, locked or broken: writes go on."""

    def __init__(self, graph: GraphStore, ledger: Ledger) -> None:
        self._graph, self._ledger = graph, ledger
        self._backlog: deque[Entry] = deque()
        self._applied = 0
        self._newest = 0
        self._since = Behind()
        self._behind = True  # the backlog does not reach back to what is applied
        self._start_over = ""  # why the graph is to be made anew
        self._failures = 0
        self._problem: SidecarError | None = None
        self._retry = FIRST_RETRY
        self._compacted = False
        self._unsure = False  # whether `_applied` is what the graph says
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        self._progress = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._damaged: set[str] = set()

    @property
    def lag(self) -> int:
        """Ledger entries that the graph does not show yet."""
        return max(0, self._newest - self._applied)

    def metrics(self) -> Sequence[Metric]:
        gauge, label = Kind.GAUGE, ("projection",)
        return (
            Metric(
                "memsidecar_projection_lag_events",
                gauge,
                "Entries of the ledger that a projection does not show yet.",
                lambda: [(("graph",), self.lag)],
                label,
            ),
            Metric(
                "memsidecar_projection_lag_seconds",
                gauge,
                "How old the oldest entry of the ledger is that a projection does not show yet.",
                lambda: [(("graph",), self._since.seconds(time.monotonic()))],
                label,
            ),
            Metric(
                "memsidecar_projection_failures_total",
                Kind.COUNTER,
                "Times that a projection could not follow and began again.",
                lambda: [(("graph",), self._failures)],
                label,
            ),
        )

    async def start(self) -> None:
        """Begin where the graph is. A graph that is ahead of the ledger is of another history: it is set aside."""
        self._newest = await self._ledger.position()
        self._applied = await self._graph.applied()
        if self._applied > self._newest:
            self._start_over = "it is ahead of the ledger"
        self._since.given(self._newest, time.monotonic())
        self._since.reached(self._applied)
        self._task = asyncio.create_task(self._run(), name="graph-projector")

    def publish(self, entries: Sequence[Entry]) -> None:
        """Entries that have been committed. Positions of different partitions may arrive out of order."""
        self._newest = max(self._newest, entries[-1].position)
        self._since.given(self._newest, time.monotonic())
        if len(self._backlog) + len(entries) > BACKLOG:
            self._backlog.clear()
            self._behind = True
        if not self._behind:
            self._backlog.extend(entries)
        self._wake.set()

    async def wait_until_caught_up(self) -> None:
        """Until the graph shows everything committed before this call.

        Raises what keeps it from that: StoreUnavailable when the graph fails again and again, or is closed.
        """
        wanted, failures = self._newest, self._failures
        while self._applied < wanted or self._start_over or self._is_bloated:
            if self._problem is not None and self._failures - failures >= PATIENCE:
                raise self._problem
            if self._task is None or self._task.done():
                raise StoreUnavailable("graph", "is closed")
            self._hurry.set()
            self._progress.clear()
            await self._progress.wait()

    @property
    def _is_bloated(self) -> bool:
        """Whether the graph is to be made anew for its size: once a process, however large it is then."""
        return not self._compacted and self._graph.needs_rebuild

    async def rebuild(self, reason: str) -> None:
        """Set the graph aside and make it anew from the ledger; done when it has caught up. Raises as waiting does."""
        self._start_over = reason
        self._wake.set()
        await self.wait_until_caught_up()

    async def close(self) -> None:
        """Apply what is committed, then stop; give up when the graph does not answer."""
        self._closing = True
        self._hurry.set()
        self._wake.set()
        if self._task is not None:
            _, late = await asyncio.wait([self._task], timeout=CLOSE_TIMEOUT)
            if late:
                _log.warning("the graph is left behind", extra={"lag": self.lag})
                self._task.cancel()
                await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            while not (self._closing and not self.lag):
                try:
                    await self._step()
                    self._problem = None
                    self._since.reached(self._applied)
                except SidecarError as error:
                    if self._closing:
                        _log.warning("the graph is left behind", extra={"problem": str(error), "lag": self.lag})
                        return
                    await self._recover(error)
                self._progress.set()
        finally:
            self._progress.set()  # whoever waits sees that this task is done

    async def _step(self) -> None:
        if self._unsure:
            self._applied = await self._graph.applied()
            self._unsure = False
            self._since.given(self._newest, time.monotonic())
        if not self._start_over and not self.lag and self._is_bloated:
            self._start_over, self._compacted = DEAD_SPACE, True
        if self._start_over:
            await self._graph.reset(self._start_over, keep=self._start_over != DEAD_SPACE)
            self._backlog.clear()
            self._behind, self._applied, self._start_over = True, 0, ""
            self._since.given(self._newest, time.monotonic())
        elif self.lag:
            await self._gather()
            await self._apply_next()
        else:
            self._wake.clear()
            await self._wake.wait()

    async def _recover(self, error: SidecarError) -> None:
        """Wait, longer after every failure in a row, and begin again where the graph says it is."""
        retry = FIRST_RETRY if self._problem is None else min(self._retry * 2, LAST_RETRY)
        self._retry, self._problem = retry, error
        self._failures += 1
        self._progress.set()
        _log.warning("the graph does not follow", extra={"problem": str(error), "lag": self.lag})
        self._backlog.clear()
        self._behind = True
        try:
            async with asyncio.timeout(retry):
                while not self._closing:
                    self._wake.clear()
                    await self._wake.wait()
        except TimeoutError:
            pass
        # Failing, it may have kept the last batch or not, or set its files aside.
        self._unsure = True

    async def _gather(self) -> None:
        """Let a batch grow, unless it is large already or somebody waits for it."""
        self._hurry.clear()
        left = COALESCE_MOST
        seen = -1
        while not self._behind and not self._closing and not self._start_over:
            if left <= 0.0 or self._newest == seen or len(self._backlog) >= BATCH:
                return
            seen = self._newest
            try:
                async with asyncio.timeout(COALESCE):
                    await self._hurry.wait()
                return
            except TimeoutError:
                left -= COALESCE

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
        changes = []
        turn = Turn()
        for entry in entries:
            if entry.event is not None and entry.partition.name not in self._damaged:
                changes.append(GraphChange(entry.position, entry.partition, apply(entry.event)))
                await turn.give()
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
