"""What the ledger's vectors are worth to a memory whose text has changed since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.domain.events import Change, Entry, Event, MemoryRecorded, Vectors, VectorsRecorded
from memsidecar.domain.memory import Fact, Memory
from memsidecar.domain.scope import Partition, Scope
from memsidecar.ports.ledger import StoredVectors
from memsidecar.services.hydration import Hydration
from memsidecar.services.preparing import Space
from tests.doubles.exact_vectors import ExactVectors

PARTITION = Partition("n", "u")
VECTORS = Vectors("m", np.array([[1.0, 0.0]], dtype=np.float32))


class Kept:
    """A ledger that holds events, no snapshot, and indexes without an index."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._entries = [Entry(n, PARTITION, n, 0, "a", event) for n, event in enumerate(events, 1)]

    async def read(self, _: Partition, after: int, limit: int, chain: bytes | None) -> list[Entry]:
        return self._entries[after : after + limit]

    async def vectors(self, _: Partition, model: str) -> list[StoredVectors]:
        brought = [e.revision for e in self._entries if getattr(e.event, "vectors", None) is not None]
        return [StoredVectors("a", VECTORS.rows, brought[-1])] if brought else []

    async def load(self, *_: Any) -> None:
        return None

    def create(self, dimensions: int) -> ExactVectors:
        return ExactVectors(dimensions)


def version(number: int, text: str, vectors: Vectors | None = None) -> MemoryRecorded:
    memory = Memory("a", Scope("n", "u"), Fact(text), 1, number, version=number)
    return MemoryRecorded(Change.UPDATED, memory, vectors)


@pytest.mark.parametrize(
    ("events", "has_vectors"),
    [
        ([version(1, "old", VECTORS)], True),
        ([version(1, "old", VECTORS), version(2, "old")], True),
        ([version(1, "old", VECTORS), version(2, "new")], False),
        ([version(1, "old", VECTORS), version(2, "new"), version(3, "new")], False),
        ([version(1, "old", VECTORS), version(2, "new", VECTORS)], True),
        ([version(1, "old", VECTORS), version(2, "new"), VectorsRecorded("a", VECTORS)], True),
        ([version(1, "old")], False),
    ],
)
async def test_vectors_of_an_older_text_are_due_again(events: list[Event], has_vectors: bool) -> None:
    kept = cast(Any, Kept(events))
    hydration = Hydration(kept, ProtobufEventCodec(), kept, kept, Space("m", 2, None, 1.0))
    resident, _ = await hydration(PARTITION)
    assert resident.has_vectors("a") is has_vectors
    assert list(resident.due) == ([] if has_vectors else ["a"])
