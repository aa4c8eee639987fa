"""Reading everything but entries: vectors, requests, partitions. Each function runs in a reader's thread."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

import numpy as np

from memsidecar.adapters.sqlite_ledger.entries import EntryError, Row, intact
from memsidecar.adapters.sqlite_ledger.reading import partition_id
from memsidecar.domain.errors import LedgerDamaged
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Request, StoredVectors

_VECTORS = """
SELECT e.memory, e.revision, e.dimensions, e.count, v.numbers FROM embedding e LEFT JOIN vector v ON v.slot = e.slot
WHERE e.partition = ? AND e.model = ? ORDER BY e.memory
"""
# The ids travel as one JSON parameter, so that their number has no limit and the statement is prepared once.
_VECTORS_OF = """
SELECT e.memory, e.revision, e.dimensions, e.count, v.numbers
FROM (SELECT DISTINCT value FROM json_each(?)) wanted JOIN embedding e ON e.partition = ? AND e.memory = wanted.value
LEFT JOIN vector v ON v.slot = e.slot WHERE e.model = ?
"""
_PARTITIONS = "SELECT namespace, user FROM partition ORDER BY namespace, user LIMIT ?"
_PARTITIONS_AFTER = (
    "SELECT namespace, user FROM partition WHERE (namespace, user) > (?, ?) ORDER BY namespace, user LIMIT ?"
)


def vectors(connection: sqlite3.Connection, partition: Partition, model: str) -> Sequence[StoredVectors]:
    """In the order of the memory ids. The arrays are read-only views of SQLite's answer: one copy in memory."""
    owned_by = partition_id(connection, partition)
    if owned_by is None:
        return ()
    return _stored(connection.execute(_VECTORS, (owned_by, model)), partition)


def vectors_of(
    connection: sqlite3.Connection, partition: Partition, memory_ids: Sequence[str], model: str
) -> Sequence[StoredVectors]:
    owned_by = partition_id(connection, partition)
    if owned_by is None or not memory_ids:
        return ()
    return _stored(connection.execute(_VECTORS_OF, (json.dumps(list(memory_ids)), owned_by, model)), partition)


def dimensions(connection: sqlite3.Connection, model: str) -> int | None:
    row = connection.execute("SELECT dimensions FROM embedding WHERE model = ? LIMIT 1", (model,)).fetchone()
    return None if row is None else int(row[0])


def find_request(connection: sqlite3.Connection, partition: Partition, request_id: str) -> Request | None:
    row = connection.execute(
        "SELECT digest, answer FROM request WHERE request_id = ? AND partition = "
        "(SELECT id FROM partition WHERE namespace = ? AND user = ?)",
        (request_id, partition.namespace, partition.user),
    ).fetchone()
    return None if row is None else Request(request_id, row[0], row[1])


def partitions(connection: sqlite3.Connection, after: Partition | None, limit: int) -> Sequence[Partition]:
    if after is None:
        rows = connection.execute(_PARTITIONS, (max(limit, 0),))
    else:
        rows = connection.execute(_PARTITIONS_AFTER, (after.namespace, after.user, max(limit, 0)))
    return [Partition(namespace, user) for namespace, user in rows]


def position(connection: sqlite3.Connection) -> int:
    (newest,) = connection.execute("SELECT coalesce(max(position), 0) FROM event").fetchone()
    return int(newest)


def history_id(connection: sqlite3.Connection) -> int:
    found = connection.execute("SELECT value FROM meta WHERE key = 'history'").fetchone()
    return 0 if found is None else int(found[0])


def check(connection: sqlite3.Connection) -> None:
    connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()


def _stored(rows: Iterable[Row], partition: Partition) -> Sequence[StoredVectors]:
    found: list[StoredVectors] = []
    at = 0
    try:
        for memory, revision, dimensions, count, blob in intact(rows):
            at = revision
            if blob is None or len(blob) != 4 * dimensions * count:
                raise EntryError("vectors of another size than recorded")
            numbers = np.frombuffer(blob, dtype=np.float32).reshape(count, dimensions)
            found.append(StoredVectors(memory, numbers))
    except EntryError as broken:
        raise LedgerDamaged(partition.name, at) from broken
    return found
