"""What every ledger promises about what is looked up beside its entries."""

from __future__ import annotations

from dataclasses import replace

from memsidecar.domain.events import Change, MemoryPurged, MemoryRecorded
from memsidecar.domain.memory import State
from memsidecar.ports.ledger import DuePurge, Ledger
from tests.contracts.ledger_samples import ANN, BEN, MODEL, batch, fill, recorded


def deleted(memory_id: str, purge_at: int, change: Change = Change.DELETED) -> MemoryRecorded:
    event = recorded(memory_id)
    state = State.DELETED if change is Change.DELETED else State.ACTIVE
    return MemoryRecorded(change, replace(event.memory, state=state, purge_at=purge_at), None)


async def test_purges_that_are_due_are_found_without_reading_memories(ledger: Ledger) -> None:
    await fill(ledger, 3, ANN)
    await fill(ledger, 3, BEN)
    assert await ledger.due_purges(2**62, None, 10) == []
    await ledger.append(batch(3, deleted("m0", 10), deleted("m1", 20), deleted("m2", 10), partition=ANN))
    await ledger.append(batch(3, deleted("m1", 10), partition=BEN))
    assert await ledger.due_purges(9, None, 10) == []
    due = [DuePurge(ANN, "m0"), DuePurge(ANN, "m2"), DuePurge(BEN, "m1")]
    assert await ledger.due_purges(10, None, 10) == due
    assert await ledger.due_purges(10, None, 2) == due[:2]
    assert await ledger.due_purges(10, due[1], 2) == due[2:]
    # One is brought back, one is purged; one is deleted and brought back in one transaction.
    await ledger.append(
        batch(6, deleted("m0", 0, Change.UNDELETED), MemoryPurged("m2"), deleted("m1", 5), partition=ANN)
    )
    await ledger.append(batch(4, deleted("m2", 10), deleted("m2", 0, Change.UNDELETED), partition=BEN))
    assert await ledger.due_purges(2**62, None, 10) == [DuePurge(ANN, "m1"), DuePurge(BEN, "m1")]


async def test_size_of_a_models_vectors_is_known_while_some_are_stored(ledger: Ledger) -> None:
    assert await ledger.dimensions(MODEL) is None
    await fill(ledger, 1)
    assert await ledger.dimensions(MODEL) == 8
    assert await ledger.dimensions("another") is None
