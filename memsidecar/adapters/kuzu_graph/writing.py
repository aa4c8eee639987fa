"""A batch as statements of one transaction.

The order is a guard, not taste: kuzu crashes some time after the rollback of a transaction that has SET node
properties. So everything that can fail (look-ups, deletes, creates, links, the position) precedes every SET.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from memsidecar.adapters.kuzu_graph.batch import Batch
from memsidecar.adapters.kuzu_graph.driver import Link, Parameters, Row
from memsidecar.adapters.kuzu_graph.keys import memory_key
from memsidecar.adapters.kuzu_graph.schema import COLUMNS, KINDS, RELATIONS, TABLES, row_of
from memsidecar.domain.fold import edges_of
from memsidecar.domain.memory import Kind

# Rows of one statement: planning one takes 1 to 3 ms.
_ROWS = 2_000
_KNOWN = 100_000
# Up to so many edges, finding each by its two keys is cheaper than the pass over all edges that UNWIND is planned as.
_UNLINKED_SINGLY = 200
_ANY_RELATION = "|".join(RELATIONS)

# A statement for many rows begins with this, and says `r.name` for a row's value.
_EACH_ROW = "UNWIND range(1, $n) AS i"
_VALUE = re.compile(r"\br\.(\w+)")

# (source key, relation, target key)
_Arc = tuple[str, str, str]


class Known:
    """What the writer has seen to exist: kinds by memory key, users by partition key. Bounded; oldest half goes."""

    def __init__(self) -> None:
        self.kinds: dict[str, Kind] = {}
        self.users: dict[str, None] = {}

    def trim(self) -> None:
        for table in (self.kinds, self.users):
            if len(table) > _KNOWN:
                for key in list(table)[: _KNOWN // 2]:
                    del table[key]


class Writer:
    """Writes batches through one link, inside a transaction that the caller has begun and commits."""

    def __init__(self, link: Link, single_rows: int, known: Known) -> None:
        self._link = link
        self._single_rows = single_rows
        self._known = known

    def write(self, batch: Batch, applied: int) -> tuple[int, int]:
        """(nodes more, updates and removals of nodes and edges). Raises EngineError; the transaction is then lost."""
        removed = self._purge(batch.purges)
        self._find(batch)
        self._add_users(batch)
        rows: dict[Kind, list[Parameters]] = defaultdict(list)
        updates: dict[Kind, list[Parameters]] = defaultdict(list)
        for key, put in batch.puts.items():
            known = key in self._known.kinds
            (updates if known else rows)[put.memory.kind].append(row_of(put.memory, key, put.partition))
        for kind, new in rows.items():
            self._each(_create_one(kind), _create_many(kind), new)
        unlinked = self._link_all(batch, updates)
        if batch.last > applied:
            self._link.prepared("CREATE (:Applied {position: $position})", {"position": batch.last})
        for kind, changed in updates.items():
            self._each(_set_one(kind), _set_many(kind), changed)
        created = sum(map(len, rows.values()))
        return created - removed, removed + unlinked + sum(map(len, updates.values()))

    def _purge(self, purges: Iterable[str]) -> int:
        wanted = list(purges)
        self._resolve(wanted)
        by_kind: dict[Kind, list[Parameters]] = defaultdict(list)
        for key in wanted:
            kind = self._known.kinds.pop(key, None)
            if kind is not None:
                by_kind[kind].append({"key": key})
        for kind, rows in by_kind.items():
            found = f"MATCH (n:{TABLES[kind]}"
            self._each(
                f"{found} {{key: $key}}) DETACH DELETE n",
                f"{_EACH_ROW} WITH r.key AS k {found}) WHERE n.key = k DETACH DELETE n",
                rows,
            )
        return sum(map(len, by_kind.values()))

    def _find(self, batch: Batch) -> None:
        unseen: dict[Kind, list[str]] = defaultdict(list)
        for key, put in batch.puts.items():
            if key not in self._known.kinds and key not in batch.purges:
                unseen[put.memory.kind].append(key)
        for kind, keys in unseen.items():
            self._known.kinds |= dict.fromkeys(self._present(TABLES[kind], keys), kind)

    def _resolve(self, keys: Iterable[str]) -> None:
        """Learn the kinds of keys whose kind is not known; a key that no table has stays unknown."""
        unseen = [key for key in dict.fromkeys(keys) if key not in self._known.kinds]
        # Entities first: most edges lead to them.
        for kind in sorted(TABLES, key=lambda kind: kind is not Kind.ENTITY):
            if not unseen:
                return
            present = self._present(TABLES[kind], unseen)
            if present:
                self._known.kinds |= dict.fromkeys(present, kind)
                unseen = [key for key in unseen if key not in self._known.kinds]

    def _add_users(self, batch: Batch) -> None:
        unseen = [key for key in batch.partitions if key not in self._known.users]
        present = set(self._present("User", unseen))
        rows: list[Parameters] = [
            {"key": key, "namespace": batch.partitions[key].namespace, "id": batch.partitions[key].user}
            for key in unseen
            if key not in present
        ]
        self._each(
            "CREATE (:User {key: $key, namespace: $namespace, id: $id})",
            f"{_EACH_ROW} CREATE (:User {{key: r.key, namespace: r.namespace, id: r.id}})",
            rows,
        )
        self._known.users |= dict.fromkeys(unseen)

    def _link_all(self, batch: Batch, updates: dict[Kind, list[Parameters]]) -> int:
        """Give every memory of the batch exactly the edges that issue from it and have a target; edges removed."""
        present = self._outgoing({kind: [row["key"] for row in rows] for kind, rows in updates.items()})
        self._known.kinds |= {key: put.memory.kind for key, put in batch.puts.items()}
        wanted = [
            (key, edge.relation.value, memory_key(put.partition, edge.target))
            for key, put in batch.puts.items()
            for edge in edges_of(put.memory)
        ]
        self._resolve(target for _, _, target in wanted)
        arcs = [arc for arc in wanted if arc[2] in self._known.kinds]
        stale = present.difference(arcs)
        self._unlink_all(stale)
        missing: dict[tuple[str, Kind, Kind], list[Parameters]] = defaultdict(list)
        kinds = self._known.kinds
        for arc in arcs:
            if arc not in present:
                source, relation, target = arc
                missing[relation, kinds[source], kinds[target]].append({"a": source, "b": target})
        for (relation, source_kind, target_kind), rows in missing.items():
            a, b, create = TABLES[source_kind], TABLES[target_kind], f"CREATE (a)-[:{relation}]->(b)"
            # Written with WITH and WHERE, kuzu joins by hash; with keys inside MATCH it multiplies both tables.
            self._each(
                f"MATCH (a:{a} {{key: $a}}), (b:{b} {{key: $b}}) {create}",
                f"{_EACH_ROW} WITH r.a AS x, r.b AS y MATCH (a:{a}) WHERE a.key = x "
                f"WITH a, y MATCH (b:{b}) WHERE b.key = y {create}",
                rows,
            )
        return len(stale)

    def _outgoing(self, keys: dict[Kind, list[str]]) -> set[_Arc]:
        """The edges that issue from memories now."""
        arcs: set[_Arc] = set()
        for kind, sources in keys.items():
            answer = f"-[e:{_ANY_RELATION}]->(b) RETURN a.key, label(e), b.key, label(b)"
            one = f"MATCH (a:{TABLES[kind]} {{key: $k}}){answer}"
            many = f"UNWIND $k AS k MATCH (a:{TABLES[kind]} {{key: k}}){answer}"
            for source, relation, target, table in self._ask(one, many, sources):
                arcs.add((source, relation, target))
                self._known.kinds[target] = KINDS[table]
        return arcs

    def _unlink_all(self, arcs: Iterable[_Arc]) -> None:
        stale: dict[tuple[str, Kind, Kind], list[Parameters]] = defaultdict(list)
        kinds = self._known.kinds
        for source, relation, target in arcs:
            stale[relation, kinds[source], kinds[target]].append({"a": source, "b": target})
        for (relation, source_kind, target_kind), rows in stale.items():
            a, b = TABLES[source_kind], TABLES[target_kind]
            self._each(
                f"MATCH (a:{a} {{key: $a}})-[e:{relation}]->(b:{b} {{key: $b}}) DELETE e",
                f"{_EACH_ROW} WITH r.a AS x, r.b AS y MATCH (a:{a}) WHERE a.key = x "
                f"WITH a, y MATCH (a)-[e:{relation}]->(b:{b}) WHERE b.key = y DELETE e",
                rows,
                _UNLINKED_SINGLY,
            )

    def _present(self, table: str, keys: Sequence[str]) -> list[str]:
        one = f"MATCH (n:{table} {{key: $k}}) RETURN n.key"
        many = f"UNWIND $k AS k MATCH (n:{table} {{key: k}}) RETURN n.key"
        return [row[0] for row in self._ask(one, many, keys)]

    def _ask(self, one: str, many: str, keys: Sequence[str]) -> list[Row]:
        if len(keys) <= self._single_rows:
            return [row for key in keys for row in self._link.prepared(one, {"k": key})]
        return [
            row for at in range(0, len(keys), _ROWS) for row in self._link.run(many, {"k": list(keys[at : at + _ROWS])})
        ]

    def _each(self, one: str, many: str, rows: Sequence[Parameters], single_rows: int = 0) -> None:
        if len(rows) <= (single_rows or self._single_rows):
            for row in rows:
                self._link.prepared(one, row)
            return
        for at in range(0, len(rows), _ROWS):
            self._link.run(*_bound(many, rows[at : at + _ROWS]))


def _create_one(kind: Kind) -> str:
    columns = ", ".join(f"{name}: ${name}" for name in ("key", *COLUMNS[kind]))
    return f"MATCH (u:User {{key: $partition}}) CREATE (u)-[:OWNS]->(n:{TABLES[kind]} {{{columns}}})"


def _create_many(kind: Kind) -> str:
    columns = ", ".join(f"{name}: r.{name}" for name in ("key", *COLUMNS[kind]))
    return (
        f"{_EACH_ROW} WITH i, r.partition AS p MATCH (u:User) WHERE u.key = p "
        f"CREATE (u)-[:OWNS]->(n:{TABLES[kind]} {{{columns}}})"
    )


def _set_one(kind: Kind) -> str:
    # The partition and the id are part of the key and never change; naming them lets one row serve both statements.
    columns = ", ".join(f"n.{name} = ${name}" for name in COLUMNS[kind])
    return f"MATCH (n:{TABLES[kind]} {{key: $key}}) SET {columns}"


def _set_many(kind: Kind) -> str:
    columns = ", ".join(f"n.{name} = r.{name}" for name in COLUMNS[kind])
    return f"{_EACH_ROW} WITH i, r.key AS k MATCH (n:{TABLES[kind]}) WHERE n.key = k SET {columns}"


def _bound(many: str, rows: Sequence[Parameters]) -> tuple[str, Parameters]:
    """The statement and its parameters: a list for each column, or the value that all rows share.

    kuzu converts a list of maps value by value, twice, and copies each map: 43 instead of 8 microseconds a memory.
    """
    parameters: Parameters = {"n": len(rows)}
    shared = set()
    for name in rows[0]:
        column = [row[name] for row in rows]
        if column.count(column[0]) == len(column):
            shared.add(name)
            parameters[name] = column[0]
        else:
            parameters[name] = column
    used = set()

    def value(match: re.Match[str]) -> str:
        name = match[1]
        used.add(name)
        return f"${name}" if name in shared else f"${name}[i]"

    text = _VALUE.sub(value, many)
    return text, {name: parameters[name] for name in ("n", *used)}
