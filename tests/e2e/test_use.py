"""How memories are used outlives the process: verdicts for certain, counts of recalls as far as they were written."""

from __future__ import annotations

import pytest
from memsidecar_client import Fact, FeedbackKind, InvalidArgument, Memsidecar

from tests.e2e.process import CLEAN, Launch, verify


def test_feedback_survives_a_kill_and_counts_survive_a_stop(launch: Launch) -> None:
    sidecar = launch()
    with Memsidecar(sidecar.target, user="ann") as client:
        first = client.create_memory(Fact("Ann drinks green tea")).memory
        second = client.create_memory(Fact("Ann drinks black tea")).memory
        order = [hit.memory.name for hit in client.recall("tea", explain=True).hits]
        client.feedback({order[1]: FeedbackKind.USED, order[0]: FeedbackKind.WRONG})
        moved = client.recall("tea", explain=True)
        assert [hit.memory.name for hit in moved.hits] == order[::-1]
        assert moved.hits[0].explanation is not None
        assert "usefulness" in [part.signal for part in moved.hits[0].explanation.components]
        with pytest.raises(InvalidArgument) as caught:
            client.feedback({first.name: FeedbackKind.USED, first.name + "0": FeedbackKind.USED})
        assert [violation.field for violation in caught.value.violations] == ["items[1].memory"]
    sidecar.kill()
    sidecar.start()
    with Memsidecar(sidecar.target, user="ann") as client:
        assert [hit.memory.name for hit in client.recall("tea").hits] == order[::-1]
        useful = client.get_memory(order[1])
        assert useful.usefulness > 0
        assert useful.etag == second.etag
        counted = useful.access_count
        assert counted >= 1
        assert useful.last_access_time is not None
    sidecar.stop()
    assert verify(sidecar.data_dir) == CLEAN
    sidecar.start()
    with Memsidecar(sidecar.target, user="ann") as client:
        assert client.get_memory(order[1]).access_count == counted
        assert [revision.change.name for revision in client.memory_history(order[1])] == ["CREATED"]


def test_counts_that_cannot_be_read_are_set_aside(launch: Launch) -> None:
    sidecar = launch()
    with Memsidecar(sidecar.target, user="ann") as client:
        client.create_memory(Fact("Ann drinks green tea"))
        client.recall("tea")
    sidecar.stop()
    (sidecar.data_dir / "accesses.db").write_bytes(b"damaged" * 5_000)
    sidecar.start()
    with Memsidecar(sidecar.target, user="ann") as client:
        (hit,) = client.recall("tea").hits
        assert hit.memory.access_count == 1
    assert [path.name for path in sidecar.data_dir.glob("accesses.db.aside-*")]
