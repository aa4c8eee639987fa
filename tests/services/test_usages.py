"""Recalls are counted without a write on the way, and the counts outlive the process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from memsidecar.domain.draft import Patch, Request
from memsidecar.domain.errors import StoreUnavailable
from memsidecar.domain.recall import Question, Recalled
from memsidecar.domain.scope import Partition
from memsidecar.domain.usage import NO_USAGE, Access
from memsidecar.ports.accesses import AccessStore, Counted
from memsidecar.services import usages as module
from tests.doubles.hash_embedder import HashEmbedder
from tests.services.stack import ANN, BEN, TEAM, Stack, stored
from tests.session_servers import until

WHO = ANN.partition


class Switched:
    """A real store that fails when told, and holds `add` back until told."""

    def __init__(self, real: AccessStore) -> None:
        self._real = real
        self.failing = False
        self.gate, self.adding = asyncio.Event(), asyncio.Event()
        self.gate.set()

    def _check(self) -> None:
        if self.failing:
            raise StoreUnavailable("accesses")

    async def load(self, partition: Partition) -> Mapping[str, Access]:
        self._check()
        return await self._real.load(partition)

    async def add(self, counted: Counted) -> None:
        self.adding.set()
        await self.gate.wait()
        self._check()
        await self._real.add(counted)

    async def forget(self, partition: Partition, memory_ids: Sequence[str]) -> None:
        self._check()
        await self._real.forget(partition, memory_ids)

    async def erase(self, partition: Partition) -> None:
        self._check()
        await self._real.erase(partition)

    async def close(self) -> None:
        await self._real.close()


def switched(stack: Stack) -> Switched:
    store = Switched(stack.accesses)
    stack.usages._store = store
    return store


def count(stack: Stack, memory_id: str, partition: Partition = WHO) -> int:
    return stack.usages.of(partition, memory_id).access_count


async def test_what_a_recall_returns_is_counted_and_dated(stack: Stack) -> None:
    tea, chess = stored(await stack.remember(ANN, "drinks green tea", "plays chess"))
    assert stack.usages.of(WHO, tea.id) == NO_USAGE
    await stack.recall(ANN, "green tea", max_hits=1)
    stack.clock.time += 7
    await stack.recall(ANN, "green tea", max_hits=1)
    usage = stack.usages.of(WHO, tea.id)
    assert (usage.access_count, usage.last_access) == (2, stack.clock.time)
    assert stack.usages.of(WHO, chess.id) == NO_USAGE


async def test_a_stream_counts_its_answer_once(stack: Stack) -> None:
    (tea,) = stored(await stack.remember(ANN, "drinks green tea"))
    events = [event async for event in stack.recalling.stream(Question(ANN, "green tea"))]
    assert isinstance(events[-1], Recalled)
    assert count(stack, tea.id) == 1


async def test_getting_a_memory_by_name_is_no_recall(stack: Stack) -> None:
    (tea,) = stored(await stack.remember(ANN, "drinks green tea"))
    await stack.memories.get(WHO, tea.id)
    assert stack.usages.of(WHO, tea.id) == NO_USAGE


async def test_a_recall_writes_nothing_and_leaves_the_ledger_alone(stack: Stack) -> None:
    await stack.remember(ANN, "drinks green tea")
    store, appends = switched(stack), len(stack.ledger.appends)
    store.failing = True
    for _ in range(3):
        await stack.recall(ANN, "green tea")
    assert not store.adding.is_set()
    assert len(stack.ledger.appends) == appends


async def test_each_partition_has_its_own_counts(stack: Stack) -> None:
    (mine,) = stored(await stack.remember(ANN, "drinks green tea"))
    (hers,) = stored(await stack.remember(BEN, "drinks green tea"))
    (shared,) = stored(await stack.remember(TEAM, "green tea is in the kitchen"))
    await stack.recall(ANN, "green tea", include_shared=True)
    await stack.recall(ANN, "green tea")
    assert (count(stack, mine.id), count(stack, shared.id, TEAM.partition)) == (2, 1)
    assert count(stack, hers.id, BEN.partition) == 0


async def test_counts_survive_a_restart_and_a_change_of_the_text(stack: Stack) -> None:
    (tea,) = stored(await stack.remember(ANN, "drinks green tea"))
    await stack.recall(ANN, "green tea")
    await stack.memories.update(WHO, tea.id, Patch({"statement": "drinks black tea"}), Request())
    assert count(stack, tea.id) == 1
    again = await stack.again()
    await again.recall(ANN, "black tea")
    assert count(again, tea.id) == 2
    # A snapshot holds none of them: they would be counted twice.
    assert await again.hydration.save((await again.residency.get(WHO)).resident)
    third = await again.again()
    await third.residency.get(WHO)
    assert count(third, tea.id) == 2
    await third.close()


@pytest.fixture
async def small(tmp_path: Path) -> AsyncIterator[Stack]:
    """Keeps one partition in memory."""
    directory = tmp_path / "small"
    directory.mkdir()
    opened = await Stack.open(directory, HashEmbedder(), max_bytes=1)
    yield opened
    await opened.close()


@pytest.mark.parametrize("flushed", [False, True])
async def test_counts_survive_leaving_memory(small: Stack, flushed: bool) -> None:
    (tea,) = stored(await small.remember(ANN, "drinks green tea"))
    await small.recall(ANN, "green tea")
    if flushed:
        await small.usages.flush()
    await small.remember(BEN, "plays chess")

    async def left() -> bool:
        return small.residency.peek(WHO) is None

    await until(left)
    await small.recall(ANN, "green tea")
    assert count(small, tea.id) == 2


async def test_a_partition_loaded_during_a_flush_counts_nothing_twice(small: Stack) -> None:
    (tea,) = stored(await small.remember(ANN, "drinks green tea"))
    await small.recall(ANN, "green tea")
    store = switched(small)
    store.gate.clear()
    flush = asyncio.create_task(small.usages.flush())
    await store.adding.wait()
    loaded, _ = await small.hydration(WHO)
    loading = asyncio.create_task(small.usages.fill(loaded))
    await asyncio.sleep(0)
    assert not loading.done()
    store.gate.set()
    await asyncio.gather(flush, loading)
    assert loaded.columns.usage(loaded.lookup.rows[tea.id]).access_count == 1
    assert (await small.accesses.load(WHO))[tea.id].times == 1
    await loaded.vectors.close()


async def test_a_store_that_fails_delays_the_counts_and_loses_none(stack: Stack) -> None:
    (tea,) = stored(await stack.remember(ANN, "drinks green tea"))
    store = switched(stack)
    store.failing = True
    await stack.recall(ANN, "green tea")
    await stack.usages.flush()
    await stack.recall(ANN, "green tea")
    store.failing = False
    await stack.usages.flush()
    await stack.usages.flush()
    assert (await stack.accesses.load(WHO))[tea.id].times == 2


async def test_a_recall_during_a_flush_is_kept_for_the_next(stack: Stack) -> None:
    (tea,) = stored(await stack.remember(ANN, "drinks green tea"))
    store = switched(stack)
    await stack.recall(ANN, "green tea")
    store.gate.clear()
    flush = asyncio.create_task(stack.usages.flush())
    await store.adding.wait()
    await stack.recall(ANN, "green tea")
    store.gate.set()
    await flush
    assert (await stack.accesses.load(WHO))[tea.id].times == 1
    await stack.usages.flush()
    assert (await stack.accesses.load(WHO))[tea.id].times == 2


async def test_unwritten_counts_are_bounded(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_UNWRITTEN", 2)
    await stack.remember(ANN, *(f"tea number {n}" for n in range(5)))
    await stack.recall(ANN, "tea")
    await stack.recall(ANN, "tea")
    await stack.usages.flush()
    stored_counts = await stack.accesses.load(WHO)
    assert [access.times for access in stored_counts.values()] == [2, 2]


async def test_a_purge_erases_the_counts_wherever_they_are(stack: Stack) -> None:
    tea, chess = stored(await stack.remember(ANN, "drinks green tea", "plays chess"))
    await stack.recall(ANN, "green tea and chess")
    await stack.usages.flush()
    await stack.recall(ANN, "green tea and chess")
    await stack.memories.delete(WHO, tea.id, "", True, "", Request())
    await stack.usages.flush()
    assert (await stack.accesses.load(WHO)).keys() == {chess.id}
    assert stack.usages.of(WHO, tea.id) == NO_USAGE


async def test_a_purge_during_a_flush_waits_for_it(stack: Stack) -> None:
    (tea,) = stored(await stack.remember(ANN, "drinks green tea"))
    store = switched(stack)
    await stack.recall(ANN, "green tea")
    store.gate.clear()
    flush = asyncio.create_task(stack.usages.flush())
    await store.adding.wait()
    purge = asyncio.create_task(stack.memories.delete(WHO, tea.id, "", True, "", Request()))
    store.gate.set()
    await asyncio.gather(flush, purge)
    assert await stack.accesses.load(WHO) == {}


async def test_counts_of_memories_that_are_not_there_go_when_the_partition_is_loaded(stack: Stack) -> None:
    """As after a kill between a purge and its counts."""
    await stack.accesses.add({WHO: {"gone": Access(3, 3)}})
    await stack.remember(ANN, "drinks green tea")
    assert await stack.accesses.load(WHO) == {}


async def test_a_purge_is_answered_although_the_counts_cannot_be_erased(stack: Stack) -> None:
    (tea,) = stored(await stack.remember(ANN, "drinks green tea"))
    switched(stack).failing = True
    written = await stack.memories.delete(WHO, tea.id, "", True, "", Request())
    assert written.memory is None


async def test_a_partition_is_loaded_although_its_counts_cannot_be_read(stack: Stack) -> None:
    store = switched(stack)
    store.failing = True
    (tea,) = stored(await stack.remember(ANN, "drinks green tea"))
    await stack.recall(ANN, "green tea")
    assert count(stack, tea.id) == 1


async def test_an_erased_partition_has_no_counts(stack: Stack) -> None:
    (tea,) = stored(await stack.remember(ANN, "drinks green tea"))
    await stack.recall(ANN, "green tea")
    await stack.usages.flush()
    await stack.recall(ANN, "green tea")
    await stack.usages.erase(WHO)
    await stack.usages.flush()
    assert await stack.accesses.load(WHO) == {}
    assert stack.usages.of(WHO, tea.id) == NO_USAGE


async def test_counts_are_written_now_and_then_and_on_the_way_out(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FLUSH_EVERY", 0.001)
    (tea,) = stored(await stack.remember(ANN, "drinks green tea"))
    stack.usages.start()
    await stack.recall(ANN, "green tea")

    async def written() -> bool:
        return bool(await stack.accesses.load(WHO))

    await until(written)
    await stack.recall(ANN, "green tea")
    again = await stack.again()
    await again.residency.get(WHO)
    assert count(again, tea.id) == 2
    await again.close()
