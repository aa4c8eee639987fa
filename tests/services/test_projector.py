from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.kuzu_graph import KuzuGraph
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.domain.errors import StoreUnavailable
from memsidecar.domain.scope import Partition
from memsidecar.services import projector as module
from memsidecar.services.projector import GraphProjector
from tests.adapters.sqlite_ledger.conftest import Tamper, tamper
from tests.contracts.ledger_samples import ANN, BEN, batch, recorded
from tests.doubles.wrapped_stores import SwitchedGraph
from tests.session_servers import until

__all__ = ["tamper"]


class Parts:
    def __init__(self, ledger: SqliteLedger, graph: KuzuGraph) -> None:
        self.ledger, self.graph = ledger, SwitchedGraph(graph)
        self.projector = GraphProjector(self.graph, ledger)
        self.revisions: dict[Partition, int] = {}

    async def commit(self, who: Partition, *names: str, publish: bool = True) -> list[object]:
        start = self.revisions.get(who, 0)
        entries = await self.ledger.append(batch(start, *(recorded(n, n, None, who) for n in names), partition=who))
        self.revisions[who] = start + len(names)
        if publish:
            self.projector.publish(entries)
        return list(entries)


@pytest.fixture
async def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Parts]:
    monkeypatch.setattr(module, "FIRST_RETRY", 0.01)
    monkeypatch.setattr(module, "LAST_RETRY", 0.02)
    monkeypatch.setattr(module, "COALESCE", 0.005)
    ledger = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    graph = await KuzuGraph.open(tmp_path / "graph", "kuzu", 64 << 20)
    made = Parts(ledger, graph)
    await made.projector.start()
    yield made
    made.graph.gate.set()
    await made.projector.close()
    await graph.close()
    await ledger.close()


async def test_the_graph_follows_what_is_committed(parts: Parts) -> None:
    await parts.commit(ANN, "a", "b")
    await parts.commit(BEN, "c")
    await parts.projector.wait_until_caught_up()
    assert (await parts.graph.count(ANN), await parts.graph.count(BEN)) == (2, 1)
    assert parts.projector.lag == 0


async def test_positions_of_different_partitions_may_come_out_of_order(parts: Parts) -> None:
    first = await parts.commit(ANN, "a", publish=False)
    second = await parts.commit(BEN, "b", publish=False)
    parts.projector.publish(second)  # type: ignore[arg-type]
    parts.projector.publish(first)  # type: ignore[arg-type]
    await parts.projector.wait_until_caught_up()
    assert (await parts.graph.count(ANN), await parts.graph.count(BEN)) == (1, 1)


async def test_what_was_never_published_is_read_from_the_ledger(parts: Parts) -> None:
    await parts.commit(ANN, "a")
    await parts.projector.wait_until_caught_up()
    await parts.commit(ANN, "b", publish=False)
    await parts.commit(BEN, "c")
    await parts.projector.wait_until_caught_up()
    assert (await parts.graph.count(ANN), await parts.graph.count(BEN)) == (2, 1)


async def test_more_than_the_backlog_holds_is_read_from_the_ledger(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BACKLOG", 10)
    monkeypatch.setattr(module, "BATCH", 4)
    parts.graph.gate.clear()
    for number in range(30):
        await parts.commit(ANN, f"a{number}")
    assert len(parts.projector._backlog) <= 10
    parts.graph.gate.set()
    await parts.projector.wait_until_caught_up()
    assert await parts.graph.count(ANN) == 30


async def test_a_graph_that_fails_catches_up_when_it_is_back(parts: Parts) -> None:
    parts.graph.failure = StoreUnavailable("graph")
    await parts.commit(ANN, "a")
    await until(lambda: _true(parts.graph.tries > 2))
    await parts.commit(ANN, "b")
    parts.graph.failure = None
    await until(lambda: _true(parts.projector.lag == 0))
    assert await parts.graph.count(ANN) == 2


async def test_whoever_waits_for_a_graph_that_stays_broken_is_told(parts: Parts) -> None:
    parts.graph.failure = StoreUnavailable("graph", "is broken")
    await parts.commit(ANN, "a")
    with pytest.raises(StoreUnavailable, match="is broken"):
        await parts.projector.wait_until_caught_up()


async def test_waiting_ends_with_what_was_committed_before_it(parts: Parts) -> None:
    await parts.commit(ANN, "a")
    waiting = asyncio.create_task(parts.projector.wait_until_caught_up())
    await asyncio.sleep(0)
    parts.projector._newest += 10_000  # as if writers never paused
    await waiting
    parts.projector._newest = parts.projector._applied


async def test_closing_while_the_graph_fails_ends(parts: Parts) -> None:
    parts.graph.failure = StoreUnavailable("graph")
    await parts.commit(ANN, "a")
    await until(lambda: _true(parts.graph.tries > 1))
    waiting = asyncio.create_task(parts.projector.wait_until_caught_up())
    await parts.projector.close()
    with pytest.raises(StoreUnavailable):
        await waiting
    assert parts.projector._task is not None
    assert parts.projector._task.done()


async def test_closing_while_the_graph_hangs_ends(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CLOSE_TIMEOUT", 0.05)
    parts.graph.gate.clear()
    await parts.commit(ANN, "a")
    await until(lambda: _true(parts.graph.tries > 0))
    await parts.projector.close()
    assert parts.projector._task is not None
    assert parts.projector._task.done()


async def test_closing_applies_what_is_committed(parts: Parts) -> None:
    await parts.commit(ANN, *(f"a{n}" for n in range(50)))
    await parts.projector.close()
    assert await parts.graph.count(ANN) == 50


async def test_a_graph_ahead_of_the_ledger_is_made_anew(parts: Parts, tmp_path: Path) -> None:
    await parts.commit(ANN, "a", "b", "c")
    await parts.projector.wait_until_caught_up()
    (tmp_path / "restored").mkdir()
    restored = await SqliteLedger.open(tmp_path / "restored", ProtobufEventCodec())
    await restored.append(batch(0, recorded("z", "z", None, BEN), partition=BEN))
    other = GraphProjector(parts.graph, restored)
    await other.start()
    await other.wait_until_caught_up()
    assert (await parts.graph.count(ANN), await parts.graph.count(BEN)) == (0, 1)
    await other.close()
    await restored.close()


async def test_a_rebuild_amid_writes_misses_nothing(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    writing = asyncio.gather(*(_commit_slowly(parts, who) for who in (ANN, BEN)))
    for _ in range(3):
        await parts.projector.rebuild("the test says so")
    await writing
    await parts.projector.wait_until_caught_up()
    assert (await parts.graph.count(ANN), await parts.graph.count(BEN)) == (30, 30)


async def test_mostly_dead_space_is_cleared_by_making_it_anew(parts: Parts) -> None:
    await parts.commit(ANN, "a")
    await parts.projector.wait_until_caught_up()
    parts.graph.rebuild_wanted = True
    await parts.commit(ANN, "b")
    await until(lambda: _true(not parts.graph.rebuild_wanted))
    await parts.projector.wait_until_caught_up()
    assert await parts.graph.count(ANN) == 2


async def test_a_bloated_graph_is_caught_up_only_when_it_is_made_anew(parts: Parts) -> None:
    await parts.commit(ANN, "a", "b")
    await parts.projector.wait_until_caught_up()
    await parts.projector.close()
    parts.graph.rebuild_wanted = True
    parts.projector = GraphProjector(parts.graph, parts.ledger)
    await parts.projector.start()
    await parts.projector.wait_until_caught_up()
    assert not parts.graph.rebuild_wanted
    assert await parts.graph.count(ANN) == 2
    # However large it is then: once a process, or it would be made anew for ever.
    parts.graph.rebuild_wanted = True
    await parts.commit(ANN, "c")
    await parts.projector.wait_until_caught_up()
    assert parts.graph.rebuild_wanted
    assert await parts.graph.count(ANN) == 3


@pytest.mark.parametrize(
    "damage", ["UPDATE event SET payload = zeroblob(3) WHERE position = 2", "DELETE FROM event WHERE position = 2"]
)
async def test_a_damaged_entry_does_not_hold_up_other_partitions(parts: Parts, tamper: Tamper, damage: str) -> None:
    await parts.projector.close()
    await parts.commit(ANN, "a", "b", "c", publish=False)
    await parts.commit(BEN, "d", "e", publish=False)
    tamper(damage)
    parts.projector = GraphProjector(parts.graph, parts.ledger)
    await parts.projector.start()
    await parts.projector.wait_until_caught_up()
    assert await parts.graph.count(BEN) == 2
    assert await parts.graph.node(ANN, "a") is not None
    assert await parts.graph.node(ANN, "b") is None


async def _commit_slowly(parts: Parts, who: Partition) -> None:
    for number in range(30):
        await parts.commit(who, f"x{number}")


async def _true(value: bool) -> bool:
    return value


async def test_how_far_and_for_how_long_the_graph_is_behind_is_shown(parts: Parts) -> None:
    metrics = {metric.name: metric for metric in parts.projector.metrics()}

    def shown(name: str) -> float:
        ((labels, value),) = metrics[f"memsidecar_projection_{name}"].read()
        assert labels == ("graph",)
        return float(value)  # type: ignore[arg-type]

    assert (shown("lag_events"), shown("lag_seconds"), shown("failures_total")) == (0, 0, 0)
    parts.graph.gate.clear()
    await parts.commit(ANN, "a", "b")
    await until(lambda: _is(shown("lag_seconds") > 0.02))
    assert shown("lag_events") == 2
    parts.graph.gate.set()
    await parts.projector.wait_until_caught_up()
    await until(lambda: _is(shown("lag_seconds") == 0))
    assert shown("lag_events") == 0


async def _is(condition: bool) -> bool:
    return condition
