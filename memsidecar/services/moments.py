"""A partition as it is, or as the store knew it at a time."""

from __future__ import annotations

from dataclasses import dataclass

from memsidecar.domain.scope import Partition
from memsidecar.ports.runtime import Clock
from memsidecar.services.past import Past
from memsidecar.services.residency import Residency
from memsidecar.services.resident import Resident


@dataclass(frozen=True, slots=True)
class Moment:
    """A partition at a time, until the caller next awaits. `now` is that time: what has expired by then has expired.
    One that is `past` never changes."""

    resident: Resident
    now: int
    past: bool = False


class Moments:
    def __init__(self, residency: Residency, past: Past, clock: Clock) -> None:
        self._residency, self._past, self._clock = residency, past, clock

    async def at(self, partition: Partition, known_at: int | None) -> Moment:
        """What was known at `known_at` (microseconds); None, or a time to come, is what is known now.

        Raises LedgerDamaged, StoreUnavailable.
        """
        now = self._clock.now()
        if known_at is None or known_at >= now:
            return Moment(await self._residency.view(partition), now)
        return Moment(await self._past.view(partition, known_at, now), known_at, past=True)
