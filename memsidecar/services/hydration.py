"""Bringing a partition into memory: its snapshot, then the ledger's tail; without a snapshot the whole ledger."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from memsidecar.domain.errors import LedgerDamaged
from memsidecar.domain.events import Entry
from memsidecar.domain.fold import apply
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import EventCodec, Head, Ledger, StoredVectors
from memsidecar.ports.snapshots import Snapshots
from memsidecar.ports.vectors import VectorIndexes
from memsidecar.services.preparing import Space
from memsidecar.services.resident import Resident

_log = logging.getLogger(__name__)

PAGE = 2_000
# Entries folded since the last snapshot that make a new one worth writing: about half a second of replay.
SNAPSHOT_AFTER = 5_000
# A proof in the background: pages of some 10 ms, and pauses that leave nine tenths of the time to others.
PROOF_PAGE = 500
PROOF_PAUSE = 9.0


class Hydration:
    def __init__(
        self, ledger: Ledger, codec: EventCodec, indexes: VectorIndexes, snapshots: Snapshots, space: Space
    ) -> None:
        self._ledger, self._codec, self._indexes, self._snapshots = ledger, codec, indexes, snapshots
        self._space = space

    async def __call__(self, partition: Partition) -> tuple[Resident, int]:
        """The partition at the ledger's head, and how many entries a snapshot would spare the next time.

        Raises LedgerDamaged, StoreUnavailable.
        """
        resident = await self._from_snapshot(partition)
        if resident is None:
            resident = self._empty(partition)
        started_at = resident.head.revision
        changed = await self._replay(resident)
        await self._load_vectors(resident, changed if started_at else None)
        return resident, resident.head.revision - started_at

    async def save(self, resident: Resident) -> None:
        """Write a snapshot of a partition that does not change meanwhile (the caller holds its writer's pause)."""
        head = await self._ledger.head(resident.partition)
        arrays = await asyncio.to_thread(resident.dump)
        await resident.vectors.save(self._snapshots.vectors_folder(resident.partition))
        await self._snapshots.save(resident.partition, Head(resident.head.revision, head.chain), arrays)

    async def prove(self, partition: Partition, revision: int) -> None:
        """Check every entry up to a revision, unhurried. Raises LedgerDamaged, StoreUnavailable."""
        after, loop = 0, asyncio.get_running_loop()
        while after < revision:
            began = loop.time()
            entries = await self._ledger.read(partition, after, PROOF_PAGE)
            if not entries:
                raise LedgerDamaged(partition.name, after + 1)
            after = entries[-1].revision
            await asyncio.sleep(PROOF_PAUSE * (loop.time() - began))

    def _empty(self, partition: Partition) -> Resident:
        return Resident(partition, self._codec, self._indexes.create(self._space.dimensions), self._space.model)

    async def _from_snapshot(self, partition: Partition) -> Resident | None:
        found = await self._snapshots.load(partition)
        if found is None:
            return None
        head, arrays = found
        newest = await self._ledger.head(partition)
        # A snapshot from beyond the ledger (a ledger restored from a backup), or of another model, is of no use.
        if head.revision > newest.revision or str(arrays["model"].tobytes().decode()) != self._space.model:
            return None
        index = await self._indexes.load(self._snapshots.vectors_folder(partition), self._space.dimensions)
        if index is None or index.size < len(arrays["has_vectors"]):
            return None
        resident = Resident(partition, self._codec, index, self._space.model)
        await asyncio.to_thread(resident.restore, arrays, head)
        return resident

    async def _replay(self, resident: Resident) -> list[str]:
        """Fold the entries after the resident's head; the ids that they are about."""
        changed: dict[str, None] = {}
        while True:
            head = resident.head
            entries = await self._ledger.read(resident.partition, head.revision, PAGE, head.chain or None)
            if not entries:
                return list(changed)
            await asyncio.to_thread(_fold, resident, entries)
            changed.update((entry.subject, None) for entry in entries)
            # The chain of a page is checked by the ledger while it reads; only a snapshot's own chain is handed in.
            resident.head = Head(entries[-1].revision, b"")

    async def _load_vectors(self, resident: Resident, changed: Sequence[str] | None) -> None:
        """Vectors of the changed memories, or of all, that the resident does not have yet."""
        if changed is None:
            stored = await self._ledger.vectors(resident.partition, self._space.model)
        else:
            stored = await self._ledger.vectors_of(resident.partition, changed, self._space.model)
        if stored:
            await asyncio.to_thread(_add_vectors, resident, stored)


def _fold(resident: Resident, entries: Sequence[Entry]) -> None:
    for entry in entries:
        if entry.event is not None:
            resident.apply(apply(entry.event))


def _add_vectors(resident: Resident, stored: Sequence[StoredVectors]) -> None:
    for vectors in stored:
        row = resident.lookup.rows.get(vectors.memory_id)
        if row is None or resident.has_vectors(vectors.memory_id):
            continue
        resident.set_vectors(row, vectors.rows)
