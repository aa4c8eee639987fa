"""Questions to the graph. Each starts at keys of one partition; ids are parameters, never part of a statement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache

from memsidecar.adapters.kuzu_graph.driver import Link, Row
from memsidecar.adapters.kuzu_graph.keys import memory_key, partition_key
from memsidecar.adapters.kuzu_graph.schema import KINDS, TABLES, ties_at
from memsidecar.domain.fold import ISSUING, Edge, Relation
from memsidecar.domain.memory import Kind, State
from memsidecar.domain.scope import Partition
from memsidecar.ports.graph import GraphNode, Neighbour

# Up to so many starts, a look-up for each beats one scan with a join.
_SINGLE_STARTS = 8

_NODE = " UNION ALL ".join(
    f"MATCH (n:{table} {{key: $key}}) RETURN '{table}' AS kind, n.id AS id, n.state AS state, n.version AS version"
    for table in TABLES.values()
)
_OWNED = "MATCH (u:User {key: $partition})-[:OWNS]->(n)"
_PAGE = (
    f"{_OWNED} WHERE n.id > $after RETURN label(n) AS kind, n.id AS id, n.state AS state, n.version AS version "
    "ORDER BY id LIMIT $limit"
)
# The smallest (relation, id) of all edges that reach a node: no label holds a space, so the pairs keep their order.
_REACHED = (
    "WHERE b.partition = $partition RETURN b.id AS id, label(b) AS kind, "
    "min(concat(label(e), ' ', a.id)) AS via ORDER BY id LIMIT $limit"
)


def node(link: Link, partition: Partition, memory_id: str) -> GraphNode | None:
    rows = link.prepared(_NODE, {"key": memory_key(partition_key(partition), memory_id)})
    return _node(rows[0]) if rows else None


def nodes(link: Link, partition: Partition, after: str, limit: int) -> list[GraphNode]:
    owner = partition_key(partition)
    return [_node(row) for row in link.prepared(_PAGE, {"partition": owner, "after": after, "limit": max(limit, 0)})]


def count(link: Link, partition: Partition) -> int:
    rows = link.prepared(f"{_OWNED} RETURN count(*)", {"partition": partition_key(partition)})
    return int(rows[0][0]) if rows else 0


def edges(link: Link, partition: Partition, memory_ids: Sequence[str], relations: Collection[Relation]) -> list[Edge]:
    owner, found = partition_key(partition), set[Edge]()
    for kind, keys in _keys_by_kind(owner, _there(link, partition, list(dict.fromkeys(memory_ids)))).items():
        names = _names(TABLES[kind], True, frozenset(relations))
        if not names:
            continue
        rest = f"-[e:{names}]->(b) WHERE b.partition = $partition RETURN DISTINCT a.id, label(e), b.id"
        rows = _from_keys(link, TABLES[kind], keys, rest, {"partition": owner})
        found.update(Edge(source, Relation(relation), target) for source, relation, target in rows)
    return sorted(found, key=_order)


@cache
def _names(table: str, outward: bool, wanted: frozenset[Relation]) -> str:
    """The relations that nodes of a table have in a direction, of those wanted (none: of all), as a pattern."""
    there = (*ISSUING, *ties_at(table, outward))
    return "|".join(relation.value for relation in there if not wanted or relation in wanted)


def neighbours(
    link: Link, partition: Partition, starts: Sequence[str], depth: int, limit: int, relations: Collection[Relation]
) -> list[Neighbour]:
    """One hop after the other: a path query would walk every path through a hub, this asks for each memory once."""
    if not 1 <= depth <= 3:
        raise ValueError(f"depth must be 1 to 3, not {depth}")
    seen = set(starts)
    frontier = _there(link, partition, list(dict.fromkeys(starts)))
    answer: list[Neighbour] = []
    for hop in range(1, depth + 1):
        room = limit - len(answer)
        if room <= 0 or not frontier:
            break
        reached = _hop(link, partition_key(partition), frontier, room + len(seen), frozenset(relations))
        fresh = sorted(memory_id for memory_id in reached if memory_id not in seen)[:room]
        answer += (Neighbour(memory_id, hop, reached[memory_id][1]) for memory_id in fresh)
        frontier = [(memory_id, reached[memory_id][0]) for memory_id in fresh]
        seen.update(fresh)
    return answer


def _there(link: Link, partition: Partition, memory_ids: list[str]) -> list[tuple[str, Kind]]:
    """Those that the partition has, with their kinds."""
    if len(memory_ids) <= _SINGLE_STARTS:
        found = (node(link, partition, memory_id) for memory_id in memory_ids)
        return [(item.memory_id, item.kind) for item in found if item is not None]
    owner = partition_key(partition)
    keys = [memory_key(owner, memory_id) for memory_id in memory_ids]
    return [
        (memory_id, kind)
        for kind, table in TABLES.items()
        for (memory_id,) in link.prepared(f"UNWIND $keys AS k MATCH (n:{table} {{key: k}}) RETURN n.id", {"keys": keys})
    ]


def _hop(
    link: Link, owner: str, frontier: list[tuple[str, Kind]], limit: int, relations: frozenset[Relation]
) -> dict[str, tuple[Kind, Edge]]:
    """Everything one edge away, with the smallest edge (by relation, source, target) that leads there.

    `limit` rows of each answer, smallest ids first, are enough: that many hold `limit` smallest ids of the whole.
    """
    reached: dict[str, tuple[Kind, Edge]] = {}
    for kind, keys in _keys_by_kind(owner, frontier).items():
        for outward in (True, False):
            names = _names(TABLES[kind], outward, relations)
            if not names:
                continue
            arrow = f"-[e:{names}]->" if outward else f"<-[e:{names}]-"
            values = {"partition": owner, "limit": limit}
            for memory_id, table, via in _from_keys(link, TABLES[kind], keys, f"{arrow}(b) {_REACHED}", values):
                relation, _, other = via.partition(" ")
                source, target = (other, memory_id) if outward else (memory_id, other)
                edge = Edge(source, Relation(relation), target)
                known = reached.get(memory_id)
                if known is None or _order(edge) < _order(known[1]):
                    reached[memory_id] = (KINDS[table], edge)
    return reached


def _keys_by_kind(owner: str, memories: Sequence[tuple[str, Kind]]) -> dict[Kind, list[str]]:
    by_kind: dict[Kind, list[str]] = defaultdict(list)
    for memory_id, kind in memories:
        by_kind[kind].append(memory_key(owner, memory_id))
    return by_kind


def _from_keys(link: Link, table: str, keys: list[str], rest: str, values: Mapping[str, object]) -> list[Row]:
    """A pattern that begins at (a), for each of the keys; `rest` is what follows."""
    if len(keys) <= _SINGLE_STARTS:
        text = f"MATCH (a:{table} {{key: $key}}){rest}"
        return [row for key in keys for row in link.prepared(text, {"key": key, **values})]
    return link.prepared(f"UNWIND $keys AS k MATCH (a:{table} {{key: k}}){rest}", {"keys": keys, **values})


def _order(edge: Edge) -> tuple[str, str, str]:
    return (edge.relation.value, edge.source, edge.target)


def _node(row: Row) -> GraphNode:
    table, memory_id, state, version = row
    return GraphNode(memory_id, KINDS[table], State(state), version)
