from __future__ import annotations

from pathlib import Path

import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.ports.ledger import StaleRevision
from tests.contracts.ledger_samples import ANN, batch, recorded


async def test_commits_their_syncs_and_their_entries_are_counted(tmp_path: Path) -> None:
    ledger = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    assert (ledger.counts.position, ledger.counts.events, ledger.waiting) == (0, 0, 0)
    await ledger.append(batch(0, recorded("a", "a", None, ANN), recorded("b", "b", None, ANN), partition=ANN))
    with pytest.raises(StaleRevision):
        await ledger.append(batch(0, recorded("c", "c", None, ANN), partition=ANN))
    counts = ledger.counts
    assert (counts.position, counts.events, counts.failures) == (2, 2, 0)
    assert sum(counts.commits.counts) == sum(counts.syncs.counts) >= 1
    assert 0 < counts.syncs.total < counts.commits.total
    await ledger.close()
    again = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    assert (again.counts.position, again.counts.events) == (2, 0)
    await again.close()
