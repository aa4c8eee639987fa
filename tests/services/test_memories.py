from __future__ import annotations

import asyncio

import pytest

from memsidecar.domain.draft import Draft, Patch, Request
from memsidecar.domain.errors import AlreadyExists, EtagMismatch, InvalidField, NotFound
from memsidecar.domain.events import MemoryPurged
from memsidecar.domain.memory import Fact, State
from memsidecar.domain.recall import Filter, Tier
from memsidecar.domain.tokens import token_counts
from tests.services.stack import ANN, BEN, Stack, stored, writing

WHO = ANN.partition
NO = Request()
WORDS = frozenset({Tier.KEYWORD})


async def all_pages(stack: Stack, newest_first: bool, limit: int, between: object = None) -> list[str]:
    found: list[str] = []
    after: int | None = None
    while True:
        page = await stack.memories.list(ANN, Filter(), newest_first, after, limit)
        assert len(page.memories) <= limit
        found += [memory.id for memory in page.memories]
        if page.next is None:
            return found
        after = page.next
        if between is not None:
            await between()  # type: ignore[operator]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("limit", [1, 7, 20, 21])
async def test_a_list_gives_each_once_in_order(stack: Stack, newest_first: bool, limit: int) -> None:
    ids = [m.id for m in stored(await stack.remember(ANN, *(f"number {n}" for n in range(20))))]
    assert await all_pages(stack, newest_first, limit) == (ids[::-1] if newest_first else ids)


@pytest.mark.parametrize("newest_first", [False, True])
async def test_a_list_gives_each_once_while_others_write(stack: Stack, newest_first: bool) -> None:
    ids = [m.id for m in stored(await stack.remember(ANN, *(f"number {n}" for n in range(40))))]
    touched = iter(ids)

    async def between() -> None:
        which = next(touched)
        await stack.memories.update(WHO, which, Patch({"statement": f"changed {which}"}), NO)
        await stack.remember(ANN, f"new beside {which}")
        if int(which[1:]) % 3 == 0:
            await stack.memories.delete(WHO, which, "", False, "", NO)

    found = await all_pages(stack, newest_first, 5, between)
    assert len(found) == len(set(found))
    assert set(found) >= {i for i in ids if int(i[1:]) > 20}


async def test_a_list_goes_on_after_a_purge_and_a_restart(stack: Stack) -> None:
    ids = [m.id for m in stored(await stack.remember(ANN, *(f"number {n}" for n in range(20))))]
    page = await stack.memories.list(ANN, Filter(), False, None, 10)
    for which in ids[:4]:
        await stack.memories.delete(WHO, which, "", True, "", NO)
    again = await stack.again()
    rest = await again.memories.list(ANN, Filter(), False, page.next, 100)
    assert [m.id for m in rest.memories] == ids[10:]
    await again.close()


async def test_a_memory_is_expired_once_its_time_has_come(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, Draft(Fact("soon gone"), expires_at=stack.clock.time + 10)))
    stack.clock.time += 9
    assert await stack.texts(ANN) == ["soon gone"]
    stack.clock.time += 1
    assert await stack.texts(ANN) == []
    assert not (await stack.recall(ANN, "soon gone")).hits
    assert (await stack.memories.get(WHO, memory.id)).state is State.EXPIRED
    page = await stack.memories.list(ANN, Filter(states=frozenset({State.EXPIRED})), False, None, 5)
    assert [m.state for m in page.memories] == [State.EXPIRED]


async def test_a_new_text_is_found_and_the_old_one_is_not(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "Ann drinks oolong in Lisbon"))
    written = await stack.memories.update(WHO, memory.id, Patch({"statement": "She plays the violin"}), NO)
    assert written.memory is not None
    assert written.memory.version == 2
    assert not (await stack.recall(ANN, "oolong", tiers=WORDS)).hits
    assert [h.memory.version for h in (await stack.recall(ANN, "violin", tiers=WORDS)).hits] == [2]
    near = await stack.recall(ANN, "She plays the violin", tiers=frozenset({Tier.VECTOR}), explain=True)
    assert near.hits[0].components[0].raw == pytest.approx(1.0, abs=1e-3)


async def test_labels_alone_keep_the_vectors(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "drinks tea"))
    assert stack.embedder is not None
    stack.embedder.calls.clear()
    await stack.memories.update(WHO, memory.id, Patch({"labels": {"a": "b"}, "expires_at": None}), NO)
    assert stack.embedder.calls == []
    resident = (await stack.residency.get(WHO)).resident
    assert resident.has_vectors(memory.id)
    assert (resident.vectors.size, resident.rows) == (1, 1)


async def test_two_changes_of_one_text_at_once_keep_text_and_vectors_together(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, Draft(Fact("start", predicate="p"))))
    await asyncio.gather(
        *(stack.memories.update(WHO, memory.id, Patch({"statement": f"text {n} and more"}), NO) for n in range(8)),
        *(stack.memories.update(WHO, memory.id, Patch({"labels": {"n": str(n)}}), NO) for n in range(8)),
    )
    now = await stack.memories.get(WHO, memory.id)
    assert now.version == 17
    assert stack.embedder is not None
    vector = (await stack.embedder.embed([now.text]))[0]
    (kept,) = await stack.real_ledger.vectors(WHO, stack.space.model)
    assert float(kept.rows[0] @ vector) == pytest.approx(1.0, abs=1e-5)
    assert (await stack.residency.get(WHO)).resident.keywords.terms_by_row().keys() == {
        (await stack.residency.get(WHO)).resident.lookup.rows[memory.id]
    }


async def test_what_is_deleted_is_out_of_recall_and_list_at_once_and_comes_back(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "drinks tea"))
    await stack.memories.delete(WHO, memory.id, memory_etag(memory.version), False, "why", NO)
    assert not (await stack.recall(ANN, "drinks tea")).hits
    assert await stack.texts(ANN) == []
    assert (await stack.memories.get(WHO, memory.id)).state is State.DELETED
    await stack.memories.undelete(WHO, memory.id, NO)
    assert [h.memory.text for h in (await stack.recall(ANN, "drinks tea")).hits] == ["drinks tea"]
    with pytest.raises(EtagMismatch):
        await stack.memories.delete(WHO, memory.id, "1", False, "", NO)


async def test_a_purge_leaves_nothing_but_that_it_happened(stack: Stack) -> None:
    (memory, _) = stored(await stack.remember(ANN, "xylophone secret", "kept"))
    assert await stack.hydration.save((await stack.residency.get(WHO)).resident)
    await stack.memories.delete(WHO, memory.id, "", True, "asked to", NO)
    assert not (await stack.recall(ANN, "xylophone secret", max_hits=1, tiers=WORDS)).hits
    assert await stack.texts(ANN) == ["kept"]
    with pytest.raises(NotFound):
        await stack.memories.get(WHO, memory.id)
    history = await stack.memories.history(WHO, memory.id, None, 10)
    assert [type(entry.event) for entry in history] == [MemoryPurged, type(None)]
    assert await stack.snapshots.load(WHO) is None
    await stack.close()
    for path in stack.directory.rglob("*"):
        assert not path.is_file() or b"xylophon" not in path.read_bytes(), path
    again = await Stack.open(stack.directory, stack.embedder)
    assert await again.texts(ANN) == ["kept"]
    assert await again.hydration.save((await again.residency.get(WHO)).resident)
    await again.close()
    for path in stack.directory.rglob("*"):
        assert not path.is_file() or b"xylophon" not in path.read_bytes(), path


async def test_a_purge_whose_caller_goes_away_still_drops_the_snapshot(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "secret"))
    assert await stack.hydration.save((await stack.residency.get(WHO)).resident)
    stack.ledger.gate.clear()
    purging = asyncio.create_task(stack.memories.delete(WHO, memory.id, "", True, "", NO))
    await writing(stack, WHO)
    purging.cancel()
    await asyncio.wait([purging])
    stack.ledger.gate.set()
    await stack.residency._loaded[WHO].writer.finish()
    assert await stack.snapshots.load(WHO) is None


async def test_an_id_is_taken_once(stack: Stack) -> None:
    await stack.memories.create(WHO, Draft(Fact("one")), "mine", NO)
    with pytest.raises(AlreadyExists):
        await stack.memories.create(WHO, Draft(Fact("two")), "mine", NO)
    await stack.memories.create(BEN.partition, Draft(Fact("two")), "mine", NO)
    for bad in ("a/b", "a b", "ü", "x" * 129):
        with pytest.raises(InvalidField):
            await stack.memories.create(WHO, Draft(Fact("three")), bad, NO)


async def test_a_repeated_create_after_its_purge_has_no_memory_to_give(stack: Stack) -> None:
    request = Request("r", b"d")
    await stack.memories.create(WHO, Draft(Fact("one")), "mine", request)
    await stack.memories.delete(WHO, "mine", "", True, "", NO)
    with pytest.raises(NotFound):
        await stack.memories.create(WHO, Draft(Fact("one")), "mine", request)


async def test_many_are_given_in_order_or_the_first_missing_is_named(stack: Stack) -> None:
    one, two = stored(await stack.remember(ANN, "one", "two"))
    names = [(WHO, two.id), (WHO, one.id), (WHO, two.id)]
    assert [m.text for m in await stack.memories.get_many(names)] == ["two", "one", "two"]
    with pytest.raises(NotFound, match="gone1"):
        await stack.memories.get_many([(WHO, one.id), (WHO, "gone1"), (WHO, "gone2")])


async def test_history_is_paged_newest_first(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "v1"))
    for number in range(2, 8):
        await stack.memories.update(WHO, memory.id, Patch({"statement": f"v{number}"}), NO)
    first = await stack.memories.history(WHO, memory.id, None, 4)
    second = await stack.memories.history(WHO, memory.id, first[-1].revision, 4)
    assert [e.revision for e in (*first, *second)] == [7, 6, 5, 4, 3, 2, 1]
    assert await stack.memories.history(WHO, memory.id, second[-1].revision, 4) == []
    with pytest.raises(NotFound):
        await stack.memories.history(WHO, "never", None, 4)


async def test_a_change_of_what_does_not_exist_is_refused(stack: Stack) -> None:
    with pytest.raises(NotFound):
        await stack.memories.update(WHO, "never", Patch({"statement": "x"}), NO)
    with pytest.raises(NotFound):
        await stack.memories.undelete(WHO, "never", NO)
    with pytest.raises(NotFound):
        await stack.memories.delete(WHO, "never", "", True, "", NO)


def memory_etag(version: int) -> str:
    return str(version)


@pytest.mark.parametrize("newest_first", [False, True])
async def test_a_page_of_long_texts_ends_early_and_the_list_goes_on(stack: Stack, newest_first: bool) -> None:
    told = [Draft(Fact(f"{n} " + "x" * 400_000)) for n in range(8)]
    ids = [m.id for m in stored(await stack.remember(ANN, *told, *(f"number {n}" for n in range(100))))]
    page = await stack.memories.list(ANN, Filter(), False, None, 1_000)
    assert len(page.memories) < 8
    assert page.next is not None
    assert await all_pages(stack, newest_first, 1_000) == (ids[::-1] if newest_first else ids)


async def test_a_long_text_changed_twice_and_purged_in_one_turn_leaves_no_words(stack: Stack) -> None:
    """Whatever waits is written in one transaction: the terms that go are those of the version before."""
    first, second, third = (f"{word} " + f"{word}lier " * 2_000 for word in ("ear", "midd", "late"))
    (memory,) = stored(await stack.remember(ANN, Draft(Fact(first))))
    changes = [stack.memories.update(WHO, memory.id, Patch({"statement": text}), NO) for text in (second, third)]
    await asyncio.gather(*changes)
    resident = await stack.residency.view(WHO)
    (row,) = resident.lookup.rows.values()
    assert set(resident.keywords.terms_by_row()[row]) == set(token_counts(resident.records.get(row).text))
    await stack.memories.delete(WHO, memory.id, "", True, "", NO)
    assert (await stack.residency.view(WHO)).keywords.terms_by_row() == {}
