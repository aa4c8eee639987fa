"""A graph so simple that it must be right: change after change, every question answered by looking at every edge."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.fold import JUDGEMENTS, Edge, Relation, edges_of
from memsidecar.domain.memory import Kind, Memory
from memsidecar.domain.scope import Partition
from memsidecar.domain.ties import ENDS, Tie, judgements_of, ties_of
from memsidecar.ports.graph import GraphChange, GraphConflict, GraphNode, Neighbour


@dataclass
class NaiveGraph:
    """One partition. `drawn` are the edges and ties of each record, (kind of record, id)."""

    memories: dict[str, Memory] = field(default_factory=dict)
    judged: dict[str, Conflict] = field(default_factory=dict)
    drawn: dict[tuple[str, str], set[Edge | Tie]] = field(default_factory=dict)

    def apply(self, changes: Sequence[GraphChange]) -> None:
        for change in changes:
            delta = change.delta
            if delta.purged:
                self.memories.pop(delta.subject, None)
                self.drawn.pop(("memory", delta.subject), None)
                for edges in self.drawn.values():
                    edges.difference_update([e for e in edges if delta.subject in (e.source, e.target)])
            if delta.put is not None:
                self.memories[delta.subject] = delta.put
                self._draw("memory", delta.subject, [*edges_of(delta.put), *ties_of(delta.put)])
            if delta.conflict is not None:
                self.judged[delta.subject] = delta.conflict
                self._draw("conflict", delta.subject, judgements_of(delta.conflict))

    def _draw(self, record: str, subject: str, edges: Sequence[Edge | Tie]) -> None:
        self.drawn[record, subject] = {edge for edge in edges if self._is_possible(edge)}

    def _is_possible(self, edge: Edge | Tie) -> bool:
        if (edge.source and edge.source not in self.memories) or edge.target not in self.memories:
            return False
        source, target = (self.memories[i].kind if i else None for i in (edge.source, edge.target))
        return isinstance(edge, Edge) or (source, target) in _ends(edge.relation)

    @property
    def links(self) -> set[Edge]:
        return {edge if isinstance(edge, Edge) else edge.edge for edges in self.drawn.values() for edge in edges}

    def nodes(self) -> list[GraphNode]:
        return [GraphNode(key, item.kind, item.state, item.version) for key, item in sorted(self.memories.items())]

    def conflicts(self) -> list[GraphConflict]:
        return [GraphConflict(key, item.state, item.version) for key, item in sorted(self.judged.items())]

    def edges(self, memory_ids: Sequence[str], relations: Collection[Relation] = ()) -> list[Edge]:
        wanted = {e for e in self.links if e.source in memory_ids and (not relations or e.relation in relations)}
        return sorted(wanted, key=lambda edge: (edge.relation.value, edge.source, edge.target))

    def ties(self, memory_ids: Sequence[str]) -> list[Tie]:
        found = set()
        for tie in (edge for edges in self.drawn.values() for edge in edges if isinstance(edge, Tie)):
            if tie.source in memory_ids or tie.target in memory_ids:
                if tie.relation in JUDGEMENTS:
                    judged = self.memories[tie.target]
                    tie = replace(tie, valid_from=judged.valid_from, valid_to=judged.valid_to)
                found.add(tie)
        return sorted(found, key=lambda tie: (tie.relation.value, tie.source, tie.target, tie.drawn_by))

    def neighbours(
        self, starts: Sequence[str], depth: int, limit: int, relations: Collection[Relation] = ()
    ) -> Iterator[Neighbour]:
        seen, frontier = set(starts), set(starts) & set(self.memories)
        for hop in range(1, depth + 1):
            nearby: dict[str, Edge] = {}
            for edge in sorted(self.links, key=lambda e: (e.relation.value, e.source, e.target), reverse=True):
                if edge.source and (not relations or edge.relation in relations):
                    if edge.source in frontier:
                        nearby[edge.target] = edge
                    if edge.target in frontier:
                        nearby[edge.source] = edge
            frontier = set(sorted(nearby.keys() - seen)[: max(limit, 0)])
            limit -= len(frontier)
            seen |= frontier
            yield from (Neighbour(memory_id, hop, nearby[memory_id]) for memory_id in sorted(frontier))

    def reach(self, starts: Sequence[str], depth: int, relations: Collection[Relation] = ()) -> list[tuple[int, str]]:
        return [(found.depth, found.memory_id) for found in self.neighbours(starts, depth, 1 << 30, relations)]


def _ends(relation: Relation) -> frozenset[tuple[Kind | None, Kind]]:
    return ENDS[relation]


class GraphInMemory:
    """A GraphStore that keeps nothing."""

    rebuilt = ""
    needs_rebuild = False

    def __init__(self) -> None:
        self._applied = 0
        self._graphs: dict[Partition, NaiveGraph] = {}

    def _graph(self, partition: Partition) -> NaiveGraph:
        return self._graphs.setdefault(partition, NaiveGraph())

    async def applied(self) -> int:
        return self._applied

    async def apply(self, changes: Sequence[GraphChange]) -> None:
        since = self._applied
        for change in changes:
            if change.position > since:
                self._graph(change.partition).apply([change])
                self._applied = max(self._applied, change.position)

    async def node(self, partition: Partition, memory_id: str) -> GraphNode | None:
        return next((node for node in self._graph(partition).nodes() if node.memory_id == memory_id), None)

    async def nodes(self, partition: Partition, after: str, limit: int) -> Sequence[GraphNode]:
        return [node for node in self._graph(partition).nodes() if node.memory_id > after][: max(limit, 0)]

    async def edges(
        self, partition: Partition, memory_ids: Sequence[str], relations: Collection[Relation] = ()
    ) -> Sequence[Edge]:
        return self._graph(partition).edges(memory_ids, relations)

    async def neighbours(
        self,
        partition: Partition,
        starts: Sequence[str],
        depth: int,
        limit: int,
        relations: Collection[Relation] = (),
    ) -> Sequence[Neighbour]:
        if not 1 <= depth <= 3:
            raise ValueError(f"depth must be 1 to 3, not {depth}")
        return list(self._graph(partition).neighbours(starts, depth, limit, relations))

    async def ties(self, partition: Partition, memory_ids: Sequence[str]) -> Sequence[Tie]:
        return self._graph(partition).ties(memory_ids)

    async def conflicts(self, partition: Partition, after: str, limit: int) -> Sequence[GraphConflict]:
        found = self._graph(partition).conflicts()
        return [conflict for conflict in found if conflict.conflict_id > after][: max(limit, 0)]

    async def count(self, partition: Partition) -> int:
        return len(self._graph(partition).memories)

    async def checkpoint(self) -> None: ...

    async def reset(self, reason: str, keep: bool = True) -> None:
        self._applied = 0
        self._graphs.clear()

    async def check(self) -> None: ...

    async def close(self) -> None: ...
