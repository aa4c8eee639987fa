"""Events for ledger tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memsidecar.domain.events import (
    Change,
    ConflictRecorded,
    Entry,
    Event,
    FeedbackGiven,
    MemoryPurged,
    MemoryRecorded,
    Vectors,
    VectorsRecorded,
)
from memsidecar.domain.memory import Fact, Memory
from memsidecar.domain.scope import Partition, Scope
from memsidecar.ports.ledger import Append, Ledger, Request, StoredVectors

ANN = Partition("acme", "ann")
BEN = Partition("acme", "ben")
MODEL = "model-a"
NOW = 1_764_000_000_000_000


def vectors(seed: int, count: int = 1, model: str = MODEL, dimensions: int = 8) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((count, dimensions), dtype=np.float32)
    return Vectors(model, rows)


def recorded(
    memory_id: str, text: str = "likes tea", brought: Vectors | None = None, partition: Partition = ANN
) -> MemoryRecorded:
    memory = Memory(memory_id, Scope(partition.namespace, partition.user), Fact(text), NOW, NOW)
    return MemoryRecorded(Change.CREATED, memory, brought)


def batch(
    expected: int,
    *events: Event,
    partition: Partition = ANN,
    recorded_at: int = NOW,
    requests: Sequence[Request] = (),
) -> Append:
    return Append(partition, expected, events, recorded_at, requests)


async def fill(ledger: Ledger, count: int, partition: Partition = ANN, start: int = 0) -> None:
    """Memories m0, m1 ... with the texts "text 0", "text 1" ... and vectors, one entry each."""
    events = [
        recorded(f"m{number}", f"text {number}", vectors(number), partition) for number in range(start, start + count)
    ]
    await ledger.append(batch(start, *events, partition=partition))


def meaning(event: Event | None) -> object:
    """What is compared: an event without the numbers of its vectors."""
    match event:
        case MemoryRecorded():
            return (event.change, event.memory, event.actor, event.reason)
        case VectorsRecorded():
            return (event.memory_id, event.vectors.model)
        case MemoryPurged() | FeedbackGiven() | ConflictRecorded() | None:
            return event


def meanings(entries: Sequence[Entry]) -> list[object]:
    return [meaning(entry.event) for entry in entries]


def rows_by_memory(stored: Sequence[StoredVectors]) -> dict[str, list[list[float]]]:
    return {one.memory_id: one.rows.tolist() for one in stored}
