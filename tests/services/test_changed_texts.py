"""An episode whose text is corrected: what it says no longer is gone, what it says now is known."""

from __future__ import annotations

import pytest

from memsidecar.domain.conflict import Policy
from memsidecar.domain.draft import Draft, Outcome, Patch, Request
from memsidecar.domain.errors import EtagMismatch, NotFound
from memsidecar.domain.memory import Episode, Fact, Memory, Provenance, State
from memsidecar.domain.recall import Filter
from memsidecar.services.remember import Remembered, Wait
from tests.services.stack import ANN, Stack

WHO = ANN.partition
NO = Request()
SECOND = 1_000_000


@pytest.fixture
async def learning(stack: Stack) -> Stack:
    stack.learn()
    return stack


async def tell(stack: Stack, text: str, session: str = "s", extract: bool = True) -> Remembered:
    source = Provenance(session=session, messages=("m1",), speaker="Ann", time=stack.clock.time)
    draft = Draft(Episode(text, speaker="Ann", start_time=stack.clock.time), session=session, source=source)
    return await stack.remembering(ANN, [draft], Wait.SEARCHABLE, NO, extract=extract)


def parts(answer: Remembered) -> tuple[Memory, list[Memory]]:
    (outcome,) = (each for each in answer.outcomes if isinstance(each, Outcome))
    return outcome.memory, [each.memory for each in outcome.extracted if isinstance(each, Outcome)]


async def correct(
    stack: Stack, turn: Memory, text: str, request: str = "", etag: str = "", policy: Policy | None = None
) -> Memory:
    stack.clock.time += SECOND
    patch = Patch({"text": text}, etag)
    written = await stack.memories.update(WHO, turn.id, patch, Request(request, b"d"), policy)
    assert written.memory is not None
    return written.memory


async def now(stack: Stack, memory: Memory) -> Memory:
    return await stack.memories.get(WHO, memory.id)


async def facts(stack: Stack, *states: State) -> list[str]:
    """What is known of the user, by state: what holds, unless others are asked for."""
    wanted = Filter(states=frozenset(states or (State.ACTIVE, State.DISPUTED)))
    page = await stack.memories.list(ANN, wanted, False, None, 100)
    return [memory.text for memory in page.memories if isinstance(memory.body, Fact)]


async def test_what_a_corrected_text_says_takes_the_place_of_what_it_said(learning: Stack) -> None:
    turn, (rome,) = parts(await tell(learning, "I live in Rome."))
    await correct(learning, turn, "I live in Milan.")
    assert await facts(learning) == ["I live in Milan"]
    assert (await now(learning, rome)).state is State.DELETED
    # It was a mistake, not a move: Rome is no history of the user's, and nothing was in conflict.
    assert await facts(learning, State.SUPERSEDED) == []
    hits = (await learning.recall(ANN, "Where do I live?")).hits
    assert "Milan" in hits[0].memory.text
    assert not any("Rome" in hit.memory.text for hit in hits)
    (milan,) = [
        m for m in (await learning.memories.list(ANN, Filter(), False, None, 9)).memories if "I live" in m.text
    ][1:]
    (source,) = milan.provenance
    assert (source.derived_from, source.session, source.messages) == ((turn.id,), "s", ("m1",))


async def test_what_it_still_says_stays_the_memory_that_it_is(learning: Stack) -> None:
    turn, read = parts(await tell(learning, "I'm allergic to zopiclone and I live in Quito."))
    (allergy,) = [memory for memory in read if "zopiclone" in memory.text]
    await correct(learning, turn, "Well: I'm allergic to zopiclone and I live in Lima.")
    kept = await now(learning, allergy)
    assert (kept.state, kept.text) == (State.ACTIVE, allergy.text)
    (source,) = kept.provenance
    assert "zopiclone" in "Well: I'm allergic to zopiclone and I live in Lima."[source.start : source.end]
    assert sorted(await facts(learning)) == sorted([allergy.text, "I live in Lima"])


async def test_a_slip_of_the_pen_changes_nothing_of_what_was_read(learning: Stack) -> None:
    turn, read = parts(await tell(learning, "I live in Quito. It is nise there."))
    await correct(learning, turn, "I live in Quito. It is nice there.")
    assert [await now(learning, memory) for memory in read] == read


async def test_names_that_only_the_old_text_held_go(learning: Stack) -> None:
    turn, read = parts(await tell(learning, "I live in Quito with Zenobia."))
    named = {i for memory in (turn, *read) for i in memory.mentions}
    await correct(learning, turn, "I live in Lima.")
    assert named
    gone = [await learning.memories.get(WHO, entity) for entity in named]
    assert {memory.state for memory in gone} == {State.DELETED}


async def test_what_somebody_else_says_too_stays_without_this_source(learning: Stack) -> None:
    first, (quito,) = parts(await tell(learning, "I live in Quito."))
    learning.clock.time += SECOND
    second, _ = parts(await tell(learning, "Well, I live in Quito.", session="t"))
    await correct(learning, first, "I like tea.")
    kept = await now(learning, quito)
    assert kept.state is State.ACTIVE
    assert {source.derived_from for source in kept.provenance} == {(second.id,)}
    # So that it goes with the last text that says it.
    await learning.memories.delete(WHO, second.id, "", False, "", NO)
    assert (await now(learning, quito)).state is State.DELETED


async def test_what_a_deleted_text_says_too_comes_back_with_that_alone(learning: Stack) -> None:
    first, (quito,) = parts(await tell(learning, "I live in Quito."))
    learning.clock.time += SECOND
    second, _ = parts(await tell(learning, "Well, I live in Quito.", session="t"))
    learning.clock.time += SECOND
    await learning.memories.delete(WHO, second.id, "", False, "", NO)
    await correct(learning, first, "Hello.")
    assert (await now(learning, quito)).state is State.DELETED
    await learning.memories.undelete(WHO, second.id, NO)
    assert (await now(learning, quito)).state is State.ACTIVE


async def test_what_a_caller_has_stated_by_itself_stays(learning: Stack) -> None:
    turn, (quito,) = parts(await tell(learning, "I live in Quito."))
    typed = Draft(quito.body, source=Provenance(agent="typed"))
    await learning.remembering(ANN, [typed], Wait.SEARCHABLE, NO)
    await correct(learning, turn, "Hello.")
    assert (await now(learning, quito)).state is State.ACTIVE


async def test_what_a_caller_has_read_from_a_text_is_the_callers_to_change(learning: Stack) -> None:
    turn, _ = parts(await tell(learning, "Hello there."))
    read = Draft(Fact("Ann says hello"), source=Provenance(derived_from=(turn.id,), extractor="mine"))
    await learning.remembering(ANN, [read], Wait.SEARCHABLE, NO)
    await correct(learning, turn, "Bye.")
    assert await facts(learning) == ["Ann says hello"]


async def test_changed_back_it_says_again_what_it_said_first(learning: Stack) -> None:
    turn, (rome,) = parts(await tell(learning, "I live in Rome."))
    for text in ("I live in Milan.", "I live in Oslo.", "I live in Rome."):
        await correct(learning, turn, text)
    assert await facts(learning) == ["I live in Rome"]
    assert (await now(learning, rome)).state is State.ACTIVE


async def test_what_was_deleted_by_itself_is_not_read_again(learning: Stack) -> None:
    turn, (rome,) = parts(await tell(learning, "I live in Rome. It is nise."))
    learning.clock.time += SECOND
    await learning.memories.delete(WHO, rome.id, "", False, "no", NO)
    await correct(learning, turn, "I live in Rome. It is nice.")
    assert await facts(learning) == []


async def test_another_time_of_the_same_is_the_time_of_the_fact(learning: Stack) -> None:
    turn, (old,) = parts(await tell(learning, "I moved to Berlin in 2019."))
    await correct(learning, turn, "I moved to Berlin in 2021.")
    (berlin,) = [
        m
        for m in (await learning.memories.list(ANN, Filter(), False, None, 100)).memories
        if isinstance(m.body, Fact) and m.state is State.ACTIVE
    ]
    assert berlin.valid_from is not None
    assert old.valid_from is not None
    assert 364 <= (berlin.valid_from - old.valid_from) / (86_400 * SECOND * 2) <= 367


async def test_a_correction_meets_what_others_say(learning: Stack) -> None:
    turn, _ = parts(await tell(learning, "I like tea."))
    learning.clock.time += SECOND
    await tell(learning, "I live in Rome.", session="t")
    corrected = await correct(learning, turn, "I live in Milan.", policy=Policy.FLAG)
    assert corrected.state is State.ACTIVE
    assert sorted(await facts(learning, State.DISPUTED)) == ["I live in Milan", "I live in Rome"]


async def test_a_text_that_was_stored_unread_stays_unread(learning: Stack) -> None:
    turn, read = parts(await tell(learning, "I live in Rome.", extract=False))
    assert read == []
    await correct(learning, turn, "I live in Milan.")
    assert await facts(learning) == []


async def test_what_does_not_touch_the_words_reads_nothing(learning: Stack) -> None:
    turn, read = parts(await tell(learning, "I live in Rome."))
    await learning.memories.delete(WHO, read[0].id, "", False, "", NO)
    learning.clock.time += SECOND
    revision = (await learning.residency.get(WHO)).resident.head.revision
    for changes in ({"labels": {"a": "b"}}, {"importance": 0.9}, {"text": "I live in Rome."}):
        await learning.memories.update(WHO, turn.id, Patch(changes), NO)
    assert (await learning.residency.get(WHO)).resident.head.revision == revision + 3
    assert await facts(learning) == []


async def test_words_are_read_as_those_of_who_says_them_now(learning: Stack) -> None:
    turn, (rome,) = parts(await tell(learning, "I live in Rome."))
    learning.clock.time += SECOND
    await learning.memories.update(WHO, turn.id, Patch({"speaker": "assistant"}), NO)
    assert (await now(learning, rome)).state is State.DELETED
    assert await facts(learning) == []


async def test_a_repeated_correction_is_one(learning: Stack) -> None:
    turn, _ = parts(await tell(learning, "I live in Rome."))
    first = await correct(learning, turn, "I live in Milan.", request="r", etag="1")
    head = (await learning.residency.get(WHO)).resident.head.revision
    assert await correct(learning, turn, "I live in Milan.", request="r", etag="1") == first
    assert (await learning.residency.get(WHO)).resident.head.revision == head


async def test_a_correction_of_another_version_changes_nothing(learning: Stack) -> None:
    turn, (rome,) = parts(await tell(learning, "I live in Rome."))
    with pytest.raises(EtagMismatch):
        await correct(learning, turn, "I live in Milan.", etag="7")
    assert await now(learning, rome) == rome
    assert await facts(learning) == ["I live in Rome"]


async def test_all_of_it_is_one_commit_and_is_there_after_a_restart(learning: Stack) -> None:
    turn, (rome,) = parts(await tell(learning, "I live in Rome."))
    learning.published.clear()
    await correct(learning, turn, "I live in Milan.")
    assert {entry.recorded_at for entry in learning.published} == {learning.published[0].recorded_at}
    assert rome.id in {entry.subject for entry in learning.published}
    again = await learning.again()
    assert await facts(again) == ["I live in Milan"]
    assert (await now(again, rome)).state is State.DELETED
    await again.close()


async def test_a_corrected_text_is_deleted_restored_and_purged_with_what_it_says(learning: Stack) -> None:
    turn, (rome,) = parts(await tell(learning, "I live in Rome."))
    await correct(learning, turn, "I live in Milan.")
    learning.clock.time += SECOND
    await learning.memories.delete(WHO, turn.id, "", False, "", NO)
    assert await facts(learning) == []
    await learning.memories.undelete(WHO, turn.id, NO)
    assert await facts(learning) == ["I live in Milan"]
    await learning.memories.delete(WHO, turn.id, "", True, "", NO)
    with pytest.raises(NotFound):
        await now(learning, rome)
    assert await learning.texts(ANN) == []


async def test_a_fact_that_is_changed_is_no_text_that_is_read(learning: Stack) -> None:
    _, (rome,) = parts(await tell(learning, "I live in Rome."))
    learning.clock.time += SECOND
    await learning.memories.update(WHO, rome.id, Patch({"statement": "I live in Milan"}), NO)
    assert await facts(learning) == ["I live in Milan"]
    assert (await now(learning, rome)).text == "I live in Milan"
