"""Purges soft-deleted memories once their purge time has come."""

from __future__ import annotations

import asyncio
import logging

from memsidecar.domain.errors import NotFound, SidecarError
from memsidecar.ports.ledger import DuePurge, Ledger
from memsidecar.ports.runtime import Clock
from memsidecar.services.memories import Memories

_log = logging.getLogger(__name__)

# After a start the work of callers comes first.
FIRST_AFTER = 60.0
# A purge time is 30 days after the deletion: a day more or less is within what "purged at" can promise.
EVERY = 24 * 3600.0
AT_ONCE = 100
# Between two purges, so that a sweep over many never takes the machine.
PAUSE = 0.05


class Purging:
    """One task that asks the ledger once a day what is due."""

    def __init__(self, ledger: Ledger, memories: Memories, clock: Clock) -> None:
        self._ledger, self._memories, self._clock = ledger, memories, clock
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
        after: DuePurge | None = None
        while due := await self._ledger.due_purges(self._clock.now(), after, AT_ONCE):
            for one in due:
                try:
                    await self._memories.purge_if_due(one.partition, one.memory_id)
                    purged += 1
                except NotFound:
                    continue
                except SidecarError as error:
                    _log.warning("a memory cannot be purged", extra={"problem": str(error)})
                await asyncio.sleep(PAUSE)
            after = due[-1]
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
