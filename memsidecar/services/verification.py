"""Verify: is every projection what the ledger says? And, asked to, put it right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np

from memsidecar.domain.errors import LedgerDamaged
from memsidecar.domain.finding import Finding
from memsidecar.domain.fold import ISSUING, Edge
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition
from memsidecar.ports.graph import GraphStore
from memsidecar.ports.ledger import EventCodec, Ledger
from memsidecar.ports.snapshots import Arrays, Snapshots
from memsidecar.ports.vectors import VectorIndexes
from memsidecar.services.hydration import Hydration
from memsidecar.services.preparing import Space
from memsidecar.services.projector import GraphProjector
from memsidecar.services.resident import Resident
from memsidecar.services.verified import Drawn, conflict_differences

PARTITIONS = 500
NODES = 1_000
# A float32 cosine of a vector with itself; anything less is another vector.
SAME = 0.9999


class _NoSnapshots:
    """Snapshots that are never there: what hydrates with it is the ledger alone."""

    def __init__(self, real: Snapshots) -> None:
        self.vectors_folder = real.vectors_folder

    async def load(self, partition: Partition) -> tuple[object, Arrays] | None:
        return None


class Verification:
    """Runs while nothing else writes (the command line takes the data directory's lock)."""

    def __init__(
        self,
        ledger: Ledger,
        codec: EventCodec,
        graph: GraphStore,
        projector: GraphProjector,
        indexes: VectorIndexes,
        snapshots: Snapshots,
        space: Space,
    ) -> None:
        self._ledger, self._graph, self._projector, self._snapshots = ledger, graph, projector, snapshots
        self._hydrate = Hydration(ledger, codec, indexes, snapshots, space)
        # It has only what hydrating asks for: nothing is saved or dropped here.
        self._rebuild = Hydration(ledger, codec, indexes, _NoSnapshots(snapshots), space)  # type: ignore[arg-type]  # a part of it

    async def __call__(self, repair: bool) -> AsyncIterator[Finding]:
        """Every finding, partition by partition. A damaged ledger is reported and cannot be repaired."""
        graph_wrong: list[Finding] = []
        after: Partition | None = None
        while partitions := await self._ledger.partitions(after, PARTITIONS):
            for partition in partitions:
                damages = await self._ledger.verify(partition)
                for damage in damages:
                    yield Finding("ledger", partition, f"revision {damage.revision}", damage.problem)
                try:
                    truth, _ = await self._rebuild(partition)
                except LedgerDamaged:
                    continue
                snapshot = [f async for f in self._compare_snapshot(truth)]
                if snapshot and repair:
                    await self._snapshots.drop(partition)
                for finding in snapshot:
                    yield replace(finding, repaired=repair)
                async for finding in self._compare_graph(truth):
                    if repair:
                        graph_wrong.append(finding)
                    else:
                        yield finding
                await truth.vectors.close()
            after = partitions[-1]
        if graph_wrong:
            await self._projector.rebuild("verify found it wrong")
            for finding in graph_wrong:
                yield replace(finding, repaired=True)

    async def _compare_snapshot(self, truth: Resident) -> AsyncIterator[Finding]:
        """The snapshot with its tail against the ledger alone: records, conflicts, slots, keywords and vectors."""
        if await self._snapshots.load(truth.partition) is None:
            return
        other, _ = await self._hydrate(truth.partition)
        name = truth.partition
        for memory_id, row in truth.lookup.rows.items():
            memory, other_row = truth.records.get(row), other.lookup.rows.get(memory_id)
            if other_row is None or other.records.get(other_row) != memory:
                yield Finding("vectors", name, memory_id, "its snapshot differs from the ledger's record")
                continue
            if truth.has_vectors(memory_id) != other.has_vectors(memory_id):
                yield Finding("vectors", name, memory_id, "its vectors are missing or left over")
            if truth.feedback(memory_id) != other.feedback(memory_id):
                yield Finding("vectors", name, memory_id, "its feedback in the snapshot differs from the ledger's")
        for memory_id in other.lookup.rows.keys() - truth.lookup.rows.keys():
            yield Finding("vectors", name, memory_id, "is in the snapshot and not in the ledger")
        for finding in conflict_differences(truth, other):
            yield finding
        for memory_id, problem in _keyword_differences(truth, other):
            yield Finding("keywords", name, memory_id, problem)
        for memory_id in await self._vector_differences(other):
            yield Finding("vectors", name, memory_id, "its vector is not the ledger's")
        await other.vectors.close()

    async def _vector_differences(self, resident: Resident) -> list[str]:
        wrong = []
        for stored in await self._ledger.vectors(resident.partition, resident.model):
            row = resident.lookup.rows.get(stored.memory_id)
            if row is None or not resident.has_vectors(stored.memory_id):
                continue
            place = np.array([row], dtype=np.int32)
            if any(resident.vectors.score(chunk, place)[0] < SAME for chunk in stored.rows):
                wrong.append(stored.memory_id)
        return wrong

    async def _compare_graph(self, truth: Resident) -> AsyncIterator[Finding]:
        partition = truth.partition
        expected: dict[str, Memory] = {i: truth.records.get(row) for i, row in truth.lookup.rows.items()}
        wanted = Drawn(expected, truth.conflicts.all())
        seen: set[str] = set()
        after = ""
        while nodes := await self._graph.nodes(partition, after, NODES):
            ties = await self._graph.ties(partition, [node.memory_id for node in nodes])
            wrong = wanted.wrong_ties(ties, {node.memory_id for node in nodes})
            edges: dict[str, list[Edge]] = defaultdict(list)
            for edge in await self._graph.edges(partition, [node.memory_id for node in nodes], ISSUING):
                edges[edge.source].append(edge)
            for node in nodes:
                seen.add(node.memory_id)
                memory = expected.get(node.memory_id)
                if memory is None:
                    yield Finding("graph", partition, node.memory_id, "is not in the ledger")
                elif (node.kind, node.state, node.version) != (memory.kind, memory.state, memory.version):
                    yield Finding("graph", partition, node.memory_id, "is not at the ledger's version")
                elif wanted.wrong_edges(memory, edges[node.memory_id]):
                    yield Finding("graph", partition, node.memory_id, "its edges differ from the ledger's")
            for drawn_by in sorted(wrong):
                yield Finding("graph", partition, drawn_by, "the edges that it draws differ from the ledger's")
            after = nodes[-1].memory_id
        for memory_id in expected.keys() - seen:
            yield Finding("graph", partition, memory_id, "is missing")
        async for finding in self._compare_conflicts(truth):
            yield finding

    async def _compare_conflicts(self, truth: Resident) -> AsyncIterator[Finding]:
        partition, missing = truth.partition, {conflict.id for conflict in truth.conflicts.all()}
        after = ""
        while found := await self._graph.conflicts(partition, after, NODES):
            for node in found:
                missing.discard(node.conflict_id)
                conflict = truth.conflict(node.conflict_id)
                if conflict is None:
                    yield Finding("graph", partition, node.conflict_id, "is not in the ledger")
                elif (node.state, node.version) != (conflict.state, conflict.version):
                    yield Finding("graph", partition, node.conflict_id, "is not at the ledger's version")
            after = found[-1].conflict_id
        for conflict_id in sorted(missing):
            yield Finding("graph", partition, conflict_id, "is missing")


def _keyword_differences(truth: Resident, other: Resident) -> list[tuple[str, str]]:
    wanted, found = truth.keywords.terms_by_row(), other.keywords.terms_by_row()
    differences = []
    for memory_id, row in truth.lookup.rows.items():
        other_row = other.lookup.rows.get(memory_id)
        if other_row is not None and wanted.get(row) != found.get(other_row):
            differences.append((memory_id, "its words differ from the ledger's"))
    return differences
