"""Which memories are soft-deleted and when their purge is due: kept with the events, in their transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from memsidecar.domain.events import Change, Entry, Event, MemoryPurged, MemoryRecorded
from memsidecar.domain.memory import State
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import DuePurge, EventCodec

# (partition id, memory id)
_Owner: TypeAlias = tuple[int, str]

_TABLE = """
CREATE TABLE deletion (
    partition INTEGER NOT NULL,
    memory TEXT NOT NULL,
    purge_at INTEGER NOT NULL,
    PRIMARY KEY (partition, memory)
) STRICT, WITHOUT ROWID
"""
_INSERT = "INSERT OR REPLACE INTO deletion (partition, memory, purge_at) VALUES (?, ?, ?)"
_DUE = """
SELECT p.namespace, p.user, d.memory FROM deletion d JOIN partition p ON p.id = d.partition
WHERE d.purge_at <= ? AND (p.namespace, p.user, d.memory) > (?, ?, ?) ORDER BY p.namespace, p.user, d.memory LIMIT ?
"""
_NEWEST = """
SELECT p.id, p.namespace, p.user, e.subject, e.payload, max(e.revision)
FROM event e JOIN partition p ON p.id = e.partition WHERE NOT e.erased GROUP BY e.partition, e.subject
"""


def deletions_of(partition_id: int, entries: Sequence[Entry]) -> dict[_Owner, int | None]:
    """When the memories of the entries are to be purged; None for one that is not deleted, or not any more."""
    found: dict[_Owner, int | None] = {}
    for entry in entries:
        event = entry.event
        changed = isinstance(event, MemoryRecorded) and event.change is not Change.CREATED
        if event is not None and (changed or isinstance(event, MemoryPurged)):
            found[partition_id, entry.subject] = purge_at(event)
    return found


def write_deletions(connection: sqlite3.Connection, deletions: Mapping[_Owner, int | None]) -> None:
    """In the caller's transaction. Raises sqlite3.Error."""
    connection.executemany(_INSERT, [(*owner, at) for owner, at in deletions.items() if at is not None])
    ended = [owner for owner, at in deletions.items() if at is None]
    connection.executemany("DELETE FROM deletion WHERE partition = ? AND memory = ?", ended)


def due_purges(connection: sqlite3.Connection, at: int, after: DuePurge | None, limit: int) -> Sequence[DuePurge]:
    last = ("", "", "") if after is None else (after.partition.namespace, after.partition.user, after.memory_id)
    rows = connection.execute(_DUE, (at, *last, limit))
    return [DuePurge(Partition(namespace, user), memory) for namespace, user, memory in rows]


def ensure_table(connection: sqlite3.Connection, codec: EventCodec) -> None:
    """Make the table for a file that has none, from its events. Raises sqlite3.Error."""
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'deletion'").fetchone() is not None:
        return
    found: list[tuple[int, str, int]] = []
    # A damaged name is the reader's to report, too: here it must only not stop the opening.
    usual, connection.text_factory = connection.text_factory, partial(str, encoding="utf-8", errors="surrogateescape")
    for partition_id, namespace, user, subject, payload, _ in connection.execute(_NEWEST):
        with suppress(ValueError):  # damaged: reported when its partition is read
            at = purge_at(codec.decode(payload, Partition(namespace, user)))
            if at is not None:
                found.append((partition_id, subject, at))
    connection.text_factory = usual
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(_TABLE)
        connection.executemany(_INSERT, found)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def purge_at(event: Event) -> int | None:
    """When an event's memory is to be purged; None unless it deletes it."""
    if isinstance(event, MemoryRecorded) and event.memory.state is State.DELETED:
        return event.memory.purge_at
    return None
