"""After a ledger was taken back to a point in time: what cannot be as it was then is recorded as it is."""

from __future__ import annotations

from memsidecar.domain.conflicts.closing import forget
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Request
from memsidecar.domain.events import NO_VECTORS, MemoryPurged, VectorsRecorded
from memsidecar.domain.point_in_time import Cut
from memsidecar.ports.ledger import Append, Ledger
from memsidecar.ports.runtime import Clock, Ids
from memsidecar.services.hydration import Hydration

_ACTOR = "memsidecar"
_REASON = "purged after the point in time that was restored"


class Amending:
    """Runs while nothing else writes."""

    def __init__(self, ledger: Ledger, hydrate: Hydration, clock: Clock, ids: Ids) -> None:
        self._ledger, self._hydrate, self._clock, self._ids = ledger, hydrate, clock, ids

    async def __call__(self, cut: Cut) -> None:
        """Purges are purges again, with the conflicts that they settled, and vectors that were overwritten are due.

        Raises LedgerDamaged, StoreFull, StoreUnavailable.
        """
        if not cut.purged and not cut.without_vectors:
            return
        resident, _ = await self._hydrate(cut.partition)
        now = self._clock.now()
        decision = Decision.on(resident, cut.partition, now, self._ids.new, Request(actor=_ACTOR))
        for memory_id in cut.purged:
            decision.record(MemoryPurged(memory_id, _ACTOR, _REASON))
            forget(decision, memory_id)
        for memory_id in cut.without_vectors:
            decision.record(VectorsRecorded(memory_id, NO_VECTORS))
        await self._ledger.append(Append(cut.partition, resident.head.revision, decision.events, now))
        await resident.vectors.close()
