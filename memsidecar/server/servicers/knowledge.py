"""KnowledgeService."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memsidecar.domain.conflict import ConflictState
from memsidecar.domain.scope import Partition
from memsidecar.server.mapping.conflict_in import read_choice
from memsidecar.server.mapping.conflict_out import set_conflict, set_memories
from memsidecar.server.mapping.memory_out import UsageOf, set_memory
from memsidecar.server.mapping.names import Collection, References, name_of, read_name, read_scope
from memsidecar.server.mapping.values import read_as_of
from memsidecar.server.paging import Page, fill
from memsidecar.server.servicers.writes import large_request_of, request_of
from memsidecar.server.tokens import revision_token
from memsidecar.server.validation import Violations, check
from memsidecar.services.knowledge import Knowledge, Settled
from memsidecar.services.neighbours import Near, Neighbours
from memsidecar.services.slot_history import SlotHistory, SlotValue
from memsidecar.services.uniting import UniteEntities
from memsidecar.v1 import knowledge_service_pb2 as pb


class KnowledgeServicer:
    def __init__(
        self,
        knowledge: Knowledge,
        slot_history: SlotHistory,
        unite: UniteEntities,
        neighbours: Neighbours,
        usage_of: UsageOf,
        default_namespace: str,
        now: Callable[[], int],
    ) -> None:
        self._knowledge, self._slot_history, self._unite = knowledge, slot_history, unite
        self._neighbours = neighbours
        self._usage_of, self._default_namespace, self._now = usage_of, default_namespace, now

    async def ListConflicts(self, request: pb.ListConflictsRequest) -> pb.ListConflictsResponse:  # noqa: N802
        violations = Violations(check(request))
        violations.raise_any()
        scope = read_scope(request.scope, self._default_namespace)
        memory_id = References(scope.partition, violations).one(request.memory, "memory")
        asked = Page(request)
        before = asked.position(violations)
        violations.raise_any()
        states, response, count = frozenset(map(ConflictState, request.states)), pb.ListConflictsResponse(), asked.size
        while True:
            page = await self._knowledge.list(scope, states, memory_id, before, count)
            del response.conflicts[:]
            count = await fill(
                response.conflicts, page.conflicts, lambda target, shown: set_conflict(target, shown, scope.partition)
            )
            # A page that ends early by its bytes is asked for again at that length: only the service knows its end.
            if count == len(page.conflicts):
                break
        if page.next is not None:
            response.next_page_token = asked.token(page.next)
        return response

    async def GetConflict(self, request: pb.GetConflictRequest) -> pb.GetConflictResponse:  # noqa: N802
        partition, conflict_id = self._name(request, "name", "conflicts")
        shown = await self._knowledge.get(partition, conflict_id)
        response = pb.GetConflictResponse()
        set_conflict(response.conflict, shown, partition)
        set_memories(response.memories, shown.sides, self._now(), self._usage_of, response.ByteSize())
        return response

    async def ResolveConflict(self, request: pb.ResolveConflictRequest) -> pb.ResolveConflictResponse:  # noqa: N802
        violations = Violations(check(request))
        violations.raise_any()
        partition, conflict_id = read_name(request.name, "conflicts", "name", violations)
        violations.raise_any()
        choice = read_choice(request, partition, self._now(), violations)
        violations.raise_any()
        etag, reason = request.etag, request.reason
        once = await large_request_of(request)
        settled = await self._knowledge.resolve(partition, conflict_id, choice, etag, reason, once)
        response = pb.ResolveConflictResponse()
        self._set_settled(response, partition, settled)
        return response

    async def UndoResolution(self, request: pb.UndoResolutionRequest) -> pb.UndoResolutionResponse:  # noqa: N802
        partition, conflict_id = self._name(request, "name", "conflicts")
        etag, reason = request.etag, request.reason
        settled = await self._knowledge.undo(partition, conflict_id, etag, reason, request_of(request))
        response = pb.UndoResolutionResponse()
        self._set_settled(response, partition, settled)
        return response

    async def ListSlotHistory(self, request: pb.ListSlotHistoryRequest) -> pb.ListSlotHistoryResponse:  # noqa: N802
        violations = Violations(check(request))
        violations.raise_any()
        scope = read_scope(request.scope, self._default_namespace)
        references = References(scope.partition, violations)
        memory_id = references.one(request.memory, "memory")
        subject = references.one(request.slot.subject, "slot.subject")
        asked = Page(request)
        after = asked.key(violations)
        violations.raise_any()
        as_of, attribute = read_as_of(request.as_of), request.slot.attribute
        response, count = pb.ListSlotHistoryResponse(), asked.size
        while True:
            page = await self._slot_history(scope, subject, attribute, memory_id, as_of, after, count)
            del response.values[:]
            count = await fill(response.values, page.values, _setting_value(scope.partition, page.now))
            if count == len(page.values):
                break
        if page.next is not None:
            response.next_page_token = asked.token(page.next)
        return response

    async def ListNeighbors(self, request: pb.ListNeighborsRequest) -> pb.ListNeighborsResponse:  # noqa: N802
        violations = Violations(check(request))
        violations.raise_any()
        partition, memory_id = read_name(request.memory, "memories", "memory", violations)
        asked = Page(request)
        after = asked.key(violations)
        violations.raise_any()
        as_of, depth, relations = read_as_of(request.as_of), request.max_depth or 1, frozenset(request.relations)
        response, count = pb.ListNeighborsResponse(), asked.size
        while True:
            page = await self._neighbours(partition, memory_id, depth, relations, as_of, after, count)
            del response.neighbors[:]
            count = await fill(response.neighbors, page.neighbours, _setting_neighbor(partition, page.now))
            if count == len(page.neighbours):
                break
        if page.next is not None:
            response.next_page_token = asked.token(page.next)
        return response

    async def MergeEntities(self, request: pb.MergeEntitiesRequest) -> pb.MergeEntitiesResponse:  # noqa: N802
        violations = Violations(check(request))
        violations.raise_any()
        partition, target = read_name(request.target, "memories", "target", violations)
        violations.raise_any()
        sources = References(partition, violations).many(request.sources, "sources")
        if target in sources:
            violations.add("sources", "has the target among them")
        violations.raise_any()
        do, reason = self._unite.preview if request.validate_only else self._unite.merge, request.reason
        united = await do(partition, target, sources, reason, request_of(request))
        response = pb.MergeEntitiesResponse(moved_memories=united.moved)
        entity = united.entities[0]
        set_memory(response.entity, entity, self._now(), self._usage_of(partition, entity.id))
        response.conflicts.extend(name_of(partition, "conflicts", conflict) for conflict in united.conflicts)
        response.revision.token = revision_token(partition, united.revision)
        return response

    async def UndoMergeEntities(  # noqa: N802
        self, request: pb.UndoMergeEntitiesRequest
    ) -> pb.UndoMergeEntitiesResponse:
        partition, source = self._name(request, "source", "memories")
        united = await self._unite.undo(partition, source, request.reason, request_of(request))
        response = pb.UndoMergeEntitiesResponse(moved_memories=united.moved)
        # The one that was merged, then the one that it had become.
        set_memories(response.entities, reversed(united.entities), self._now(), self._usage_of)
        response.revision.token = revision_token(partition, united.revision)
        return response

    def _set_settled(self, response: Any, partition: Partition, settled: Settled) -> None:
        set_conflict(response.conflict, settled.shown, partition)
        set_memories(response.memories, settled.shown.sides, self._now(), self._usage_of, response.ByteSize())
        response.revision.token = revision_token(partition, settled.revision)

    @staticmethod
    def _name(request: Any, field: str, collection: Collection) -> tuple[Partition, str]:
        violations = Violations(check(request))
        violations.raise_any()
        name = read_name(getattr(request, field), collection, field, violations)
        violations.raise_any()
        return name


def _setting_value(partition: Partition, now: int) -> Callable[[pb.SlotValue, SlotValue], None]:
    def set_value(target: pb.SlotValue, value: SlotValue) -> None:
        set_memory(target.memory, value.memory, now)
        target.ended_by = name_of(partition, "conflicts", value.ended_by)

    return set_value


def _setting_neighbor(partition: Partition, now: int) -> Callable[[pb.Neighbor, Near], None]:
    def set_neighbor(target: pb.Neighbor, near: Near) -> None:
        set_memory(target.memory, near.memory, now)
        target.depth, target.relation = near.depth, near.relation
        target.from_memory = name_of(partition, "memories", near.source)
        target.to_memory = name_of(partition, "memories", near.target)

    return set_neighbor
