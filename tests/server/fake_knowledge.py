"""What a world knows of conflicts, slots and entities: just what a test has put there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from memsidecar.domain.as_of import AsOf
from memsidecar.domain.conflict import Conflict, ConflictState
from memsidecar.domain.conflicts.resolving import Choice
from memsidecar.domain.conflicts.shown import Shown
from memsidecar.domain.draft import Request
from memsidecar.domain.errors import NotFound
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition, Scope, resource_name
from memsidecar.services.knowledge import ConflictPage, Knowledge, Settled
from memsidecar.services.neighbours import Near, NearPage, Neighbours
from memsidecar.services.slot_history import SlotHistory, SlotPage, SlotValue
from memsidecar.services.uniting import United, UniteEntities


class Known(Protocol):
    """The part of a World that is used here."""

    memories: dict[tuple[Partition, str], Memory]
    conflicts: dict[tuple[Partition, str], Conflict]

    async def step(self, use_case: str, *seen: Any) -> None: ...


def _memory(world: Known, partition: Partition, memory_id: str) -> Memory:
    if (partition, memory_id) not in world.memories:
        raise NotFound(resource_name(partition, "memories", memory_id))
    return world.memories[partition, memory_id]


class FakeKnowledge(Knowledge):
    def __init__(self, world: Known) -> None:
        self.world = world

    def _shown(self, partition: Partition, conflict_id: str) -> Shown:
        conflict = self.world.conflicts.get((partition, conflict_id))
        if conflict is None:
            raise NotFound(resource_name(partition, "conflicts", conflict_id))
        memories: Mapping[str, Memory] = {
            memory_id: memory for (home, memory_id), memory in self.world.memories.items() if home == partition
        }
        return Shown(conflict, memories)

    async def list(
        self, scope: Scope, states: Collection[ConflictState], memory_id: str, before: int | None, limit: int
    ) -> ConflictPage:
        await self.world.step("knowledge", scope, states, memory_id, before, limit)
        ids = [i for partition, i in reversed(self.world.conflicts) if partition == scope.partition]
        start = len(ids) - (len(ids) if before is None else before)
        found = tuple(self._shown(scope.partition, i) for i in ids[start : start + limit])
        return ConflictPage(found, len(ids) - start - limit if start + limit < len(ids) else None)

    async def get(self, partition: Partition, conflict_id: str) -> Shown:
        await self.world.step("knowledge", partition, conflict_id)
        return self._shown(partition, conflict_id)

    async def resolve(
        self, partition: Partition, conflict_id: str, choice: Choice, etag: str, reason: str, request: Request
    ) -> Settled:
        await self.world.step("knowledge", partition, conflict_id, choice, etag, reason, request)
        return Settled(self._shown(partition, conflict_id), 5)

    async def undo(self, partition: Partition, conflict_id: str, etag: str, reason: str, request: Request) -> Settled:
        await self.world.step("knowledge", partition, conflict_id, etag, reason, request)
        return Settled(self._shown(partition, conflict_id), 6)


class FakeSlotHistory(SlotHistory):
    def __init__(self, world: Known) -> None:
        self.world = world

    async def __call__(
        self, scope: Scope, subject: str, attribute: str, memory_id: str, as_of: AsOf, after: str, limit: int
    ) -> SlotPage:
        await self.world.step("history", scope, subject, attribute, memory_id, as_of, after, limit)
        found = [m for (partition, _), m in self.world.memories.items() if partition == scope.partition]
        return SlotPage(tuple(SlotValue(memory, "") for memory in found), None, 0)


class FakeUnite(UniteEntities):
    def __init__(self, world: Known) -> None:
        self.world = world

    async def merge(
        self, partition: Partition, target: str, sources: Sequence[str], reason: str, request: Request
    ) -> United:
        await self.world.step("unite", partition, target, sources, reason, request)
        return United((_memory(self.world, partition, target),), 3, ("c1",), 7)

    async def preview(
        self, partition: Partition, target: str, sources: Sequence[str], reason: str, request: Request
    ) -> United:
        await self.world.step("preview", partition, target, sources, reason, request)
        return United((_memory(self.world, partition, target),), 3, (), 6)

    async def undo(self, partition: Partition, source: str, reason: str, request: Request) -> United:
        await self.world.step("unite", partition, source, reason, request)
        return United((_memory(self.world, partition, source),), 3, (), 8)


class FakeNeighbours(Neighbours):
    def __init__(self, world: Known) -> None:
        self.world = world

    async def __call__(
        self,
        partition: Partition,
        memory_id: str,
        depth: int,
        relations: Collection[str],
        as_of: AsOf,
        after: str,
        limit: int,
    ) -> NearPage:
        await self.world.step("neighbours", partition, memory_id, depth, relations, as_of, after, limit)
        memory = _memory(self.world, partition, memory_id)
        return NearPage((Near(memory, 1, memory_id, "MENTIONS", "e1"),), None, 0)
