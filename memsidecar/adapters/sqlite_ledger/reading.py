"""Reading entries. Each function runs in a reader's thread, on its connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from memsidecar.adapters.sqlite_ledger import chain
from memsidecar.adapters.sqlite_ledger.entries import COLUMNS, EntryError, Row, entry_from, served
from memsidecar.domain.events import Entry
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import EventCodec, Head

_READ = f"SELECT {COLUMNS} FROM event e WHERE e.partition = ? AND e.revision > ? ORDER BY e.revision LIMIT ?"
_BEFORE = "LEFT JOIN event before ON before.partition = e.partition AND before.revision = e.revision - 1"
_HISTORY = f"""
SELECT before.chain, {COLUMNS} FROM event e {_BEFORE}
WHERE e.partition = ? AND e.subject = ? AND e.revision < ? ORDER BY e.revision DESC LIMIT ?
"""
_TAIL = f"""
SELECT e.partition, p.namespace, p.user, {COLUMNS}
FROM event e LEFT JOIN partition p ON p.id = e.partition WHERE e.position > ? ORDER BY e.position LIMIT ?
"""


def partition_id(connection: sqlite3.Connection, partition: Partition) -> int | None:
    key = (partition.namespace, partition.user)
    row = connection.execute("SELECT id FROM partition WHERE namespace = ? AND user = ?", key).fetchone()
    return None if row is None else int(row[0])


def head(connection: sqlite3.Connection, partition: Partition) -> Head:
    row = connection.execute(
        "SELECT revision, chain FROM event WHERE partition = "
        "(SELECT id FROM partition WHERE namespace = ? AND user = ?) ORDER BY revision DESC LIMIT 1",
        (partition.namespace, partition.user),
    ).fetchone()
    return Head(0, chain.FIRST) if row is None else Head(row[0], row[1])


def read(
    connection: sqlite3.Connection, codec: EventCodec, partition: Partition, after: int, limit: int, link: bytes | None
) -> Sequence[Entry]:
    """As the port says; the chain is followed from row to row."""
    owned_by = partition_id(connection, partition)
    if owned_by is None:
        return ()
    owner = chain.owner(partition)
    previous = link if link is not None else _link_at(connection, owned_by, after)
    revision = after + 1

    def check(row: Row) -> Entry:
        nonlocal previous, revision
        if row[1] != revision:
            raise EntryError("an entry is missing")
        entry = entry_from(row, partition, owner, previous, codec)
        previous = row[7]
        revision += 1
        return entry

    rows = connection.execute(_READ, (owned_by, after, max(limit, 0)))
    return served(rows, check, lambda: (partition.name, revision))


def history(
    connection: sqlite3.Connection, codec: EventCodec, partition: Partition, memory_id: str, before: int, limit: int
) -> Sequence[Entry]:
    owned_by = partition_id(connection, partition)
    if owned_by is None:
        return ()
    owner = chain.owner(partition)
    revision = before

    def check(row: Row) -> Entry:
        nonlocal revision
        link, *entry = row
        revision = entry[1]
        return entry_from(tuple(entry), partition, owner, chain.FIRST if revision == 1 else link, codec)

    rows = connection.execute(_HISTORY, (owned_by, memory_id, before, max(limit, 0)))
    return served(rows, check, lambda: (partition.name, revision))


def tail(connection: sqlite3.Connection, codec: EventCodec, after: int, limit: int) -> Sequence[Entry]:
    """As the port says; only a partition's first entry needs a look-up of the link before it."""
    owners: dict[int, tuple[Partition, bytes]] = {}
    heads: dict[int, tuple[int, bytes | None]] = {}
    place = ("an unknown partition", 0)

    def check(row: Row) -> Entry:
        nonlocal place
        owned_by, namespace, user, *rest = row
        entry, revision = tuple(rest), rest[1]
        if owned_by not in owners:
            owners[owned_by] = _owner_of(namespace, user)
            heads[owned_by] = (revision - 1, _link_at(connection, owned_by, revision - 1))
        partition, owner = owners[owned_by]
        place = (partition.name, revision)
        before, previous = heads[owned_by]
        if revision != before + 1:
            raise EntryError("an entry is missing")
        checked = entry_from(entry, partition, owner, previous, codec)
        heads[owned_by] = (revision, rest[7])
        return checked

    rows = connection.execute(_TAIL, (after, max(limit, 0)))
    return served(rows, check, lambda: place)


def _owner_of(namespace: str | None, user: str | None) -> tuple[Partition, bytes]:
    if namespace is None or user is None:
        raise EntryError("its partition is missing")
    partition = Partition(namespace, user)
    try:
        return partition, chain.owner(partition)
    except UnicodeEncodeError as error:
        raise EntryError("its partition's name has changed") from error


def _link_at(connection: sqlite3.Connection, owned_by: int, revision: int) -> bytes | None:
    """The link at a revision; None when that entry is not there."""
    if revision == 0:
        return chain.FIRST
    key = (owned_by, revision)
    row = connection.execute("SELECT chain FROM event WHERE partition = ? AND revision = ?", key).fetchone()
    return None if row is None else bytes(row[0])
