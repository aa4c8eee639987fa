"""What was read from a memory goes with it when nothing else says it, and comes back with it."""

from __future__ import annotations

import pytest

from memsidecar.domain.draft import Draft, Outcome, Request
from memsidecar.domain.errors import NotFound
from memsidecar.domain.memory import Episode, Fact, Memory, Provenance, State
from memsidecar.services.remember import Remembered, Wait
from tests.services.stack import ANN, Stack

WHO = ANN.partition
NO = Request()
TEXT = "I'm allergic to zopiclone and I live in Quito."


@pytest.fixture
async def learning(stack: Stack) -> Stack:
    stack.learn()
    return stack


async def tell(stack: Stack, text: str, session: str = "s") -> Remembered:
    source = Provenance(session=session, messages=("m1",), speaker="Ann", time=stack.clock.time)
    draft = Draft(Episode(text, speaker="Ann", start_time=stack.clock.time), session=session, source=source)
    return await stack.remembering(ANN, [draft], Wait.SEARCHABLE, NO, extract=True)


def parts(answer: Remembered) -> tuple[Memory, list[Memory]]:
    """The turn and what was read from it."""
    (outcome,) = (each for each in answer.outcomes if isinstance(each, Outcome))
    return outcome.memory, [each.memory for each in outcome.extracted if isinstance(each, Outcome)]


async def states(stack: Stack, memories: list[Memory]) -> set[State]:
    return {(await stack.memories.get(WHO, memory.id)).state for memory in memories}


async def test_a_deletion_takes_what_was_read_from_the_text_alone(learning: Stack) -> None:
    turn, read = parts(await tell(learning, TEXT))
    assert len(read) >= 2
    named = [await learning.memories.get(WHO, each) for memory in read for each in memory.mentions]
    await learning.memories.delete(WHO, turn.id, "", False, "", NO)
    assert await states(learning, [*read, *named]) == {State.DELETED}
    assert await learning.texts(ANN) == []
    await learning.memories.undelete(WHO, turn.id, NO)
    assert await states(learning, [turn, *read, *named]) == {State.ACTIVE}


async def test_a_purge_leaves_no_word_of_what_was_read(learning: Stack) -> None:
    turn, read = parts(await tell(learning, TEXT))
    assert await learning.hydration.save((await learning.residency.get(WHO)).resident)
    await learning.memories.delete(WHO, turn.id, "", True, "asked to", NO)
    for memory in read:
        with pytest.raises(NotFound):
            await learning.memories.get(WHO, memory.id)
    assert await learning.texts(ANN) == []
    await learning.close()
    for path in learning.directory.rglob("*"):
        assert not path.is_file() or b"zopiclone" not in path.read_bytes(), path


async def test_what_another_memory_says_too_stays_until_that_goes(learning: Stack) -> None:
    first, read = parts(await tell(learning, "I live in Quito."))
    learning.clock.time += 1_000_000
    second, _ = parts(await tell(learning, "Well, I live in Quito.", session="t"))
    assert second.id != first.id
    await learning.memories.delete(WHO, first.id, "", True, "", NO)
    assert await states(learning, read) == {State.ACTIVE}
    await learning.memories.delete(WHO, second.id, "", True, "", NO)
    assert await learning.texts(ANN) == []


async def test_what_a_caller_has_said_by_itself_stays(learning: Stack) -> None:
    turn, read = parts(await tell(learning, "I live in Quito."))
    body = read[0].body
    assert isinstance(body, Fact)
    await learning.remembering(ANN, [Draft(body, source=Provenance(agent="typed"))], Wait.SEARCHABLE, NO)
    await learning.memories.delete(WHO, turn.id, "", False, "", NO)
    assert await states(learning, read) == {State.ACTIVE}


async def test_what_was_deleted_by_itself_does_not_come_back_with_the_text(learning: Stack) -> None:
    turn, read = parts(await tell(learning, TEXT))
    await learning.memories.delete(WHO, read[0].id, "", False, "wrong", NO)
    learning.clock.time += 1_000_000
    await learning.memories.delete(WHO, turn.id, "", False, "", NO)
    await learning.memories.undelete(WHO, turn.id, NO)
    assert (await learning.memories.get(WHO, read[0].id)).state is State.DELETED
    assert await states(learning, read[1:]) == {State.ACTIVE}


async def test_what_comes_due_is_purged_with_its_text(learning: Stack) -> None:
    turn, read = parts(await tell(learning, TEXT))
    await learning.memories.delete(WHO, turn.id, "", False, "", NO)
    learning.clock.time += 31 * 86_400_000_000
    await learning.memories.purge_if_due(WHO, turn.id)
    for memory in read:
        with pytest.raises(NotFound):
            await learning.memories.get(WHO, memory.id)


async def twice(learning: Stack) -> tuple[Memory, Memory, list[Memory]]:
    """Two turns that say one thing, both soft-deleted, and what was read from them."""
    first, read = parts(await tell(learning, "I live in Quito."))
    learning.clock.time += 1_000_000
    second, _ = parts(await tell(learning, "Well, I live in Quito.", session="t"))
    for turn in (first, second):
        learning.clock.time += 1_000_000
        await learning.memories.delete(WHO, turn.id, "", False, "", NO)
    assert await states(learning, read) == {State.DELETED}
    return first, second, read


async def test_what_two_texts_said_comes_back_with_either(learning: Stack) -> None:
    first, _, read = await twice(learning)
    await learning.memories.undelete(WHO, first.id, NO)
    assert await states(learning, [first, *read]) == {State.ACTIVE}


@pytest.mark.parametrize("purged", [0, 1])
async def test_what_a_deleted_text_says_is_not_purged_with_another(learning: Stack, purged: int) -> None:
    *turns, read = await twice(learning)
    await learning.memories.delete(WHO, turns[purged].id, "", True, "", NO)
    assert await states(learning, read) == {State.DELETED}
    await learning.memories.undelete(WHO, turns[1 - purged].id, NO)
    assert await states(learning, [turns[1 - purged], *read]) == {State.ACTIVE}


async def test_what_a_deleted_text_says_goes_with_a_purged_one_and_comes_back(learning: Stack) -> None:
    first, read = parts(await tell(learning, "I live in Quito."))
    learning.clock.time += 1_000_000
    second, _ = parts(await tell(learning, "Well, I live in Quito.", session="t"))
    await learning.memories.delete(WHO, first.id, "", False, "", NO)
    learning.clock.time += 1_000_000
    await learning.memories.delete(WHO, second.id, "", True, "", NO)
    named = [await learning.memories.get(WHO, each) for each in {i for memory in read for i in memory.mentions}]
    assert named
    assert await states(learning, [*read, *named]) == {State.DELETED}
    assert await learning.texts(ANN) == []
    await learning.memories.undelete(WHO, first.id, NO)
    assert await states(learning, [first, *read, *named]) == {State.ACTIVE}
