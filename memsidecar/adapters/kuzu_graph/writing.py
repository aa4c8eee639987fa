"""A batch as statements of one transaction.

The order is a guard, not taste: kuzu crashes some time after the rollback of a transaction that has SET node
properties. So everything that can fail (look-ups, deletes, creates, links, the position) precedes every SET.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from memsidecar.adapters.kuzu_graph.arcs import Arc
from memsidecar.adapters.kuzu_graph.batch import Batch
from memsidecar.adapters.kuzu_graph.driver import Link, Parameters
from memsidecar.adapters.kuzu_graph.keys import bare_key, is_conflict, is_user
from memsidecar.adapters.kuzu_graph.linking import Linking
from memsidecar.adapters.kuzu_graph.schema import COLUMNS, CONFLICT_COLUMNS, TABLES, conflict_row, row_of
from memsidecar.adapters.kuzu_graph.statements import EACH_ROW, Statements
from memsidecar.domain.memory import Kind

_KNOWN = 100_000


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
        self._known = known
        self._statements = Statements(link, single_rows)
        self._linking = Linking(self._statements, known.kinds)

    def write(self, batch: Batch, applied: int) -> tuple[int, int]:
        """(nodes more, updates and removals of nodes and edges). Raises EngineError; the transaction is then lost."""
        removed, unrelated = self._purge(batch.purges)
        self._find(batch)
        known_conflicts = self._conflicts(batch)
        wanted = self._drawn(batch)
        self._add_users(batch)
        rows: dict[Kind, list[Parameters]] = defaultdict(list)
        updates: dict[Kind, list[Parameters]] = defaultdict(list)
        for key, put in batch.puts.items():
            known = key in self._known.kinds
            (updates if known else rows)[put.memory.kind].append(row_of(put.memory, key, put.partition))
        conflicts: list[Parameters] = []
        conflict_updates: list[Parameters] = []
        for end, judged in batch.conflicts.items():
            key = bare_key(end)
            row = conflict_row(judged.conflict, key, judged.partition)
            (conflict_updates if key in known_conflicts else conflicts).append(row)
        for kind, new in rows.items():
            self._statements.each(_create_one(kind), _create_many(kind), new)
        self._statements.each(_CREATE_CONFLICT, _CREATE_CONFLICTS, conflicts)
        present = self._linking.drawn_by_memories({k: [row["key"] for row in found] for k, found in updates.items()})
        present |= self._linking.drawn_by_conflicts([row["key"] for row in conflict_updates])
        self._known.kinds |= {key: put.memory.kind for key, put in batch.puts.items()}
        stale = present.difference(wanted)
        self._linking.unlink(stale)
        self._linking.link(arc for arc in wanted if arc not in present)
        if batch.last > applied:
            self._link.prepared("CREATE (:Applied {position: $position})", {"position": batch.last})
        for kind, changed in updates.items():
            self._statements.each(_set_one(kind), _set_many(kind), changed)
        self._statements.each(_SET_CONFLICT, _SET_CONFLICTS, conflict_updates)
        created = sum(map(len, rows.values()))
        updated = removed + unrelated + len(stale) + sum(map(len, updates.values())) + len(conflict_updates)
        return created - removed, updated

    def _purge(self, purges: Iterable[str]) -> tuple[int, int]:
        """(memories removed, edges removed that were between others)."""
        wanted = list(purges)
        self._resolve(wanted)
        by_kind: dict[Kind, list[Parameters]] = defaultdict(list)
        for key in wanted:
            kind = self._known.kinds.get(key)
            if kind is not None:
                by_kind[kind].append({"key": key})
        related = self._linking.related_by([row["key"] for row in by_kind[Kind.FACT]])
        self._linking.unlink(related)
        for kind, rows in by_kind.items():
            found = f"MATCH (n:{TABLES[kind]}"
            self._statements.each(
                f"{found} {{key: $key}}) DETACH DELETE n",
                f"{EACH_ROW} WITH r.key AS k {found}) WHERE n.key = k DETACH DELETE n",
                rows,
            )
            for row in rows:
                del self._known.kinds[row["key"]]
        return sum(map(len, by_kind.values())), len(related)

    def _find(self, batch: Batch) -> None:
        unseen: dict[Kind, list[str]] = defaultdict(list)
        for key, put in batch.puts.items():
            if key not in self._known.kinds and key not in batch.purges:
                unseen[put.memory.kind].append(key)
        for kind, keys in unseen.items():
            self._known.kinds |= dict.fromkeys(self._statements.present(TABLES[kind], keys), kind)

    def _conflicts(self, batch: Batch) -> set[str]:
        """Keys of the batch's conflicts that are there."""
        return set(self._statements.present("Conflict", [bare_key(end) for end in batch.conflicts]))

    def _drawn(self, batch: Batch) -> dict[Arc, None]:
        """What the batch draws, without edges to what was not there in time. Before anything is created."""
        asked = batch.asked
        self._resolve(asked)
        there = {key for key in asked if key in self._known.kinds}
        return {arc: None for arcs in batch.drawn.values() for arc, keys in arcs.items() if there.issuperset(keys)}

    def _resolve(self, ends: Iterable[str]) -> None:
        """Learn the kinds of keys whose kind is not known; a key that no table has stays unknown."""
        known = self._known.kinds
        unseen = [key for key in dict.fromkeys(ends) if key not in known and not (is_user(key) or is_conflict(key))]
        # Entities first: most edges lead to them.
        for kind in sorted(TABLES, key=lambda kind: kind is not Kind.ENTITY):
            if not unseen:
                return
            present = self._statements.present(TABLES[kind], unseen)
            if present:
                known |= dict.fromkeys(present, kind)
                unseen = [key for key in unseen if key not in known]

    def _add_users(self, batch: Batch) -> None:
        unseen = [key for key in batch.partitions if key not in self._known.users]
        present = set(self._statements.present("User", unseen))
        rows: list[Parameters] = [
            {"key": key, "namespace": batch.partitions[key].namespace, "id": batch.partitions[key].user}
            for key in unseen
            if key not in present
        ]
        self._statements.each(
            "CREATE (:User {key: $key, namespace: $namespace, id: $id})",
            f"{EACH_ROW} CREATE (:User {{key: r.key, namespace: r.namespace, id: r.id}})",
            rows,
        )
        self._known.users |= dict.fromkeys(unseen)


def _create_one(kind: Kind) -> str:
    columns = ", ".join(f"{name}: ${name}" for name in ("key", *COLUMNS[kind]))
    return f"MATCH (u:User {{key: $partition}}) CREATE (u)-[:OWNS]->(n:{TABLES[kind]} {{{columns}}})"


def _create_many(kind: Kind) -> str:
    columns = ", ".join(f"{name}: r.{name}" for name in ("key", *COLUMNS[kind]))
    return (
        f"{EACH_ROW} WITH i, r.partition AS p MATCH (u:User) WHERE u.key = p "
        f"CREATE (u)-[:OWNS]->(n:{TABLES[kind]} {{{columns}}})"
    )


def _set_one(kind: Kind) -> str:
    # The partition and the id are part of the key and never change; naming them lets one row serve both statements.
    columns = ", ".join(f"n.{name} = ${name}" for name in COLUMNS[kind])
    return f"MATCH (n:{TABLES[kind]} {{key: $key}}) SET {columns}"


def _set_many(kind: Kind) -> str:
    columns = ", ".join(f"n.{name} = r.{name}" for name in COLUMNS[kind])
    return f"{EACH_ROW} WITH i, r.key AS k MATCH (n:{TABLES[kind]}) WHERE n.key = k SET {columns}"


_CONFLICT = ("key", *CONFLICT_COLUMNS)
_CREATE_CONFLICT = f"CREATE (:Conflict {{{', '.join(f'{name}: ${name}' for name in _CONFLICT)}}})"
_CREATE_CONFLICTS = f"{EACH_ROW} CREATE (:Conflict {{{', '.join(f'{name}: r.{name}' for name in _CONFLICT)}}})"
_SET_CONFLICT = f"MATCH (n:Conflict {{key: $key}}) SET {', '.join(f'n.{name} = ${name}' for name in CONFLICT_COLUMNS)}"
_SET_CONFLICTS = (
    f"{EACH_ROW} WITH i, r.key AS k MATCH (n:Conflict) WHERE n.key = k "
    f"SET {', '.join(f'n.{name} = r.{name}' for name in CONFLICT_COLUMNS)}"
)
