"""What a slot held, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memsidecar.domain import limits
from memsidecar.domain.as_of import AsOf
from memsidecar.domain.conflict import Conflict
from memsidecar.domain.conflicts.chain import true_at
from memsidecar.domain.conflicts.history import Held, slot_history, slot_named
from memsidecar.domain.errors import InvalidField, NotFound
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Scope, resource_name
from memsidecar.domain.slot_places import Sought
from memsidecar.domain.slot_words import Rarity
from memsidecar.domain.slots import Slot, slot_of
from memsidecar.services.moments import Moments
from memsidecar.services.resident import Resident
from memsidecar.services.turn import Turn

# Memories of a slot's family that are put in order on the event loop; more of them in a thread.
_FEW = 64


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
        `as_of.valid_at` those that were true then.

        A page ends before `limit` where its texts alone fill an answer; one that is asked for after a value that is
        gone begins anew. Raises NotFound for a memory that was not known at the time, InvalidField for one without a
        slot, or an attribute that means none.
        """
        moment = await self._moments.at(scope.partition, as_of.known_at)
        memory = None
        if memory_id:
            memory = moment.resident.memory(memory_id)
            if memory is None:
                raise NotFound(resource_name(scope.partition, "memories", memory_id))
            slot, where = slot_of(memory), "memory"
        else:
            slot, where = slot_named(subject, attribute), "slot.attribute"
        if slot is None:
            raise InvalidField(where, "has no slot; slots are of facts with a predicate and preferences with a topic")
        family = await _family(moment.resident, slot)
        if len(family.memories) > _FEW:
            held = await asyncio.to_thread(slot_history, family, subject, attribute, memory)
        else:
            held = slot_history(family, subject, attribute, memory)
        return _page(held, as_of, after, limit, moment.now)


def _page(held: Sequence[Held], as_of: AsOf, after: str, limit: int, now: int) -> SlotPage:
    places = {each.memory.id: place for place, each in enumerate(held)}
    values: list[SlotValue] = []
    chars = 0
    for each in held[places.get(after, -1) + 1 :]:
        if as_of.valid_at is not None and not true_at(each.memory, as_of.valid_at):
            continue
        if len(values) == limit or chars > limits.MAX_PAGE_BYTES:
            return SlotPage(tuple(values), values[-1].memory.id, now)
        values.append(SlotValue(each.memory, each.ended_by))
        chars += len(each.memory.text)
    return SlotPage(tuple(values), None, now)


@dataclass(frozen=True, slots=True)
class _Family:
    """The memories of one slot's family and their conflicts, apart from the partition: it may change meanwhile."""

    memories: Mapping[str, Memory]
    conflicts: Mapping[str, Conflict]
    of: Mapping[str, Sequence[str]]
    rarity: Rarity

    def in_slot(self, subject: str, family: str, sought: Sought | None = None) -> Iterable[str]:
        return self.memories

    def memory(self, memory_id: str) -> Memory | None:
        return self.memories.get(memory_id)

    def conflicts_of(self, memory_id: str) -> Iterable[str]:
        return self.of.get(memory_id, ())

    def conflict(self, conflict_id: str) -> Conflict | None:
        return self.conflicts.get(conflict_id)


async def _family(resident: Resident, slot: Slot) -> _Family:
    memories: dict[str, Memory] = {}
    conflicts: dict[str, Conflict] = {}
    of: dict[str, Sequence[str]] = {}
    turn = Turn()
    for memory_id in list(resident.in_slot(slot.subject, slot.family)):
        await turn.give()
        if (memory := resident.memory(memory_id)) is None:
            continue
        memories[memory_id] = memory
        of[memory_id] = tuple(resident.conflicts_of(memory_id))
        found = ((conflict_id, resident.conflict(conflict_id)) for conflict_id in of[memory_id])
        conflicts.update((conflict_id, conflict) for conflict_id, conflict in found if conflict is not None)
    return _Family(memories, conflicts, of, resident.rarity)
