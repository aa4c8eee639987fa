"""How many items of jobs are in each state, looked up now and then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from memsidecar.domain.errors import SidecarError
from memsidecar.domain.job import ItemState
from memsidecar.ports.jobs import JobStore
from memsidecar.ports.metrics import Kind, Metric

_log = logging.getLogger(__name__)

# Seconds between looks: about as often as somebody collects.
EVERY = 15.0


class JobCounts:
    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._items: Mapping[ItemState, int] = dict.fromkeys(ItemState, 0)
        self._task: asyncio.Task[None] | None = None

    async def look(self) -> None:
        """Raises StoreUnavailable."""
        self._items = await self._store.count_items()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="job-counts")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def metrics(self) -> Sequence[Metric]:
        return (
            Metric(
                "memsidecar_job_items",
                Kind.GAUGE,
                "Texts that a model has still to read (due), or that were read, given up or cancelled in the last day.",
                lambda: [((state.name.lower(),), count) for state, count in self._items.items()],
                ("state",),
            ),
        )

    async def _run(self) -> None:
        while True:
            try:
                await self.look()
            except SidecarError as error:
                _log.debug("jobs cannot be counted", extra={"problem": str(error)})
            await asyncio.sleep(EVERY)
