from __future__ import annotations

import pytest

from memsidecar.domain.draft import Request
from memsidecar.domain.errors import LedgerDamaged
from memsidecar.domain.removal import PURGE_AFTER
from memsidecar.domain.scope import Partition
from memsidecar.services import purging as module
from memsidecar.services.purging import Purging
from tests.services.stack import ANN, BEN, TEAM, Stack, stored

NO = Request()


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(module, "AT_ONCE", 2)


async def test_a_sweep_purges_what_is_due_and_looks_at_nobody_else(stack: Stack) -> None:
    purging = Purging(stack.ledger, stack.memories, stack.clock)
    kept = [m.id for m in stored(await stack.remember(ANN, "kept one", "brought back"))]
    await stack.memories.delete(ANN.partition, kept[1], "", False, "", NO)
    await stack.memories.undelete(ANN.partition, kept[1], NO)
    for scope in (BEN, TEAM):
        gone = [m.id for m in stored(await stack.remember(scope, "one", "two", "three", "stays"))][:3]
        for memory_id in gone:
            await stack.memories.delete(scope.partition, memory_id, "", False, "", NO)
    again = await stack.again()
    purging = Purging(again.ledger, again.memories, again.clock)
    assert await purging.sweep() == 0
    assert again.residency.count == 0
    again.clock.time += PURGE_AFTER
    assert await purging.sweep() == 6
    assert again.residency.peek(ANN.partition) is None
    assert await again.texts(BEN) == await again.texts(TEAM) == ["stays"]
    assert await purging.sweep() == 0
    assert await again.texts(ANN) == ["kept one", "brought back"]
    await again.close()


async def test_a_damaged_partition_does_not_hold_up_the_rest(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    purging = Purging(stack.ledger, stack.memories, stack.clock)
    for scope in (ANN, BEN):
        for memory in stored(await stack.remember(scope, "one", "two", "three")):
            await stack.memories.delete(scope.partition, memory.id, "", False, "", NO)
    stack.clock.time += PURGE_AFTER
    purge = stack.memories.purge_if_due

    async def damaged(partition: Partition, memory_id: str) -> None:
        if partition == ANN.partition:
            raise LedgerDamaged(partition.name, 1)
        await purge(partition, memory_id)

    monkeypatch.setattr(stack.memories, "purge_if_due", damaged)
    assert await purging.sweep() == 3
