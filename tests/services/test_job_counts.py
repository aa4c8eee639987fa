from __future__ import annotations

from pathlib import Path

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.domain.job import ItemDue, ItemSettled, ItemState
from memsidecar.ports.ledger import Append
from memsidecar.services.job_counts import JobCounts
from tests.contracts.ledger_samples import ANN


async def test_items_are_counted_by_state(tmp_path: Path) -> None:
    ledger = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    counts = JobCounts(ledger)
    (metric,) = counts.metrics()
    await ledger.append(Append(ANN, 0, (), 1, jobs=[ItemDue("j", f"m{n}") for n in range(3)]))
    (first, *_) = await ledger.due_items(1, 10)
    await ledger.append(Append(ANN, 0, (), 2, jobs=[ItemSettled(first.position, ItemState.DONE)]))
    assert dict(metric.read()) == {("due",): 0, ("done",): 0, ("failed",): 0, ("cancelled",): 0}
    await counts.look()
    assert dict(metric.read()) == {("due",): 2, ("done",): 1, ("failed",): 0, ("cancelled",): 0}
    await ledger.close()
