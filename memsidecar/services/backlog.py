"""Vectors that are due: memories accepted while the embedder was away, or embedded by another model."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from itertools import islice

from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Request
from memsidecar.domain.errors import ModelUnavailable, SidecarError
from memsidecar.domain.events import Vectors, VectorsRecorded
from memsidecar.domain.indexed_text import embedded_text
from memsidecar.domain.memory import Memory, State
from memsidecar.domain.scope import Partition
from memsidecar.services.preparing import Space, TextRefused
from memsidecar.services.residency import Residency
from memsidecar.services.resident import Resident

_log = logging.getLogger(__name__)

BATCH = 32
FIRST_RETRY = 1.0
LAST_RETRY = 60.0
# Refused texts known by heart; one that is forgotten costs a request.
MAX_REFUSED = 10_000


class EmbeddingBacklog:
    """One task that embeds what is due, partition by partition. What is due is derived from the ledger, so a crash
    forgets nothing: a partition's backlog is known again when it is next loaded."""

    def __init__(self, residency: Residency, space: Space) -> None:
        self._residency, self._space = residency, space
        self._partitions: dict[Partition, None] = {}
        # Versions of memories whose texts the embedder does not take: left alone until they change.
        self._refused: dict[Partition, dict[str, int]] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def notice(self, partition: Partition) -> None:
        """The partition has something due."""
        if self._space.embeds and partition not in self._partitions:
            self._partitions[partition] = None
            self._wake.set()

    def start(self) -> None:
        if self._space.embeds:
            self._task = asyncio.create_task(self._run(), name="embedding-backlog")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        retry = FIRST_RETRY
        while True:
            while not self._partitions:
                self._wake.clear()
                await self._wake.wait()
            partition = next(iter(self._partitions))
            try:
                more = await self._embed_some(partition)
                retry = FIRST_RETRY
            except SidecarError as error:
                _log.warning("vectors stay due", extra={"problem": str(error)})
                more = True
                await asyncio.sleep(retry)
                retry = min(retry * 2, LAST_RETRY)
            # In turns: a partition with much to do, or a damaged one, must not hold up the rest.
            del self._partitions[partition]
            if more:
                self._partitions[partition] = None

    async def _embed_some(self, partition: Partition) -> bool:
        """Embed a batch; False when nothing is due any more. Raises ModelUnavailable, and what loading raises."""
        resident = await self._residency.view(partition)
        memories = list(islice(self._due(resident), BATCH))
        if not memories:
            return False
        await self._record(partition, await self._embedded(partition, memories))
        return True

    def _due(self, resident: Resident) -> Iterator[Memory]:
        # What is not due any more, because it is purged, deleted or has its vectors, is forgotten here.
        refused = {i: v for i, v in self._refused.pop(resident.partition, {}).items() if i in resident.due}
        if refused:
            self._refused[resident.partition] = refused
        for memory_id in resident.due:
            memory = resident.memory(memory_id)
            if memory is not None and refused.get(memory_id) != memory.version:
                yield memory

    async def _embedded(self, partition: Partition, memories: list[Memory]) -> list[tuple[Memory, Vectors]]:
        """The memories that the embedder takes, with their vectors; those that it refuses are left alone from now on.

        Raises ModelUnavailable when it takes none.
        """
        try:
            return list(zip(memories, await self._space.embed_bodies([m.body for m in memories]), strict=True))
        except TextRefused as error:
            self._leave_alone(partition, memories[error.position])
            return []
        except ModelUnavailable:
            if len(memories) == 1:
                raise
        # One text may be what it chokes on, without saying so. Two that fail by themselves mean that it is away.
        found: list[tuple[Memory, Vectors]] = []
        failed: list[Memory] = []
        for memory in memories:
            try:
                (vectors,) = await self._space.embed_bodies([memory.body])
            except ModelUnavailable:
                failed.append(memory)
                if len(failed) > 1 and not found:
                    raise
            else:
                found.append((memory, vectors))
        for memory in failed:
            self._leave_alone(partition, memory)
        return found

    def _leave_alone(self, partition: Partition, memory: Memory) -> None:
        _log.warning("the embedder does not take a text", extra={"memory": memory.id})
        self._refused.setdefault(partition, {})[memory.id] = memory.version
        while sum(map(len, self._refused.values())) > MAX_REFUSED and len(self._refused) > 1:
            # Those of the partition that was looked at longest ago: asked for again, should it come back.
            del self._refused[next(iter(self._refused))]

    async def _record(self, partition: Partition, found: Sequence[tuple[Memory, Vectors]]) -> None:
        texts = {memory.id: (embedded_text(memory.body), vectors) for memory, vectors in found}

        def record(decision: Decision) -> list[None]:
            for memory_id, (text, vectors) in texts.items():
                memory = decision.view.memory(memory_id)
                # Deleted, purged or changed meanwhile: these vectors are of no use (no ghost comes back).
                live = memory is not None and memory.state is not State.DELETED
                wanted = live and memory is not None and embedded_text(memory.body) == text
                if wanted and not decision.view.has_vectors(memory_id):
                    decision.record(VectorsRecorded(memory_id, vectors))
            return []

        if texts:
            await self._residency.write(partition, record, Request(actor="memsidecar"))
