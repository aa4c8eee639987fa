"""MemoryService."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from memsidecar.domain import limits
from memsidecar.domain.as_of import AsOf
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition
from memsidecar.server.mapping.memory_in import read_memory, read_policy
from memsidecar.server.mapping.memory_out import UsageOf, set_memory, set_revision
from memsidecar.server.mapping.names import References, read_name, read_scope
from memsidecar.server.mapping.patch import read_patch
from memsidecar.server.mapping.question import read_filter
from memsidecar.server.mapping.values import read_as_of, read_vectors
from memsidecar.server.paging import Page, fill
from memsidecar.server.servicers.ingest import Ingest
from memsidecar.server.servicers.watching import Watching
from memsidecar.server.servicers.writes import large_request_of, request_of
from memsidecar.server.tokens import revision_token
from memsidecar.server.validation import Violations, check
from memsidecar.services.memories import Memories, Written
from memsidecar.services.turn import Turn
from memsidecar.v1 import memory_pb2, watch_pb2
from memsidecar.v1 import memory_service_pb2 as pb


class MemoryServicer:
    def __init__(
        self,
        memories: Memories,
        ingest: Ingest,
        watching: Watching,
        usage_of: UsageOf,
        default_namespace: str,
        now: Callable[[], int],
    ) -> None:
        self._memories, self._ingest, self._watching, self._usage_of = memories, ingest, watching, usage_of
        self._default_namespace = default_namespace
        self._now = now

    async def Remember(self, request: pb.RememberRequest) -> pb.RememberResponse:  # noqa: N802
        return await self._ingest.one(request)

    async def BatchRemember(self, request: pb.BatchRememberRequest) -> pb.BatchRememberResponse:  # noqa: N802
        return await self._ingest.batch(request)

    async def StreamRemember(  # noqa: N802
        self, requests: AsyncIterator[pb.StreamRememberRequest]
    ) -> pb.StreamRememberResponse:
        return await self._ingest.stream(requests)

    async def CreateMemory(self, request: pb.CreateMemoryRequest) -> pb.CreateMemoryResponse:  # noqa: N802
        violations = Violations(check(request))
        violations.raise_any()
        scope = read_scope(request.scope, self._default_namespace)
        draft = read_memory(request.memory, "memory", scope, self._now(), violations)
        draft = replace(draft, policy=read_policy(request.conflict_policy))
        if request.HasField("embedding"):
            draft = replace(draft, embedding=read_vectors(request.embedding, "embedding", violations))
        violations.raise_any()
        memory_id = request.memory_id
        once = await large_request_of(request, draft.agent)
        written = await self._memories.create(scope.partition, draft, memory_id, once)
        response = pb.CreateMemoryResponse()
        self._set_written(response, scope.partition, written)
        return response

    async def GetMemory(self, request: pb.GetMemoryRequest) -> pb.GetMemoryResponse:  # noqa: N802
        partition, memory_id = self._name(request, "name")
        as_of = read_as_of(request.as_of)
        memory = await self._memories.get(partition, memory_id, as_of)
        response = pb.GetMemoryResponse()
        self._set_at(response.memory, memory, as_of)
        return response

    async def BatchGetMemories(  # noqa: N802
        self, request: pb.BatchGetMemoriesRequest
    ) -> pb.BatchGetMemoriesResponse:
        violations = Violations(check(request))
        names = [read_name(name, "memories", f"names[{i}]", violations) for i, name in enumerate(request.names)]
        for index, (partition, _) in enumerate(names):
            if partition.namespace != names[0][0].namespace and not violations.found:
                violations.add(f"names[{index}]", "must be of the same namespace as the first one")
        violations.raise_any()
        response, as_of, room = pb.BatchGetMemoriesResponse(), read_as_of(request.as_of), limits.MAX_MESSAGE_BYTES
        turn = Turn()
        for memory in await self._memories.get_many(names, as_of):
            await turn.give()
            target = response.memories.add()
            self._set_at(target, memory, as_of)
            room -= target.ByteSize() + 8
            if room < 0:
                raise InvalidField("names", f"are memories of more than {limits.MAX_MESSAGE_BYTES:,} bytes together")
        return response

    async def ListMemories(self, request: pb.ListMemoriesRequest) -> pb.ListMemoriesResponse:  # noqa: N802
        violations = Violations(check(request))
        violations.raise_any()
        scope = read_scope(request.scope, self._default_namespace)
        conditions = read_filter(request.filter, "filter", References(scope.partition, violations))
        as_of = read_as_of(request.as_of)
        conditions = replace(conditions, valid_at=as_of.valid_at)
        asked = Page(request)
        after = asked.position(violations)
        violations.raise_any()
        newest_first = request.order == pb.MEMORY_ORDER_NEWEST_FIRST
        response, count = pb.ListMemoriesResponse(), asked.size
        while True:
            page = await self._memories.list(scope, conditions, newest_first, after, count, as_of.known_at)
            del response.memories[:]
            count = await fill(
                response.memories, page.memories, lambda target, memory: self._set_at(target, memory, as_of)
            )
            # A page that ends early by its bytes is asked for again at that length: only the service knows its end.
            if count == len(page.memories):
                break
        if page.next is not None:
            response.next_page_token = asked.token(page.next)
        return response

    async def UpdateMemory(self, request: pb.UpdateMemoryRequest) -> pb.UpdateMemoryResponse:  # noqa: N802
        violations = Violations(check(request))
        partition, memory_id = read_name(request.memory.name, "memories", "memory.name", violations)
        violations.raise_any()
        patch = read_patch(request, partition, self._now(), violations)
        violations.raise_any()
        policy = read_policy(request.conflict_policy)
        once = await large_request_of(request)
        written = await self._memories.update(partition, memory_id, patch, once, policy)
        response = pb.UpdateMemoryResponse()
        self._set_written(response, partition, written)
        return response

    async def DeleteMemory(self, request: pb.DeleteMemoryRequest) -> pb.DeleteMemoryResponse:  # noqa: N802
        partition, memory_id = self._name(request, "name")
        etag, purge, reason = request.etag, request.purge, request.reason
        written = await self._memories.delete(partition, memory_id, etag, purge, reason, request_of(request))
        response = pb.DeleteMemoryResponse()
        self._set_written(response, partition, written)
        return response

    async def UndeleteMemory(self, request: pb.UndeleteMemoryRequest) -> pb.UndeleteMemoryResponse:  # noqa: N802
        partition, memory_id = self._name(request, "name")
        written = await self._memories.undelete(partition, memory_id, request_of(request))
        response = pb.UndeleteMemoryResponse()
        self._set_written(response, partition, written)
        return response

    async def ListMemoryRevisions(  # noqa: N802
        self, request: pb.ListMemoryRevisionsRequest
    ) -> pb.ListMemoryRevisionsResponse:
        violations = Violations(check(request))
        partition, memory_id = read_name(request.parent, "memories", "parent", violations)
        page = Page(request)
        before = page.position(violations)
        violations.raise_any()
        entries = await self._memories.history(partition, memory_id, before, page.size)
        response, now = pb.ListMemoryRevisionsResponse(), self._now()
        count = await fill(response.revisions, entries, lambda target, entry: set_revision(target, entry, now))
        if count and (count < len(entries) or count == page.size):
            response.next_page_token = page.token(entries[count - 1].revision)
        return response

    def WatchMemories(  # noqa: N802
        self, request: watch_pb2.WatchMemoriesRequest
    ) -> AsyncGenerator[watch_pb2.WatchMemoriesResponse, None]:
        return self._watching(request)

    @staticmethod
    def _name(request: Any, field: str) -> tuple[Partition, str]:
        violations = Violations(check(request))
        violations.raise_any()
        name = read_name(getattr(request, field), "memories", field, violations)
        violations.raise_any()
        return name

    def _set_at(self, target: memory_pb2.Memory, memory: Memory, as_of: AsOf) -> None:
        now = self._now()
        if as_of.known_at is None or as_of.known_at >= now:
            self._set(target, memory, now)
        else:
            set_memory(target, memory, as_of.known_at)

    def _set(self, target: memory_pb2.Memory, memory: Memory, now: int) -> None:
        set_memory(target, memory, now, self._usage_of(memory.scope.partition, memory.id))

    def _set_written(self, response: Any, partition: Partition, written: Written) -> None:
        if written.memory is not None:
            self._set(response.memory, written.memory, self._now())
        response.revision.token = revision_token(partition, written.revision)
