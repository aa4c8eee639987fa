"""The calls on what memories say together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import uuid4

from memsidecar_client._connection import Connected
from memsidecar_client._enums import ConflictState
from memsidecar_client._knowledge_mapping import (
    Interval,
    conflict_from_proto,
    merged_from_proto,
    neighbor_from_proto,
    parted_from_proto,
    resolution_to_proto,
    settled_from_proto,
    slot_value_from_proto,
)
from memsidecar_client._knowledge_values import (
    ConflictDetails,
    MemoryConflict,
    MergedEntities,
    Neighbor,
    PartedEntities,
    Settled,
    SlotValue,
)
from memsidecar_client._memory_mapping import as_of_to_proto, memory_from_proto, scope_to_proto
from memsidecar_client._memory_values import Body, Memory
from memsidecar_client._pages import AsyncPages
from memsidecar_client.v1 import conflict_pb2
from memsidecar_client.v1 import knowledge_service_pb2 as pb


class KnowledgeCalls(Connected):
    """Part of AsyncMemsidecar."""

    def conflicts(
        self,
        *,
        states: Iterable[ConflictState] = (),
        memory: str = "",
        page_size: int = 0,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPages[MemoryConflict]:
        """Iterates over the conflicts of a scope, newest first: open ones, or those in the given states; with `memory`
        those that this one takes, or took, part in."""
        scope = scope_to_proto(self._scope(namespace, user, agent, session))
        wanted = [conflict_pb2.ConflictState.ValueType(state) for state in states]

        async def fetch(token: str) -> tuple[Sequence[MemoryConflict], str]:
            request = pb.ListConflictsRequest(
                scope=scope, states=wanted, page_size=page_size, page_token=token, memory=memory
            )
            response = await self._connection.unary(self._connection.stubs.knowledge.ListConflicts, request, timeout)
            return [conflict_from_proto(conflict) for conflict in response.conflicts], response.next_page_token

        return AsyncPages(fetch)

    async def get_conflict(self, name: str, *, timeout: float | None = None) -> ConflictDetails:
        """The conflict of that name and its memories. Raises NotFound."""
        request = pb.GetConflictRequest(name=name)
        response = await self._connection.unary(self._connection.stubs.knowledge.GetConflict, request, timeout)
        memories = tuple(memory_from_proto(memory) for memory in response.memories)
        return ConflictDetails(conflict_from_proto(response.conflict), memories)

    async def resolve_conflict(
        self,
        name: str,
        *,
        keep: str = "",
        replacement: Memory | Body | None = None,
        split: Mapping[str, Interval] | None = None,
        dismiss: bool = False,
        answer: str = "",
        correction: bool = False,
        etag: str = "",
        reason: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Settled:
        """Settles a conflict, or settles a resolved one otherwise, in one of five ways.

        `keep` is the name of the memory that is right. `replacement` is right instead of all of them. `split` gives
        every memory the time in which it is true, oldest first: its name, with start and end (None: since ever, still).
        `dismiss`: it is no conflict. `answer` is what the user said to the conflict's question; InvalidArgument is
        raised when it names none, or several, of the values.

        The others were true until the right one became true; with `correction` they never were. Raises Conflict when
        `etag` is not the current one, NotFound, and FailedPrecondition when a later conflict must be undone first.
        """
        request = resolution_to_proto(name, keep, replacement, split, dismiss, answer)
        request.correction, request.etag, request.reason = correction, etag, reason
        request.request_id = request_id or str(uuid4())
        response = await self._connection.unary(self._connection.stubs.knowledge.ResolveConflict, request, timeout)
        return settled_from_proto(response)

    async def undo_resolution(
        self, name: str, *, etag: str = "", reason: str = "", request_id: str = "", timeout: float | None = None
    ) -> Settled:
        """Takes a resolution back: its memories are as they were before.

        Raises FailedPrecondition when one of them has been changed by a later conflict, which `metadata` names.
        """
        request = pb.UndoResolutionRequest(name=name, etag=etag, reason=reason, request_id=request_id or str(uuid4()))
        response = await self._connection.unary(self._connection.stubs.knowledge.UndoResolution, request, timeout)
        return settled_from_proto(response)

    def slot_history(
        self,
        attribute: str = "",
        *,
        subject: str = "",
        memory: str = "",
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        page_size: int = 0,
        namespace: str | None = None,
        user: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPages[SlotValue]:
        """Iterates over what a slot held, in the order in which it became true.

        The slot is that of an `attribute` such as lives_in, of the user or of the entity named `subject`, or that of a
        `memory`. `known_at` asks for what was believed then, `valid_at` for what was true then.
        """
        scope = scope_to_proto(self._scope(namespace, user, agent="", session=""))
        slot = conflict_pb2.Slot(subject=subject, attribute=attribute) if attribute or subject else None

        async def fetch(token: str) -> tuple[Sequence[SlotValue], str]:
            request = pb.ListSlotHistoryRequest(
                scope=scope,
                slot=slot,
                memory=memory,
                as_of=as_of_to_proto(valid_at, known_at),
                page_size=page_size,
                page_token=token,
            )
            method = self._connection.stubs.knowledge.ListSlotHistory
            response = await self._connection.unary(method, request, timeout)
            return [slot_value_from_proto(value) for value in response.values], response.next_page_token

        return AsyncPages(fetch)

    def neighbors(
        self,
        memory: str,
        *,
        max_depth: int = 0,
        relations: Iterable[str] = (),
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncPages[Neighbor]:
        """Iterates over the memories around one, nearest first, over at most `max_depth` edges (1 to 3, default 1).

        `relations` are names of edges such as MENTIONS, ABOUT, DERIVED_FROM, FOLLOWS, SUPERSEDES, CONTRADICTS; empty
        means all.
        """
        wanted = tuple(relations)

        async def fetch(token: str) -> tuple[Sequence[Neighbor], str]:
            request = pb.ListNeighborsRequest(
                memory=memory,
                max_depth=max_depth,
                relations=wanted,
                as_of=as_of_to_proto(valid_at, known_at),
                page_size=page_size,
                page_token=token,
            )
            response = await self._connection.unary(self._connection.stubs.knowledge.ListNeighbors, request, timeout)
            return [neighbor_from_proto(neighbor) for neighbor in response.neighbors], response.next_page_token

        return AsyncPages(fetch)

    async def merge_entities(
        self,
        target: str,
        sources: Iterable[str],
        *,
        reason: str = "",
        validate_only: bool = False,
        request_id: str = "",
        timeout: float | None = None,
    ) -> MergedEntities:
        """Folds up to 16 entities into the one named `target`; with `validate_only` says what that would do."""
        request = pb.MergeEntitiesRequest(
            target=target,
            sources=sources,
            reason=reason,
            validate_only=validate_only,
            request_id=request_id or str(uuid4()),
        )
        response = await self._connection.unary(self._connection.stubs.knowledge.MergeEntities, request, timeout)
        return merged_from_proto(response)

    async def undo_merge_entities(
        self, source: str, *, reason: str = "", request_id: str = "", timeout: float | None = None
    ) -> PartedEntities:
        """Takes the merge of an entity into another one back."""
        request = pb.UndoMergeEntitiesRequest(source=source, reason=reason, request_id=request_id or str(uuid4()))
        response = await self._connection.unary(self._connection.stubs.knowledge.UndoMergeEntities, request, timeout)
        return parted_from_proto(response)
