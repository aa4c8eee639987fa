"""What is one edge away from memories: asked of the graph store, or made of the records of a resident partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.fold import JUDGEMENTS, Edge, Relation, edges_of
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition
from memsidecar.domain.ties import ENDS, Tie, judgements_of, ties_of
from memsidecar.ports.graph import GraphStore

# Memories in one question: the engine takes and gives values with the interpreter held.
_ASKED = 500


@dataclass(frozen=True, slots=True)
class Reached:
    """A memory and the edge that leads there. `said_by` is the memory whose word the edge is when it is neither of its
    ends': a fact's, for RELATED."""

    memory_id: str
    edge: Edge
    said_by: str = ""


class Surroundings(Protocol):
    async def around(self, memory_ids: Sequence[str], relations: Collection[Relation]) -> Iterable[Reached]:
        """Everything one edge of the relations away, in either direction, at least once by a relation of each group:
        RELATED, judgements, the others. What is denied (a negated fact) relates nothing. Raises StoreUnavailable."""
        ...


class GraphSurroundings:
    def __init__(self, graph: GraphStore, partition: Partition, most: int) -> None:
        """`most`: memories that one question gives, the smallest ids first."""
        self._graph, self._partition, self._most = graph, partition, most

    async def around(self, memory_ids: Sequence[str], relations: Collection[Relation]) -> Iterable[Reached]:
        reached: list[Reached] = []
        for at in range(0, len(memory_ids), _ASKED):
            reached += await self._around(memory_ids[at : at + _ASKED], frozenset(relations))
        return reached

    async def _around(self, memory_ids: Sequence[str], wanted: frozenset[Relation]) -> list[Reached]:
        reached: list[Reached] = []
        for group in (wanted & JUDGEMENTS, wanted - JUDGEMENTS - {Relation.RELATED}):
            if group:
                # Memories that are asked about together reach one another, and are not given: they are known already.
                found = await self._graph.neighbours(self._partition, memory_ids, 1, self._most, group)
                reached += (Reached(near.memory_id, near.edge) for near in found)
        if Relation.RELATED in wanted:
            reached += _related(await self._graph.ties(self._partition, memory_ids), frozenset(memory_ids))
        return reached


def _related(ties: Iterable[Tie], near: Collection[str]) -> Iterable[Reached]:
    for tie in ties:
        if tie.relation is Relation.RELATED and not tie.negated:
            for here, there in ((tie.source, tie.target), (tie.target, tie.source)):
                if here in near:
                    yield Reached(there, tie.edge, tie.drawn_by)


class Adjacency:
    """The graph of a partition as its records say: of a time that the graph store does not show, or when it is away."""

    def __init__(self) -> None:
        self._reached: dict[str, list[Reached]] = defaultdict(list)

    def add(self, memory: Memory) -> None:
        for edge in edges_of(memory):
            self._join(edge)
        for tie in ties_of(memory):
            if not tie.negated:
                self._join(tie.edge, tie.drawn_by if tie.relation is Relation.RELATED else "")

    def judge(self, conflict: Conflict) -> None:
        for tie in judgements_of(conflict):
            self._join(tie.edge)

    def _join(self, edge: Edge, said_by: str = "") -> None:
        if edge.source:
            self._reached[edge.source].append(Reached(edge.target, edge, said_by))
            self._reached[edge.target].append(Reached(edge.source, edge, said_by))

    async def around(self, memory_ids: Sequence[str], relations: Collection[Relation]) -> Iterable[Reached]:
        found = (reached for memory_id in memory_ids for reached in self._reached.get(memory_id, ()))
        return [reached for reached in found if reached.edge.relation in relations]


def is_possible(edge: Edge, memory: Callable[[str], Memory | None]) -> bool:
    """Whether a tie joins what such a tie may join."""
    ends = ENDS.get(edge.relation)
    source, target = memory(edge.source), memory(edge.target)
    return ends is None or (source is not None and target is not None and (source.kind, target.kind) in ends)
