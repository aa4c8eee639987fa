"""The worker of the jobs: takes what is due, oldest first, each partition in its turn, and tries until it is done."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Request
from memsidecar.domain.errors import ModelUnavailable, SidecarError
from memsidecar.domain.job import DueItem, ItemSettled, ItemState
from memsidecar.domain.scope import Partition
from memsidecar.ports.jobs import JobStore
from memsidecar.services.extraction import ACTOR, MAX_ATTEMPTS
from memsidecar.services.residency import Residency

_log = logging.getLogger(__name__)

Work = Callable[[Partition, Sequence[DueItem]], Awaitable[None]]

# Turns that follow each other and are asked about together: one explains the next, and the prompt is sent once.
BATCH = 8
# Seconds that something new waits for more of it to come.
GATHERING = 0.3
# Seconds between tries while the model is away, doubling; the last one bounds how late it is noticed to be back.
FIRST_RETRY, LAST_RETRY = 1.0, 60.0
# Times the first of those that an item waits which failed alone: others go first.
ITEM_RETRY = 5.0
_LOOKED_AT = 256


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why the worker waits, and until when (seconds of the monotonic clock)."""

    problem: str
    until: float


class JobWorker:
    """`changed` is told of a partition and a job whenever something of it has changed."""

    def __init__(
        self,
        store: JobStore,
        residency: Residency,
        work: Work,
        changed: Callable[[Partition, str], None],
        concurrency: int = 2,
        gathering: float = GATHERING,
        first_retry: float = FIRST_RETRY,
    ) -> None:
        self._store, self._residency, self._work, self._changed = store, residency, work, changed
        self._free = concurrency
        self._gathering, self._first_retry, self._retry = gathering, first_retry, first_retry
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._busy: dict[Partition, tuple[asyncio.Task[None], frozenset[str]]] = {}
        self._gather = False
        # Of items that failed: when they are tried again, and how many calls had succeeded by then.
        self._later: dict[int, float] = {}
        self._failures: dict[int, int] = {}
        self._successes = 0
        # Turns that are asked about together, where that has failed.
        self._sizes: dict[Partition, int] = {}
        self.waiting: Waiting | None = None

    def start(self) -> None:
        """Begins with what an earlier process has left."""
        self._task = asyncio.create_task(self._run(), name="job-worker")

    def notice(self) -> None:
        """Something new is due."""
        self._gather = True
        self._wake.set()

    def works_on(self, partition: Partition, job_id: str) -> bool:
        busy = self._busy.get(partition)
        return busy is not None and job_id in busy[1]

    async def close(self) -> None:
        """Stop; what is not done is done by the next process."""
        tasks = [task for task, _ in self._busy.values()]
        if self._task is not None:
            tasks.append(self._task)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self) -> None:
        while True:
            try:
                pause = await self._begin()
            except Exception:  # whatever it is, the next jobs must not wait for ever
                _log.exception("looking for jobs failed")
                pause = self._first_retry
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
                if self._gather:
                    self._gather = False
                    await asyncio.sleep(self._gathering)
            except TimeoutError:
                pass
            self._wake.clear()

    async def _begin(self) -> float | None:
        """Start what can be started. Returns after how many seconds more can be; None: when something has changed."""
        now = time.monotonic()
        if self.waiting is not None:
            if self.waiting.until > now:
                return self.waiting.until - now
            self.waiting = None
        if len(self._busy) >= self._free:
            return None
        due = await self._store.due_items(BATCH * 2, _LOOKED_AT)
        now = time.monotonic()
        if not due:
            # Nothing is left to be known about: what was due has ended, or was cancelled.
            self._later.clear()
            self._failures.clear()
            self._sizes.clear()
        ready: dict[Partition, list[DueItem]] = {}
        soonest: float | None = None
        for item in due:
            later = self._later.get(item.position, 0.0)
            if later > now:
                soonest = later if soonest is None else min(soonest, later)
            elif item.partition not in self._busy:
                ready.setdefault(item.partition, []).append(item)
        # After an outage one call finds out whether it is over.
        room = self._free - len(self._busy) if self._retry == self._first_retry else 1
        for partition, items in list(ready.items())[:room]:
            self._start(partition, self._batch(partition, items))
        return None if soonest is None else soonest - now

    def _batch(self, partition: Partition, items: list[DueItem]) -> list[DueItem]:
        """The next items that are asked about together; one that has failed is asked about alone."""
        if items[0].attempts:
            return items[:1]
        return [item for item in items if not item.attempts][: self._sizes.get(partition, BATCH)]

    def _start(self, partition: Partition, items: list[DueItem]) -> None:
        task = asyncio.create_task(self._do(partition, items), name="job")
        self._busy[partition] = (task, frozenset(item.job_id for item in items))
        self._tell(partition, items)

    async def _do(self, partition: Partition, items: list[DueItem]) -> None:
        try:
            await self._work(partition, items)
            self._retry = self._first_retry
            self._successes += 1
            self._sizes.pop(partition, None)
        except ModelUnavailable as error:
            await self._put_off(partition, items, error)
        except SidecarError as error:
            # The store's: nothing was settled. Another partition's may be well.
            _log.warning("a job is put off", extra={"problem": str(error), "items": len(items)})
            self._later.update(dict.fromkeys((item.position for item in items), self._item_retry()))
        except Exception:
            _log.exception("a job failed", extra={"items": len(items)})
            if not self._smaller(partition, items):
                await self._failed(partition, items[0], "it could not be read")
        finally:
            self._busy.pop(partition, None)
            self._tell(partition, items)
            self._wake.set()

    async def _put_off(self, partition: Partition, items: list[DueItem], error: ModelUnavailable) -> None:
        """Try again when the model may be back. An item that it does not answer while it answers others is given up in
        the end, and never holds them up."""
        _log.warning("the extractor is away", extra={"problem": str(error), "items": len(items)})
        self._wait(str(error))
        if self._smaller(partition, items):
            return
        (item,) = items
        before = self._failures.get(item.position)
        self._failures[item.position] = self._successes
        self._later[item.position] = self._item_retry()
        if before is not None and self._successes > before:
            await self._failed(partition, item, str(error))

    def _smaller(self, partition: Partition, items: list[DueItem]) -> bool:
        """Ask about fewer at a time, until one of them is known to be what it fails at; False when it is."""
        if len(items) > 1:
            self._sizes[partition] = len(items) // 2
        return len(items) > 1

    def _item_retry(self) -> float:
        return time.monotonic() + ITEM_RETRY * self._first_retry

    def _wait(self, problem: str) -> None:
        self.waiting = Waiting(problem, time.monotonic() + self._retry)
        self._retry = min(self._retry * 2, LAST_RETRY)

    async def _failed(self, partition: Partition, item: DueItem, problem: str) -> None:
        """One try less for it; after the last one it is given up."""
        state = ItemState.FAILED if item.attempts + 1 >= MAX_ATTEMPTS else ItemState.DUE

        def command(decision: Decision) -> list[None]:
            decision.jobs.append(ItemSettled(item.position, state, problem))
            return []

        self._later[item.position] = time.monotonic() + self._first_retry * 2**item.attempts
        try:
            await self._residency.write(partition, command, Request(actor=ACTOR))
        except SidecarError as error:
            self._wait(str(error))

    def _tell(self, partition: Partition, items: Sequence[DueItem]) -> None:
        for job_id in {item.job_id for item in items}:
            self._changed(partition, job_id)
