"""Storing the vectors of a group. A memory's old ones are overwritten in place, never freed; schema.py says why."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from memsidecar.adapters.sqlite_ledger.heads import Heads
from memsidecar.domain.events import ConflictRecorded, Entry, FeedbackGiven, Matrix, MemoryPurged

# (partition id, memory id)
Owner: TypeAlias = tuple[int, str]


@dataclass(frozen=True, slots=True, eq=False)
class NewVectors:
    """`numbers` is little-endian float32 (count, dimensions), contiguous."""

    revision: int
    model: str
    numbers: Matrix


def vectors_of(partition_id: int, entries: Sequence[Entry]) -> dict[Owner, NewVectors | None]:
    """What the entries bring; None takes what is stored away. The newest entry of a memory counts."""
    found: dict[Owner, NewVectors | None] = {}
    for entry in entries:
        event = entry.event
        if event is None or isinstance(event, MemoryPurged):
            found[partition_id, entry.subject] = None
        elif not isinstance(event, FeedbackGiven | ConflictRecorded) and event.vectors is not None:
            numbers = np.ascontiguousarray(event.vectors.rows, dtype="<f4")
            found[partition_id, entry.subject] = NewVectors(entry.revision, event.vectors.model, numbers)
    return found


def write_vectors(connection: sqlite3.Connection, heads: Heads, vectors: Mapping[Owner, NewVectors | None]) -> None:
    """Replace, add and erase, in the caller's transaction. Raises sqlite3.Error."""
    added: list[tuple[int, memoryview]] = []
    overwritten: list[tuple[memoryview, int]] = []
    erased: list[tuple[int]] = []
    gone: list[Owner] = []
    current: list[tuple[int, str, int, str, int, int, int]] = []
    for owner, new in vectors.items():
        old = connection.execute(
            "SELECT slot, 4 * dimensions * count FROM embedding WHERE partition = ? AND memory = ?", owner
        ).fetchone()
        if new is not None and old is not None and old[1] == new.numbers.nbytes:
            slot = old[0]
            overwritten.append((new.numbers.data, slot))
        else:
            if old is not None:
                erased.append((old[0],))
            if new is None:
                gone.append(owner)
                continue
            heads.slot += 1
            slot = heads.slot
            added.append((slot, new.numbers.data))
        count, dimensions = new.numbers.shape
        current.append((*owner, new.revision, new.model, dimensions, count, slot))
    connection.executemany("UPDATE vector SET numbers = ? WHERE slot = ?", overwritten)
    connection.executemany("UPDATE vector SET numbers = zeroblob(length(numbers)) WHERE slot = ?", erased)
    connection.executemany("INSERT INTO vector (slot, numbers) VALUES (?, ?)", added)
    connection.executemany("DELETE FROM embedding WHERE partition = ? AND memory = ?", gone)
    connection.executemany(
        "INSERT OR REPLACE INTO embedding (partition, memory, revision, model, dimensions, count, slot) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        current,
    )
