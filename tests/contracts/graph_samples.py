"""Memories and changes for the graph's tests, and a graph so simple that it must be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memsidecar.domain.fold import Delta, Edge, edges_of
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Kind, Memory, Preference, Procedure, Provenance, State
from memsidecar.domain.scope import Partition, Scope
from memsidecar.ports.graph import GraphChange, GraphNode

ALICE = Partition("acme", "alice")

BODIES: dict[Kind, Body] = {
    Kind.FACT: Fact("Alice lives in Oslo", predicate="lives in"),
    Kind.PREFERENCE: Preference("prefers tea 绿茶", topic="drinks", polarity=1.0),
    Kind.ENTITY: Entity("Oslo 🌲", type="place"),
    Kind.EPISODE: Episode("We talked about Oslo", speaker="Alice", start_time=-5),
    Kind.PROCEDURE: Procedure("How to brew", title="brew"),
}


def memory(
    memory_id: str,
    kind: Kind = Kind.FACT,
    mentions: Sequence[str] = (),
    derived_from: Sequence[str] = (),
    version: int = 1,
    state: State = State.ACTIVE,
    partition: Partition = ALICE,
    body: Body | None = None,
) -> Memory:
    provenance = (Provenance(derived_from=tuple(derived_from)),) if derived_from else ()
    return Memory(
        memory_id,
        Scope(partition.namespace, partition.user),
        body or BODIES[kind],
        created_at=1,
        updated_at=version,
        version=version,
        state=state,
        mentions=tuple(mentions),
        provenance=provenance,
    )


def put(position: int, item: Memory) -> GraphChange:
    return GraphChange(position, item.scope.partition, Delta(item.id, put=item))


def purge(position: int, memory_id: str, partition: Partition = ALICE) -> GraphChange:
    return GraphChange(position, partition, Delta(memory_id, purged=True))


def puts(items: Iterable[Memory], first: int = 1) -> list[GraphChange]:
    return [put(position, item) for position, item in enumerate(items, first)]


@dataclass
class NaiveGraph:
    """One partition as two dictionaries, batch by batch."""

    memories: dict[str, Memory] = field(default_factory=dict)
    links: dict[str, set[Edge]] = field(default_factory=dict)

    def apply(self, changes: Sequence[GraphChange]) -> None:
        written: dict[str, Memory] = {}
        for change in changes:
            if change.delta.purged:
                written.pop(change.delta.subject, None)
                self.memories.pop(change.delta.subject, None)
                self.links.pop(change.delta.subject, None)
                for edges in self.links.values():
                    edges.difference_update([edge for edge in edges if edge.target == change.delta.subject])
            elif change.delta.put is not None:
                written[change.delta.subject] = change.delta.put
        self.memories |= written
        for memory_id, item in written.items():
            self.links[memory_id] = {edge for edge in edges_of(item) if edge.target in self.memories}

    def nodes(self) -> list[GraphNode]:
        return [GraphNode(key, item.kind, item.state, item.version) for key, item in sorted(self.memories.items())]

    def edges(self, memory_id: str) -> list[Edge]:
        return sorted(self.links[memory_id], key=lambda edge: (edge.relation.value, edge.target))

    def reach(self, starts: Sequence[str], depth: int) -> list[tuple[int, str]]:
        seen, frontier, answer = set(starts), set(starts) & set(self.memories), []
        for hop in range(1, depth + 1):
            nearby = {
                end
                for edges in self.links.values()
                for edge in edges
                for start, end in ((edge.source, edge.target), (edge.target, edge.source))
                if start in frontier
            }
            frontier = nearby - seen
            seen |= frontier
            answer += [(hop, memory_id) for memory_id in sorted(frontier)]
        return answer
