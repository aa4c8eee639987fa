"""Jobs: what is due after a write, kept with its events, in their transaction. No row holds a memory's text."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from memsidecar.adapters.sqlite_ledger.reading import partition_id
from memsidecar.domain.claims import Span
from memsidecar.domain.job import (
    DueItem,
    ItemDue,
    ItemSettled,
    ItemState,
    JobChange,
    JobKind,
    StoredItem,
    StoredJob,
    Told,
)
from memsidecar.domain.scope import Partition

# The promise is 24 hours after the end; the rest is for clocks that differ.
_KEPT_MICROSECONDS = 25 * 3600 * 1_000_000
# Jobs looked at when one begins: more than begin, so that the table does not grow for ever.
_PRUNED_AT_ONCE = 8

_INSERT_JOB = """
INSERT INTO job (partition, id, kind, agent, session, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (partition, id) DO UPDATE SET updated_at = excluded.updated_at
"""
_INSERT_ITEM = "INSERT INTO job_item (partition, job, memory, parts, state) VALUES (?, ?, ?, ?, 1)"
_SETTLE = """
UPDATE job_item SET state = ?, problem = ?, told = ?, attempts = attempts + ?
WHERE position = ? AND partition = ? AND state = 1
"""
_TOUCH_BY_ITEM = """
UPDATE job SET updated_at = ?, attempts = attempts + ?
WHERE partition = ? AND id = (SELECT job FROM job_item WHERE position = ?)
"""
_CANCEL = "UPDATE job_item SET state = 4 WHERE partition = ? AND job = ? AND state = 1"
_TOUCH = "UPDATE job SET updated_at = ? WHERE partition = ? AND id = ?"
_OLD = """
SELECT partition, id FROM job j WHERE updated_at < ? AND NOT EXISTS (
    SELECT 1 FROM job_item i WHERE i.partition = j.partition AND i.job = j.id AND i.state = 1
) ORDER BY updated_at LIMIT ?
"""
_DUE = """
SELECT i.position, p.namespace, p.user, i.job, i.memory, i.parts, i.attempts FROM (
    SELECT *, row_number() OVER (PARTITION BY partition ORDER BY position) AS place FROM job_item WHERE state = 1
) i JOIN partition p ON p.id = i.partition WHERE i.place <= ? ORDER BY i.place, i.position LIMIT ?
"""
_JOBS = """
SELECT j.id, j.agent, j.session, j.kind, j.created_at, j.updated_at, j.attempts,
    count(i.position), sum(i.state = 2), sum(i.state = 3), sum(i.state = 4)
FROM job j LEFT JOIN job_item i ON i.partition = j.partition AND i.job = j.id WHERE j.partition = ?
"""
_ITEMS = "SELECT position, state, problem, told FROM job_item WHERE partition = ? AND job = ? ORDER BY position"


def write_jobs(connection: sqlite3.Connection, partition: int, changes: Sequence[JobChange], now: int) -> None:
    """In the caller's transaction, in order. Raises sqlite3.Error."""
    begins = False
    for change in changes:
        match change:
            case ItemDue():
                begins = True
                values = (int(change.kind), change.agent, change.session, now, now)
                connection.execute(_INSERT_JOB, (partition, change.job_id, *values))
                parts = json.dumps([[part.start, part.end] for part in change.parts])
                connection.execute(_INSERT_ITEM, (partition, change.job_id, change.memory_id, parts))
            case ItemSettled(position=position, state=state, problem=problem):
                tried = int(state in (ItemState.DUE, ItemState.FAILED))
                told = json.dumps([[t.memory_id, t.action, t.explanation] for t in change.told], ensure_ascii=False)
                connection.execute(_SETTLE, (int(state), problem, told, tried, position, partition))
                connection.execute(_TOUCH_BY_ITEM, (now, tried, partition, position))
            case _:
                connection.execute(_CANCEL, (partition, change.job_id))
                connection.execute(_TOUCH, (now, partition, change.job_id))
    if begins:
        old = connection.execute(_OLD, (now - _KEPT_MICROSECONDS, _PRUNED_AT_ONCE)).fetchall()
        connection.executemany("DELETE FROM job_item WHERE partition = ? AND job = ?", old)
        connection.executemany("DELETE FROM job WHERE partition = ? AND id = ?", old)


def due_items(connection: sqlite3.Connection, each: int, limit: int) -> Sequence[DueItem]:
    return [
        DueItem(position, Partition(namespace, user), job, memory, _parts(parts), attempts)
        for position, namespace, user, job, memory, parts, attempts in connection.execute(_DUE, (each, limit))
    ]


def count_items(connection: sqlite3.Connection) -> Mapping[ItemState, int]:
    counted = dict(connection.execute("SELECT state, count(*) FROM job_item GROUP BY state").fetchall())
    return {state: counted.get(int(state), 0) for state in ItemState}


def find_job(connection: sqlite3.Connection, partition: Partition, job_id: str) -> StoredJob | None:
    owned_by = partition_id(connection, partition)
    row = connection.execute(f"{_JOBS} AND j.id = ? GROUP BY j.id", (owned_by, job_id)).fetchone()
    if row is None:
        return None
    items = tuple(
        StoredItem(index, position, ItemState(state), problem, tuple(Told(*each) for each in json.loads(told)))
        for index, (position, state, problem, told) in enumerate(connection.execute(_ITEMS, (owned_by, job_id)))
    )
    return _job(partition, row, items)


def list_jobs(
    connection: sqlite3.Connection, partition: Partition, before: tuple[int, str] | None, limit: int
) -> Sequence[StoredJob]:
    owned_by = partition_id(connection, partition)
    older, values = ("AND (j.created_at, j.id) < (?, ?)", before) if before is not None else ("", ())
    query = f"{_JOBS} {older} GROUP BY j.id ORDER BY j.created_at DESC, j.id DESC LIMIT ?"
    return [_job(partition, row) for row in connection.execute(query, (owned_by, *values, max(limit, 0)))]


def _job(partition: Partition, row: tuple[Any, ...], items: tuple[StoredItem, ...] = ()) -> StoredJob:
    job_id, agent, session, kind, created_at, updated_at, attempts, total, done, failed, cancelled = row
    counts = (total, done or 0, failed or 0, cancelled or 0)
    return StoredJob(job_id, partition, agent, session, JobKind(kind), created_at, updated_at, *counts, attempts, items)


def _parts(stored: str) -> tuple[Span, ...]:
    return tuple(Span(start, end) for start, end in json.loads(stored))
