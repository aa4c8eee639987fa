from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from memsidecar.domain.draft import Draft, Patch, Request
from memsidecar.domain.errors import ModelUnavailable, SidecarError, StoreFull
from memsidecar.domain.memory import Fact, Kind
from memsidecar.domain.recall import Filter
from memsidecar.domain.scope import Scope
from memsidecar.services import residency as module
from memsidecar.services.resident import Resident
from memsidecar.services.writing import Retired
from tests.doubles.hash_embedder import HashEmbedder
from tests.services.stack import ANN, BEN, Stack, said, stored, writing

WHO = ANN.partition


def users(count: int) -> list[Scope]:
    return [Scope("acme", f"user {n}") for n in range(count)]


async def evictions(stack: Stack) -> None:
    while stack.residency._evicting:
        await asyncio.wait(stack.residency._evicting)


async def evict(stack: Stack, scope: Scope) -> None:
    """As when memory is short and the partition was not used for longest."""
    loaded = stack.residency.peek(scope.partition)
    assert loaded is not None
    loaded.leaving = True
    await stack.residency._unload(loaded)
    assert stack.residency.peek(scope.partition) is None


async def test_the_least_recently_used_leave_when_bytes_run_out(tmp_path: Path, embedder: HashEmbedder) -> None:
    stack = await Stack.open(tmp_path, embedder, max_bytes=300_000)
    names = users(8)
    for scope in names:
        await stack.remember(scope, f"likes {scope.user}")
        await stack.residency.get(names[0].partition)
    await evictions(stack)
    assert stack.residency.peek(names[0].partition) is not None
    assert stack.residency.peek(names[7].partition) is not None
    assert stack.residency.peek(names[1].partition) is None
    assert stack.residency.nbytes <= 300_000
    assert stack.residency.count < 8
    counts = stack.residency.counts
    assert (counts.misses, counts.evictions, sum(counts.loads.counts)) == (8, 8 - stack.residency.count, 8)
    assert counts.hits >= 8
    assert len(stack.residency.loaded) == stack.residency.count
    for scope in names:
        assert await stack.texts(scope) == [f"likes {scope.user}"]
    await stack.close()


async def test_a_partition_with_pending_writes_stays(tmp_path: Path, embedder: HashEmbedder) -> None:
    stack = await Stack.open(tmp_path, embedder, max_bytes=1)
    await stack.residency.get(WHO)
    stack.ledger.gate.clear()
    pending = asyncio.create_task(stack.remember(ANN, "pending"))
    await writing(stack, WHO)
    await stack.residency.get(BEN.partition)
    await evictions(stack)
    assert stack.residency.peek(WHO) is not None
    stack.ledger.gate.set()
    await pending
    await stack.close()


async def test_who_held_a_partition_that_left_writes_to_the_one_that_came(stack: Stack) -> None:
    await stack.remember(ANN, "one")
    held = await stack.residency.get(WHO)
    await evict(stack, ANN)
    await stack.remember(ANN, "two")
    with pytest.raises(Retired):
        await held.writer.submit(lambda _: [], Request())
    assert await stack.texts(ANN) == ["one", "two"]


async def test_an_update_outlives_an_eviction(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    (memory,) = stored(await stack.remember(ANN, "drinks tea"))
    real = stack.preparing.read

    async def read(body: Fact, agent: str) -> object:
        if stack.residency.peek(WHO) is not None:
            await evict(stack, ANN)
            await stack.remember(ANN, "somebody else writes")
        return await real(body, agent)

    monkeypatch.setattr(stack.preparing, "read", read)
    await stack.memories.update(
        WHO, memory.id, Patch({"statement": "drinks coffee"}, kind=Kind.FACT), Request("r", b"d")
    )
    monkeypatch.undo()
    assert await stack.texts(ANN) == ["drinks coffee", "somebody else writes"]


async def test_a_recall_that_holds_a_partition_is_answered_when_it_leaves(stack: Stack) -> None:
    await stack.remember(ANN, "one")
    assert stack.embedder is not None
    real, asked = stack.embedder.embed, asyncio.Event()
    go = asyncio.Event()

    async def slow(texts: list[str]) -> object:
        asked.set()
        await go.wait()
        return await real(texts)

    stack.embedder.embed = slow  # type: ignore[method-assign, assignment]
    recalling = asyncio.create_task(stack.recall(ANN, "one"))
    await asked.wait()
    await evict(stack, ANN)
    go.set()
    assert [hit.memory.text for hit in (await recalling).hits] == ["one"]


async def test_coming_back_to_a_leaving_partition_keeps_it(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    await stack.remember(ANN, "one")
    loaded = await stack.residency.get(WHO)
    loaded.unsaved, loaded.leaving = module.SNAPSHOT_AT_EXIT, True
    real, saving, go = stack.hydration.save, asyncio.Event(), asyncio.Event()

    async def save(resident: Resident) -> bool:
        saving.set()
        await go.wait()
        return await real(resident)

    monkeypatch.setattr(stack.hydration, "save", save)
    leaving = asyncio.create_task(stack.residency._unload(loaded))
    await saving.wait()
    assert await stack.residency.get(WHO) is loaded
    go.set()
    await leaving
    assert await stack.residency.get(WHO) is loaded
    await stack.remember(ANN, "two")
    assert await stack.texts(ANN) == ["one", "two"]


async def test_many_who_ask_at_once_load_once_and_the_first_may_be_cancelled(stack: Stack) -> None:
    await stack.remember(ANN, "one")
    await evict(stack, ANN)
    before = stack.ledger.reads
    asking = [asyncio.create_task(stack.residency.get(WHO)) for _ in range(20)]
    await asyncio.sleep(0)
    asking[0].cancel()
    await asyncio.wait(asking)
    assert asking[0].cancelled()
    assert len({id(task.result()) for task in asking[1:]}) == 1
    assert stack.ledger.reads - before == 2  # a page, and the empty one that ends the ledger


async def test_a_load_that_fails_is_tried_again(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object) -> object:
        raise StoreFull("ledger")

    monkeypatch.setattr(stack.real_ledger, "read", fails)
    answers = await asyncio.gather(*(stack.residency.get(WHO) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(answer, StoreFull) for answer in answers)
    assert stack.residency.count == 0
    monkeypatch.undo()
    assert (await stack.residency.get(WHO)).resident.rows == 0


async def test_bytes_read_count_too(stack: Stack) -> None:
    await stack.remember(ANN, *(f"number {n}" for n in range(300)))
    await stack.residency.get(BEN.partition)
    before = stack.residency.nbytes
    loaded = await stack.residency.get(WHO)
    stack.residency._recount(loaded)
    assert stack.residency.nbytes == before
    await evict(stack, ANN)
    await evict(stack, BEN)
    assert stack.residency.nbytes == 0


async def test_what_one_commit_adds_to_a_large_partition_is_counted_with_the_next_ones(stack: Stack) -> None:
    await stack.remember(ANN, *(f"number {n}" for n in range(300)))
    loaded = await stack.residency.get(WHO)
    counted = stack.residency.nbytes
    await stack.remember(ANN, "one more")
    assert stack.residency.nbytes == counted
    for n in range(300 // 64 + 1):
        await stack.remember(ANN, f"another {n}")
    assert counted < stack.residency.nbytes
    assert abs(stack.residency.nbytes - loaded.resident.nbytes) < 0.05 * loaded.resident.nbytes


async def test_a_snapshot_that_fails_is_not_tried_with_every_commit(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SNAPSHOT_AFTER", 5)
    tries = 0

    async def full(_: Resident) -> bool:
        nonlocal tries
        tries += 1
        raise StoreFull("snapshots")

    monkeypatch.setattr(stack.hydration, "save", full)
    loaded = await stack.residency.get(WHO)
    loaded.save_at = 5
    for number in range(20):
        await stack.remember(ANN, f"number {number}")
        if loaded.tending is not None:
            await asyncio.wait([loaded.tending])
    assert 2 <= tries <= 4


async def test_memory_that_was_freed_goes_back_to_the_system_after_an_upkeep(stack: Stack) -> None:
    loaded = await stack.residency.get(WHO)
    await stack.remember(ANN, "a little")
    assert (loaded.tending, stack.given_back) == (None, 0)
    loaded.save_at = 2
    await stack.remember(ANN, "enough for a snapshot")
    assert loaded.tending is not None
    await asyncio.wait([loaded.tending])
    assert (loaded.unsaved, stack.given_back) == (0, 1)


async def test_closing_with_work_in_flight_writes_it(tmp_path: Path, embedder: HashEmbedder) -> None:
    stack = await Stack.open(tmp_path, embedder)
    await stack.residency.get(WHO)
    stack.ledger.gate.clear()
    pending = asyncio.create_task(stack.remember(ANN, "in flight"))
    loading = asyncio.create_task(stack.residency.get(BEN.partition))
    await writing(stack, WHO)
    closing = asyncio.create_task(stack.residency.close())
    await asyncio.sleep(0)
    stack.ledger.gate.set()
    await closing
    await asyncio.gather(pending, loading)
    assert stack.residency.count == 0
    assert (await stack.real_ledger.head(WHO)).revision == 1
    names = {task.get_name() for task in asyncio.all_tasks()}
    assert not names & {"partition-writer", "partition-upkeep", "eviction", "hydration"}
    await stack.close()


def state(resident: Resident, question: np.ndarray) -> object:
    """What a caller can see: memories with their place, what is due, names, words, and the nearest by meaning."""
    births = resident.columns["birth"]
    ids = {row: memory_id for memory_id, row in resident.lookup.rows.items()}
    order = sorted(resident.lookup.rows, key=lambda i: int(births[resident.lookup.rows[i]]))
    memories = [resident.memory(memory_id) for memory_id in order]
    rows, scores = resident.vectors.search(question, 1_000)
    near = sorted((round(float(score), 4), ids[row]) for row, score in zip(rows.tolist(), scores, strict=True))
    words = resident.keywords.terms_by_row()
    sessions = {s: resident.last_episode(s) for s in ("s", "t")}
    return (
        memories,
        sorted(resident.due),
        dict(resident.lookup.names()),
        dict(resident.speakers()),
        near,
        {i: words.get(row) for i, row in resident.lookup.rows.items()},
        sessions,
        resident.head.revision,
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("crossover", [20_000, 16])
async def test_what_is_loaded_again_is_what_left(
    tmp_path: Path, seed: int, crossover: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random histories with snapshots in the middle, the embedder coming and going, purges and changed texts."""
    monkeypatch.setattr(module, "SNAPSHOT_AT_EXIT", 1 if seed % 2 else 1_000_000)
    # A partition that leaves waits for its upkeep, and that until nobody has written for this long.
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.01)
    random = Random(seed)
    embedder = HashEmbedder()
    stack = await Stack.open(tmp_path, embedder, crossover)
    question = (await embedder.embed(["Ann likes number 7 in Paris"]))[0]
    known: list[str] = []

    async def change() -> None:
        embedder.failure = ModelUnavailable("hash") if random.random() < 0.3 else None
        which = random.choice(known) if known else ""
        number = random.randrange(40)
        actions: list[Callable[[], object]] = [
            lambda: stack.remember(ANN, f"Ann likes number {number}", Draft(Fact(f"Bob met Cleo in Paris {number}"))),
            lambda: stack.remember(ANN, said(f"I am {number}.", random.choice("st"), random.choice(["Ann", "Bob"]))),
            lambda: stack.memories.update(WHO, which, Patch({"statement": f"now {number}"}), Request()),
            lambda: stack.memories.update(WHO, which, Patch({"labels": {"n": str(number)}}), Request()),
            lambda: stack.memories.delete(WHO, which, "", random.random() < 0.4, "", Request()),
            lambda: stack.memories.undelete(WHO, which, Request()),
            lambda: stack.backlog._embed_some(WHO),
        ]
        try:
            await random.choice(actions)()  # type: ignore[misc]
        except (SidecarError, TypeError):
            return

    for _ in range(12):
        for _ in range(8):
            await change()
        known = [m.id for m in (await stack.memories.list(ANN, Filter(), False, None, 500)).memories] or [""]
        live = state((await stack.residency.get(WHO)).resident, question)
        await evict(stack, ANN)
        assert state((await stack.residency.get(WHO)).resident, question) == live
    await stack.close()
