"""The calls on memories by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import uuid4

from google.protobuf.field_mask_pb2 import FieldMask

from memsidecar_client._connection import Connected
from memsidecar_client._enums import ConflictPolicy, MemoryOrder
from memsidecar_client._memory_mapping import (
    as_of_to_proto,
    embedding_to_proto,
    filter_to_proto,
    memory_from_proto,
    memory_to_proto,
    revision_from_proto,
    scope_to_proto,
)
from memsidecar_client._memory_values import Body, Deleted, Filter, Memory, MemoryRevision, Vector, Written
from memsidecar_client._pages import AsyncPages
from memsidecar_client._watch import AsyncMemoryWatch
from memsidecar_client.v1 import conflict_pb2, memory_service_pb2, watch_pb2


class MemoryCalls(Connected):
    """Part of AsyncMemsidecar."""

    async def create_memory(
        self,
        memory: Memory | Body,
        *,
        memory_id: str = "",
        embedding: Vector | None = None,
        conflict_policy: ConflictPolicy = ConflictPolicy.UNSPECIFIED,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        request_id: str = "",
        timeout: float | None = None,
    ) -> Written:
        """Stores exactly this memory, without deduplication. Raises AlreadyExists when `memory_id` is taken.

        `conflict_policy` says what becomes of what it contradicts, and of itself; with REJECT FailedPrecondition is
        raised then.
        """
        response = await self._connection.unary(
            self._connection.stubs.memories.CreateMemory,
            memory_service_pb2.CreateMemoryRequest(
                scope=scope_to_proto(self._scope(namespace, user, agent, session)),
                memory=memory_to_proto(memory),
                memory_id=memory_id,
                request_id=request_id or str(uuid4()),
                embedding=embedding_to_proto(embedding),
                conflict_policy=conflict_pb2.ConflictPolicy.ValueType(conflict_policy),
            ),
            timeout,
        )
        return Written(memory_from_proto(response.memory), response.revision.token)

    async def get_memory(
        self,
        name: str,
        *,
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        timeout: float | None = None,
    ) -> Memory:
        """The memory of that resource name, a deleted one, too, until it is purged. Raises NotFound.

        With `known_at` as the store knew it then; with `valid_at` only if it was true then.
        """
        request = memory_service_pb2.GetMemoryRequest(name=name, as_of=as_of_to_proto(valid_at, known_at))
        response = await self._connection.unary(self._connection.stubs.memories.GetMemory, request, timeout)
        return memory_from_proto(response.memory)

    async def get_memories(
        self,
        names: Iterable[str],
        *,
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        timeout: float | None = None,
    ) -> tuple[Memory, ...]:
        """Up to 256 memories of one namespace, in the order of the names. Raises NotFound when one is missing, also at
        the time that is asked for."""
        request = memory_service_pb2.BatchGetMemoriesRequest(names=names, as_of=as_of_to_proto(valid_at, known_at))
        response = await self._connection.unary(self._connection.stubs.memories.BatchGetMemories, request, timeout)
        return tuple(memory_from_proto(memory) for memory in response.memories)

    def list_memories(
        self,
        filter: Filter | None = None,  # noqa: A002 - the word of the contract
        *,
        order: MemoryOrder = MemoryOrder.UNSPECIFIED,
        valid_at: datetime | None = None,
        known_at: datetime | None = None,
        page_size: int = 0,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPages[Memory]:
        """Iterates over the scope's memories in the order of creation. `page_size` 0 takes the server's default.

        With `known_at` over those that the store knew then, as they were; with `valid_at` over those that were true
        then, superseded since or not.
        """
        scope = scope_to_proto(self._scope(namespace, user, agent, session))
        narrowed = filter_to_proto(filter)

        async def fetch(token: str) -> tuple[Sequence[Memory], str]:
            request = memory_service_pb2.ListMemoriesRequest(
                scope=scope,
                filter=narrowed,
                page_size=page_size,
                page_token=token,
                order=memory_service_pb2.MemoryOrder.ValueType(order),
                as_of=as_of_to_proto(valid_at, known_at),
            )
            response = await self._connection.unary(self._connection.stubs.memories.ListMemories, request, timeout)
            return [memory_from_proto(memory) for memory in response.memories], response.next_page_token

        return AsyncPages(fetch)

    async def update_memory(
        self,
        memory: Memory,
        *,
        fields: Iterable[str] = (),
        reason: str = "",
        embedding: Vector | None = None,
        conflict_policy: ConflictPolicy = ConflictPolicy.UNSPECIFIED,
        request_id: str = "",
        timeout: float | None = None,
    ) -> Written:
        """Changes the memory named `memory.name`. Raises Conflict when `memory.etag` is set and not the current one.

        `fields` are paths such as "importance" or "fact.statement"; one that is unset in `memory` is cleared. Without
        them every field that is set is written and nothing is cleared. `embedding` belongs to the new text.
        `conflict_policy` is for what it contradicts from now on.
        """
        paths = tuple(fields)
        response = await self._connection.unary(
            self._connection.stubs.memories.UpdateMemory,
            memory_service_pb2.UpdateMemoryRequest(
                memory=memory_to_proto(memory),
                update_mask=FieldMask(paths=paths) if paths else None,
                reason=reason,
                request_id=request_id or str(uuid4()),
                embedding=embedding_to_proto(embedding),
                conflict_policy=conflict_pb2.ConflictPolicy.ValueType(conflict_policy),
            ),
            timeout,
        )
        return Written(memory_from_proto(response.memory), response.revision.token)

    async def delete_memory(
        self,
        name: str,
        *,
        etag: str = "",
        purge: bool = False,
        reason: str = "",
        request_id: str = "",
        timeout: float | None = None,
    ) -> Deleted:
        """Deletes a memory until its purge_time; with `purge` at once and for good. What was read from it alone, and
        names that only it held, go with it."""
        response = await self._connection.unary(
            self._connection.stubs.memories.DeleteMemory,
            memory_service_pb2.DeleteMemoryRequest(
                name=name, etag=etag, purge=purge, reason=reason, request_id=request_id or str(uuid4())
            ),
            timeout,
        )
        memory = memory_from_proto(response.memory) if response.HasField("memory") else None
        return Deleted(memory, response.revision.token)

    async def undelete_memory(self, name: str, *, request_id: str = "", timeout: float | None = None) -> Written:
        """Restores a deleted memory that has not been purged, with what went with it."""
        request = memory_service_pb2.UndeleteMemoryRequest(name=name, request_id=request_id or str(uuid4()))
        response = await self._connection.unary(self._connection.stubs.memories.UndeleteMemory, request, timeout)
        return Written(memory_from_proto(response.memory), response.revision.token)

    def memory_history(
        self, name: str, *, page_size: int = 0, timeout: float | None = None
    ) -> AsyncPages[MemoryRevision]:
        """Iterates over a memory's revisions, newest first."""

        async def fetch(token: str) -> tuple[Sequence[MemoryRevision], str]:
            request = memory_service_pb2.ListMemoryRevisionsRequest(parent=name, page_size=page_size, page_token=token)
            method = self._connection.stubs.memories.ListMemoryRevisions
            response = await self._connection.unary(method, request, timeout)
            return [revision_from_proto(revision) for revision in response.revisions], response.next_page_token

        return AsyncPages(fetch)

    def watch_memories(
        self,
        *,
        after: str = "",
        filter: Filter | None = None,  # noqa: A002 - the word of the contract
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        timeout: float | None = None,
    ) -> AsyncMemoryWatch:
        """The changes of a scope in their order, each once: of memories that meet the filter before or after them, and
        of conflicts between such.

        From now on, or after a revision: that of a write, or where an earlier watch ended. Purges are told whatever the
        filter. That a memory expires is no change, and not told. `timeout` is for the beginning; a watch lasts until
        it is left. Use it as a context manager and iterate over it.
        """
        request = watch_pb2.WatchMemoriesRequest(
            scope=scope_to_proto(self._scope(namespace, user, agent, session)), filter=filter_to_proto(filter)
        )
        if after:
            request.after.token = after
        return AsyncMemoryWatch(self._connection, request, timeout)
