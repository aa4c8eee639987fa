"""Bringing a partition into memory: its snapshot, then the ledger's tail; without a snapshot the whole ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from memsidecar.domain.errors import LedgerDamaged
from memsidecar.domain.events import Entry, MemoryPurged
from memsidecar.domain.fold import apply
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import EventCodec, Head, Ledger, StoredVectors
from memsidecar.ports.snapshots import Snapshots
from memsidecar.ports.vectors import VectorIndexes
from memsidecar.services.preparing import Space
from memsidecar.services.resident import Resident

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
        if resident is not None:
            saved_at = resident.head.revision
            try:
                changed, purged = await self._replay(resident)
            except LedgerDamaged:
                # Of another history (a ledger restored from a backup), or the ledger is damaged: without it, it shows.
                await resident.vectors.close()
            else:
                await self._load_vectors(resident, changed)
                if not purged:
                    return resident, resident.head.revision - saved_at
                # A purge drops the snapshot; this time the process was killed in between.
                await self._snapshots.drop(partition)
                return resident, resident.head.revision
        resident = self._empty(partition)
        await self._replay(resident)
        await self._load_vectors(resident, None)
        return resident, resident.head.revision

    async def save(self, resident: Resident) -> bool:
        """Write a snapshot of a partition that does not change meanwhile (the caller holds its writer's pause).

        False when it is not at the ledger's head: then none is written. Raises StoreFull, StoreUnavailable.
        """
        head = await self._ledger.head(resident.partition)
        if head.revision != resident.head.revision:
            return False
        arrays = await asyncio.to_thread(resident.dump)
        await resident.vectors.save(self._snapshots.vectors_folder(resident.partition), head.revision)
        await self._snapshots.save(resident.partition, head, arrays)
        return True

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
        # A snapshot from beyond the ledger (a ledger restored from a backup), or of another model, is of no use. One of
        # another history shows by its chain: here, or when the entry after it is read.
        foreign = head.revision > newest.revision or (head.revision == newest.revision and head != newest)
        if foreign or str(arrays["model"].tobytes().decode()) != self._space.model:
            return None
        folder = self._snapshots.vectors_folder(partition)
        index = await self._indexes.load(folder, self._space.dimensions, head.revision)
        if index is None or index.size < len(arrays["has_vectors"]):
            return None
        resident = Resident(partition, self._codec, index, self._space.model)
        await asyncio.to_thread(resident.restore, arrays, head)
        return resident

    async def _replay(self, resident: Resident) -> tuple[list[str], bool]:
        """Fold the entries after the resident's head; the ids that they are about, and whether one was purged."""
        purged = False
        changed: dict[str, None] = {}
        while True:
            head = resident.head
            entries = await self._ledger.read(resident.partition, head.revision, PAGE, head.chain or None)
            if not entries:
                return list(changed), purged
            await asyncio.to_thread(fold, resident, entries)
            changed.update((entry.subject, None) for entry in entries)
            purged = purged or any(isinstance(entry.event, MemoryPurged) for entry in entries)
            # The chain of a page is checked by the ledger while it reads; only a snapshot's own chain is handed in.
            resident.head = Head(entries[-1].revision, b"")

    async def _load_vectors(self, resident: Resident, changed: Sequence[str] | None) -> None:
        """Vectors of the changed memories, or of all (None), that the resident does not have yet."""
        if changed is None:
            stored = await self._ledger.vectors(resident.partition, self._space.model)
        else:
            stored = await self._ledger.vectors_of(resident.partition, changed, self._space.model)
        if stored:
            await asyncio.to_thread(_add_vectors, resident, stored)


def fold(resident: Resident, entries: Sequence[Entry]) -> None:
    """Apply entries, oldest first. What was purged since has no event any more."""
    for entry in entries:
        if entry.event is not None:
            resident.apply(apply(entry.event), revision=entry.revision)


def _add_vectors(resident: Resident, stored: Sequence[StoredVectors]) -> None:
    for vectors in stored:
        # Of another size under the same model's name (embedding.dimensions has changed): of no use, so they stay due.
        if vectors.rows.shape[1] != resident.vectors.dimensions:
            continue
        row = resident.lookup.rows.get(vectors.memory_id)
        if row is not None and not resident.has_vectors(vectors.memory_id):
            resident.set_vectors(row, vectors.rows)
