"""Vectors that are due: memories accepted while the embedder was away, or embedded by another model."""

from __future__ import annotations

import asyncio
import logging
from itertools import islice

from memsidecar.domain.decide import Decision
from memsidecar.domain.draft import Request
from memsidecar.domain.errors import ModelUnavailable, SidecarError
from memsidecar.domain.events import Vectors, VectorsRecorded
from memsidecar.domain.indexed_text import embedded_text
from memsidecar.domain.scope import Partition
from memsidecar.services.preparing import Space
from memsidecar.services.residency import Residency

_log = logging.getLogger(__name__)

BATCH = 32
FIRST_RETRY = 1.0
LAST_RETRY = 60.0


class EmbeddingBacklog:
    """One task that embeds what is due, partition by partition. What is due is derived from the ledger, so a crash
    forgets nothing: a partition's backlog is known again when it is next loaded."""

    def __init__(self, residency: Residency, space: Space) -> None:
        self._residency, self._space = residency, space
        self._partitions: dict[Partition, None] = {}
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
                if not await self._embed_some(partition):
                    self._partitions.pop(partition, None)
                retry = FIRST_RETRY
            except SidecarError as error:
                _log.warning("vectors stay due", extra={"problem": str(error)})
                # Another partition may fare better: a damaged one must not hold up the rest.
                self._partitions[partition] = self._partitions.pop(partition, None)
                await asyncio.sleep(retry)
                retry = min(retry * 2, LAST_RETRY)

    async def _embed_some(self, partition: Partition) -> bool:
        """Embed a batch; False when nothing is due any more."""
        loaded = await self._residency.get(partition)
        ids = list(islice(loaded.resident.due, BATCH))
        if not ids:
            return False
        memories = [m for m in (loaded.resident.memory(i) for i in ids) if m is not None]
        try:
            found = await self._space.embed_bodies([m.body for m in memories])
        except ModelUnavailable:
            if len(memories) == 1:
                raise
            # One text may be what the provider chokes on: it must not hold up the others.
            found = await self._space.embed_bodies([memories[0].body])
            memories = memories[:1]
        texts = {m.id: (embedded_text(m.body), vectors) for m, vectors in zip(memories, found, strict=True)}

        def record(decision: Decision) -> list[None]:
            for memory_id, (text, vectors) in texts.items():
                memory = decision.view.memory(memory_id)
                # Deleted, purged or changed meanwhile: these vectors are of no use (no ghost comes back).
                wanted = memory is not None and embedded_text(memory.body) == text
                if wanted and not decision.view.has_vectors(memory_id):
                    decision.record(VectorsRecorded(memory_id, Vectors(vectors.model, vectors.rows)))
            return []

        await loaded.writer.submit(record, Request(actor="memsidecar"))
        return True
