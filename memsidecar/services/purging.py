"""Purges soft-deleted memories once their purge time has come."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import numpy as np

from memsidecar.domain.errors import NotFound, SidecarError
from memsidecar.domain.memory import State
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Ledger
from memsidecar.ports.runtime import Clock
from memsidecar.services.hydration import Hydration
from memsidecar.services.memories import Memories
from memsidecar.services.residency import Residency
from memsidecar.services.resident import Resident

_log = logging.getLogger(__name__)

# After a start the work of callers comes first.
FIRST_AFTER = 60.0
# A purge time is 30 days after the deletion: a day more or less is within what "purged at" can promise.
EVERY = 24 * 3600.0
PARTITIONS = 100
# Between two partitions, so that a sweep over many users never takes the machine.
PAUSE = 0.05


class Purging:
    """One task that looks through all partitions once a day. What is due follows from the ledger alone."""

    def __init__(
        self, ledger: Ledger, hydration: Hydration, residency: Residency, memories: Memories, clock: Clock
    ) -> None:
        self._ledger, self._hydration, self._residency = ledger, hydration, residency
        self._memories, self._clock = memories, clock
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="purging")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def sweep(self) -> int:
        """Purge everything that is due now; how many memories that were."""
        purged = 0
        after: Partition | None = None
        while partitions := await self._ledger.partitions(after, PARTITIONS):
            for partition in partitions:
                try:
                    purged += await self._sweep_partition(partition)
                except SidecarError as error:
                    _log.warning("a partition cannot be swept", extra={"problem": str(error)})
                await asyncio.sleep(PAUSE)
            after = partitions[-1]
        return purged

    async def _sweep_partition(self, partition: Partition) -> int:
        loaded = self._residency.peek(partition)
        if loaded is not None:
            due = purgeable(loaded.resident, self._clock.now())
        else:
            # Looked at beside the cache: a sweep must not push out the partitions that are in use.
            resident, _ = await self._hydration(partition)
            due = purgeable(resident, self._clock.now())
            await resident.vectors.close()
        purged = 0
        for memory_id in due:
            try:
                await self._memories.purge_if_due(partition, memory_id)
                purged += 1
            except NotFound:
                continue
        return purged

    async def _run(self) -> None:
        await asyncio.sleep(FIRST_AFTER)
        while True:
            try:
                if purged := await self.sweep():
                    _log.info("purged deleted memories whose time had come", extra={"memories": purged})
            except SidecarError as error:
                _log.warning("the sweep for purges failed", extra={"problem": str(error)})
            await asyncio.sleep(EVERY)


def purgeable(resident: Resident, now: int) -> Sequence[str]:
    """Ids of soft-deleted memories whose purge time has come."""
    columns = resident.columns
    rows = np.flatnonzero(np.asarray(columns["live"]) & (np.asarray(columns["state"]) == int(State.DELETED)))
    memories = [resident.records.get(row) for row in rows.tolist()]
    return [m.id for m in memories if m.purge_at is not None and m.purge_at <= now]
