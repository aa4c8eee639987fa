"""What a slot held, and when."""

from __future__ import annotations

from dataclasses import dataclass

from memsidecar.domain import limits
from memsidecar.domain.as_of import AsOf
from memsidecar.domain.conflicts.history import slot_history
from memsidecar.domain.meeting import true_at
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Scope
from memsidecar.services.moments import Moments


@dataclass(frozen=True, slots=True)
class SlotValue:
    """A value with the id of the conflict that ended it, empty when none did."""

    memory: Memory
    ended_by: str


@dataclass(frozen=True, slots=True)
class SlotPage:
    """`next` continues the list when passed back as `after`; None at the end. `now` is the time that it is of."""

    values: tuple[SlotValue, ...]
    next: str | None
    now: int


class SlotHistory:
    def __init__(self, moments: Moments) -> None:
        self._moments = moments

    async def __call__(
        self, scope: Scope, subject: str, attribute: str, memory_id: str, as_of: AsOf, after: str, limit: int
    ) -> SlotPage:
        """The values of the slot of an attribute, or of a memory, in the order in which they became true; with
        `as_of.valid_at` those that were true then. Raises NotFound for a memory that was not known at the time,
        InvalidField for one without a slot."""
        moment = await self._moments.at(scope.partition, as_of.known_at)
        values: list[SlotValue] = []
        chars = 0
        found = slot_history(moment.resident, subject, attribute)
        ids = [memory.id for memory, _ in found]
        start = ids.index(after) + 1 if after in ids else 0
        for memory, ended_by in found[start:]:
            if as_of.valid_at is not None and not true_at(memory, as_of.valid_at):
                continue
            if len(values) == limit or chars > limits.MAX_PAGE_BYTES:
                return SlotPage(tuple(values), values[-1].memory.id, moment.now)
            values.append(SlotValue(memory, ended_by))
            chars += len(memory.text)
        return SlotPage(tuple(values), None, moment.now)
