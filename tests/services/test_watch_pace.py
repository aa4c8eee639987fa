"""A watcher is told everything however slowly it reads and whatever happens meanwhile, at a bounded cost."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest

from memsidecar.domain.errors import Draining, LedgerDamaged, RevisionUnknown
from memsidecar.domain.recall import NO_FILTER, Filter
from memsidecar.services import tail as tail_module
from memsidecar.services import watch as watch_module
from memsidecar.services.watch import Alive, Behind
from memsidecar.services.writing import PartitionWriter
from tests.services.stack import ANN, BEN, Stack
from tests.services.watching import SOON, WHO, head, tail_of, watching


async def test_a_slow_watcher_is_told_and_then_reads_everything_in_order(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_module, "MOST_ENTRIES", 8)
    async with watching(stack) as slow, watching(stack) as quick:
        for n in range(50):
            await stack.remember(ANN, f"number {n}")
            assert await quick.changes(1) == [("CREATED", f"number {n}")]
        assert len(tail_of(stack)._held) == 8
        event = await slow.next()
        assert event == Behind(50, slow.seen[0].revision)
        assert await slow.changes(50) == [("CREATED", f"number {n}") for n in range(50)]
        assert await slow.next() == Alive(True, await head(stack))
        assert not any(isinstance(e, Behind) for e in quick.seen)


async def test_watchers_that_never_read_cost_the_same_however_much_is_written(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_module, "MOST_BYTES", 50_000)
    watchers = [stack.watch(ANN, NO_FILTER, None) for _ in range(100)]
    for events in watchers:
        await anext(events)
    for n in range(30):
        await stack.remember(ANN, *(f"{n} {m} " + "long text " * 200 for m in range(10)))
        assert tail_of(stack).nbytes <= 50_000
    assert len(stack.watch._tails) == 1
    assert sum(len(reader.page) for reader in tail_of(stack)._readers) == 0
    for events in watchers:
        await events.aclose()
    assert not stack.watch._tails
    assert WHO not in stack.changes._listeners


async def test_a_change_too_large_to_be_held_is_told(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_module, "MOST_BYTES", 5_000)
    async with watching(stack) as watcher:
        await stack.remember(ANN, "x" * 10_000)
        assert await watcher.changes(1) == [("CREATED", "x" * 10_000)]


async def test_long_memories_are_read_few_at_a_time(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "PAGE_BYTES", 30_000)
    texts = [f"{n} " + "x" * 12_000 for n in range(40)]
    await stack.remember(ANN, *texts)
    async with watching(stack, after=0) as watcher:
        for n, text in enumerate(texts):
            assert await watcher.changes(1) == [("CREATED", text)], n
            assert all(len(reader.page) <= 2 for reader in tail_of(stack)._readers)


async def test_a_commit_that_could_not_be_applied_is_told_all_the_same(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stack.remember(ANN, "one")

    async def fails(*_: object) -> None:
        raise RuntimeError("cannot be applied")

    async with watching(stack, watch=stack.watch_with(SOON)) as watcher:
        with monkeypatch.context() as patched:
            patched.setattr(PartitionWriter, "_apply", fails)
            await stack.remember(ANN, "two")
        assert await watcher.until(await head(stack)) == [("CREATED", "two")]
        await stack.remember(ANN, "three")
        assert await watcher.until(await head(stack)) == [("CREATED", "three")]
        assert not any(isinstance(e, Behind) for e in watcher.seen)


async def test_what_is_told_is_found_by_a_recall_at_that_revision(stack: Stack) -> None:
    async def write() -> None:
        for n in range(40):
            await stack.remember(ANN, f"number {n}")

    writing = asyncio.create_task(write())
    async with watching(stack, after=0) as watcher:
        for _ in range(40):
            await watcher.changes(1)
            await stack.recall(ANN, "number", min_revision=watcher.seen[-1].revision)
    await writing


async def test_a_revision_that_the_store_has_not_reached_is_refused(stack: Stack) -> None:
    await stack.remember(ANN, "one")
    for after in (await head(stack) + 1, 2**63):
        with pytest.raises(RevisionUnknown, match="after"):
            await anext(stack.watch(ANN, NO_FILTER, after))
    assert not stack.watch._tails


async def test_damage_ends_the_watch_after_everything_before_it(stack: Stack) -> None:
    await stack.remember(ANN, *(f"number {n}" for n in range(10)))
    again = await stack.again()
    with closing(sqlite3.connect(stack.directory / "ledger.db")) as connection, connection:
        connection.execute("UPDATE event SET payload = zeroblob(length(payload)) WHERE revision = 6")
    async with watching(again, after=0) as watcher:
        assert await watcher.changes(5) == [("CREATED", f"number {n}") for n in range(5)]
        with pytest.raises(LedgerDamaged):
            await watcher.next()
    await again.close()


@pytest.mark.parametrize("after", [None, 0])
async def test_a_drain_ends_every_watch_at_once(stack: Stack, after: int | None) -> None:
    await stack.remember(ANN, *(f"number {n}" for n in range(200)))
    async with watching(stack, after=after) as watcher, watching(stack, BEN) as idle:
        waiting = asyncio.create_task(idle.next())
        await asyncio.sleep(0)
        stack.watch.drain()
        for ending in (watcher.next(), waiting):
            with pytest.raises(Draining):
                await ending
    assert not stack.watch._tails


async def test_a_watcher_that_goes_away_while_it_waits_leaves_nothing(stack: Stack) -> None:
    async with watching(stack) as stays:
        async with watching(stack) as goes:
            waiting = asyncio.create_task(goes.next())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
        await stack.remember(ANN, "one")
        assert await stays.changes(1) == [("CREATED", "one")]
        assert len(tail_of(stack)._readers) == 1
    assert WHO not in stack.changes._listeners


async def test_a_watcher_of_much_history_leaves_others_their_turns(stack: Stack) -> None:
    """Nothing of it is wanted, so that it never waits for its reader."""
    await stack.remember(ANN, *(f"number {n}" for n in range(2_000)))
    turns, stop = 0, asyncio.Event()

    async def others() -> None:
        nonlocal turns
        while not stop.is_set():
            await asyncio.sleep(0)
            turns += 1

    taking_turns = asyncio.create_task(others())
    async with watching(stack, wanted=Filter(labels={"a": "b"}), after=0) as watcher:
        assert await watcher.next() == Alive(True, await head(stack))
    stop.set()
    await taking_turns
    assert turns > 2_000 / watch_module.PAGE
