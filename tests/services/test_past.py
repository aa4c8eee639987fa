from __future__ import annotations

import asyncio

from memsidecar.domain.draft import Patch, Request
from memsidecar.services.past import KEPT, Past
from tests.services.stack import ANN, BEN, Stack, stored

WHO = ANN.partition
DAY = 24 * 3600 * 1_000_000


def past(stack: Stack) -> Past:
    return Past(stack.ledger, stack.codec, stack.indexes, stack.space, 1 << 40)


async def test_later_memories_are_not_known_yet(stack: Stack) -> None:
    await stack.remember(ANN, "tea")
    then = stack.clock.now()
    stack.clock.time += DAY
    await stack.remember(ANN, "coffee")
    view = await past(stack).view(WHO, then, stack.clock.now())
    assert [view.records.get(row).text for row in range(view.rows)] == ["tea"]
    assert view.vectors.size == 1
    assert view.head.revision == 1


async def test_before_the_first_memory_nothing_is_known(stack: Stack) -> None:
    then = stack.clock.now()
    stack.clock.time += DAY
    await stack.remember(ANN, "tea")
    assert (await past(stack).view(WHO, then, stack.clock.now())).rows == 0


async def test_a_text_that_was_changed_later_has_its_old_words_and_no_vector_of_the_new(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "tea in the morning"))
    then = stack.clock.now()
    stack.clock.time += DAY
    await stack.memories.update(ANN.partition, memory.id, Patch({"statement": "coffee in the morning"}), Request())
    view = await past(stack).view(WHO, then, stack.clock.now())
    found = view.memory(memory.id)
    assert found is not None
    assert found.text == "tea in the morning"
    assert not view.has_vectors(memory.id)


async def test_a_purged_memory_is_not_known_in_the_past_either(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "a secret"))
    then = stack.clock.now()
    stack.clock.time += DAY
    reader = past(stack)
    assert (await reader.view(WHO, then, stack.clock.now())).rows == 1
    await stack.memories.delete(ANN.partition, memory.id, "", True, "", Request())
    reader.follow(WHO, stack.published)
    view = await reader.view(WHO, then, stack.clock.now())
    assert view.memory(memory.id) is None


async def test_one_moment_is_read_once_however_many_ask(stack: Stack) -> None:
    await stack.remember(ANN, "tea")
    then = stack.clock.now()
    stack.clock.time += DAY
    reader = past(stack)
    first, second = await asyncio.gather(*(reader.view(WHO, then, stack.clock.now()) for _ in range(2)))
    assert first is second


async def test_a_moment_that_has_not_passed_is_read_again(stack: Stack) -> None:
    await stack.remember(ANN, "tea")
    reader = past(stack)
    now = stack.clock.now()
    assert (await reader.view(WHO, now, now)).rows == 1
    await stack.remember(ANN, "coffee")
    assert (await reader.view(WHO, now, now)).rows == 2


async def test_few_moments_are_kept(stack: Stack) -> None:
    await stack.remember(ANN, "tea")
    await stack.remember(BEN, "milk")
    stack.clock.time += DAY
    now = stack.clock.now()
    reader = past(stack)
    views = [await reader.view(WHO, now - 1 - n, now) for n in range(KEPT + 1)]
    assert await reader.view(WHO, now - 1, now) is not views[0]
    assert await reader.view(WHO, now - 1 - KEPT, now) is views[KEPT]


async def test_what_is_kept_is_bounded_by_bytes(stack: Stack) -> None:
    await stack.remember(ANN, "tea")
    stack.clock.time += DAY
    now = stack.clock.now()
    reader = Past(stack.ledger, stack.codec, stack.indexes, stack.space, 1)
    older = await reader.view(WHO, now - 2, now)
    newer = await reader.view(WHO, now - 1, now)
    assert await reader.view(WHO, now - 1, now) is newer
    assert await reader.view(WHO, now - 2, now) is not older


async def test_what_is_being_read_ends_with_the_process(stack: Stack) -> None:
    """Also when nobody waits for it any more, and it is not to be kept."""
    await stack.remember(ANN, "tea")
    reader, now = past(stack), stack.clock.now()
    asking = asyncio.create_task(reader.view(WHO, now, now))
    await asyncio.sleep(0)
    asking.cancel()
    await reader.close()
    assert [task for task in asyncio.all_tasks() if task.get_name() == "past" and not task.done()] == []


async def test_users_do_not_meet_in_the_past(stack: Stack) -> None:
    await stack.remember(ANN, "tea")
    await stack.remember(BEN, "milk")
    then = stack.clock.now()
    stack.clock.time += DAY
    view = await past(stack).view(BEN.partition, then, stack.clock.now())
    assert [view.records.get(row).text for row in range(view.rows)] == ["milk"]
