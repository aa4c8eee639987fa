"""Recall where memories contradict each other: the newer above what it supersedes, disputed ones together, and said."""

from __future__ import annotations

from pathlib import Path

import pytest

from memsidecar.domain.memory import Kind, State
from memsidecar.domain.recall import Filter, HitStanding, Recalled
from tests.doubles.hash_embedder import HashEmbedder
from tests.services.conflicting import Said, dispute, say, supersede, undo
from tests.services.stack import ANN, Stack, said

ROME = "I live in Rome now, in a flat near the river."
OSLO = "We have moved to Oslo."
QUESTION = "Where do I live now?"


def texts(answer: Recalled) -> list[str]:
    return [hit.memory.text for hit in answer.hits]


async def moved(stack: Stack) -> tuple[Said, Said]:
    rome = await say(stack, ROME, "I live in Rome now")
    await stack.remember(ANN, *(said(f"I live through day {n} now and then.", "t") for n in range(12)))
    stack.clock.time += 1_000_000
    oslo = await say(stack, OSLO, "I live in Oslo")
    return rome, oslo


async def test_a_superseded_memory_stays_out_unless_it_is_asked_for(stack: Stack) -> None:
    rome, oslo = await moved(stack)
    await supersede(stack, rome.fact, oslo.fact)
    assert rome.fact.id not in {hit.memory.id for hit in (await stack.recall(ANN, QUESTION, max_hits=50)).hits}
    asked = Filter(kinds=frozenset({Kind.FACT}), states=frozenset({State.SUPERSEDED}))
    (hit,) = (await stack.recall(ANN, QUESTION, filter=asked)).hits
    assert (hit.memory.id, hit.memory.state) == (rome.fact.id, State.SUPERSEDED)
    assert hit.standings[0].superseded_by == oslo.fact.id


async def test_a_turn_whose_statement_was_superseded_says_so_and_stands_below_the_newer_one(stack: Stack) -> None:
    rome, oslo = await moved(stack)
    before = texts(await stack.recall(ANN, QUESTION))
    assert before[0] == ROME
    conflict = await supersede(stack, rome.fact, oslo.fact)
    answer = await stack.recall(ANN, QUESTION, explain=True)
    assert texts(answer)[:2] == [OSLO, ROME]
    new, old = answer.hits[:2]
    sides = (oslo.fact.id, oslo.turn.id)
    stated = HitStanding(
        rome.fact.id, State.SUPERSEDED, "I live in Rome now", oslo.fact.id, conflict, sides, newer=sides
    )
    assert old.standings == (stated,)
    assert (new.standings, new.counterpart_of) == ((), rome.turn.id)
    assert new.score >= old.score
    assert abs(sum(part.contribution for part in new.components) - new.score) < 1e-6
    # The others keep their order, and no more hits come than were asked for.
    others = [text for text in before if text not in (OSLO, ROME)]
    assert texts(answer)[2:] == others[: len(texts(answer)) - 2]
    assert len(answer.hits) == len(before) == 10


async def test_a_question_after_something_else_that_a_turn_says_moves_nothing(stack: Stack) -> None:
    rome, oslo = await moved(stack)
    question = "Who has a flat near the river?"
    before = texts(await stack.recall(ANN, question))
    await supersede(stack, rome.fact, oslo.fact)
    answer = await stack.recall(ANN, question)
    assert texts(answer) == [text for text in before if text != rome.fact.text]
    assert answer.hits[0].standings[0].superseded_by == oslo.fact.id


async def test_what_holds_instead_of_a_short_turn_is_there_whatever_its_words(stack: Stack) -> None:
    rome = await say(stack, "I live in Rome.", "I live in Rome")
    await stack.remember(ANN, *(said(f"On day {n} it rained a little.", "t") for n in range(40)))
    stack.clock.time += 1_000_000
    oslo = await say(stack, "Two weeks ago we went north for good.", "Home is Oslo")
    await supersede(stack, rome.fact, oslo.fact)
    for question in (QUESTION, "Do I live in Rome?", "Rome"):
        first, second = (await stack.recall(ANN, question, max_hits=2)).hits
        assert [first.memory.id, second.memory.id] == [oslo.turn.id, rome.turn.id]
        assert (first.score, first.confidence) >= (second.score, second.confidence)
        (only,) = (await stack.recall(ANN, question, max_hits=1)).hits
        assert only.memory.id == oslo.turn.id


async def test_of_a_long_turn_what_it_is_asked_about_decides_and_not_the_words_of_what_holds_instead(
    stack: Stack,
) -> None:
    rome = await say(stack, ROME, "I live in Rome now")
    await stack.remember(ANN, *(said(f"I live through day {n} now and then.", "t") for n in range(12)))
    stack.clock.time += 1_000_000
    oslo = await say(stack, "Two weeks ago we went north for good.", "Home is Oslo")
    await supersede(stack, rome.fact, oslo.fact)
    assert texts(await stack.recall(ANN, QUESTION))[:2] == [oslo.turn.text, ROME]
    assert oslo.turn.text not in texts(await stack.recall(ANN, "Who has a flat near the river?"))[:2]


@pytest.mark.parametrize(
    ("question", "moved_up"),
    [
        ("Where do I live now?", True),
        ("Where did I live before Oslo?", False),
        ("Where did I live initially, and where do I live now?", False),
        ("In what order did I live in these places?", False),
    ],
)
async def test_a_question_after_what_was_is_answered_in_the_usual_order(
    stack: Stack, question: str, moved_up: bool
) -> None:
    rome, oslo = await moved(stack)
    await supersede(stack, rome.fact, oslo.fact)
    answer = await stack.recall(ANN, question)
    assert any(hit.counterpart_of for hit in answer.hits) is moved_up


async def test_undoing_restores_the_answer_as_it_was(stack: Stack) -> None:
    rome, oslo = await moved(stack)
    before = await stack.recall(ANN, QUESTION)
    await undo(stack, await supersede(stack, rome.fact, oslo.fact))
    after = await stack.recall(ANN, QUESTION)
    assert [(h.memory.id, h.standings, h.score) for h in after.hits] == [
        (h.memory.id, (), h.score) for h in before.hits
    ]


async def test_pages_of_an_answer_with_conflicts_hold_each_memory_once(stack: Stack) -> None:
    rome, oslo = await moved(stack)
    await supersede(stack, rome.fact, oslo.fact)
    whole = [hit.memory.id for hit in (await stack.recall(ANN, QUESTION, max_hits=16)).hits]
    for size in (1, 2, 3, 5):
        paged: list[str] = []
        while len(paged) < len(whole):
            page = await stack.recall(ANN, QUESTION, max_hits=size, skip=len(paged))
            paged += [hit.memory.id for hit in page.hits]
            if not page.more:
                break
        assert paged[: len(whole)] == whole
        assert len(set(paged)) == len(paged)


async def test_a_disputed_hit_brings_its_counterpart_and_both_say_so(stack: Stack) -> None:
    rome, oslo = await moved(stack)
    conflict = await dispute(stack, rome.fact, oslo.fact)
    answer = await stack.recall(ANN, QUESTION)
    hits = [hit for hit in answer.hits if hit.memory.id in (rome.turn.id, oslo.turn.id)]
    assert [hit.memory.text for hit in hits] == [ROME, OSLO]
    assert [hit.counterpart_of for hit in hits] == ["", rome.turn.id]
    for hit, own, other in ((hits[0], rome, oslo), (hits[1], oslo, rome)):
        (standing,) = hit.standings
        assert (standing.memory_id, standing.state, standing.conflict_id) == (own.fact.id, State.DISPUTED, conflict)
        assert standing.counterparts == (other.fact.id, other.turn.id)
    assert len(answer.hits) == 10


async def test_a_filter_holds_for_what_is_brought_up_too(stack: Stack) -> None:
    rome, oslo = await moved(stack)
    await supersede(stack, rome.fact, oslo.fact)
    narrow = Filter(kinds=frozenset({Kind.EPISODE}), max_created=oslo.turn.created_at)
    answer = await stack.recall(ANN, QUESTION, filter=narrow)
    assert OSLO not in texts(answer)
    assert answer.hits[0].standings[0].superseded_by == oslo.fact.id


async def test_what_waits_for_its_time_changes_nothing_before(stack: Stack) -> None:
    rome, oslo = await moved(stack)
    later = stack.clock.now() + 3_600_000_000
    await supersede(stack, rome.fact, oslo.fact, at=later)
    before = await stack.recall(ANN, QUESTION, max_hits=50)
    assert all(not hit.standings for hit in before.hits)
    shown = {hit.memory.id: hit.memory.state for hit in before.hits}
    assert shown.get(rome.fact.id, State.ACTIVE) is State.ACTIVE
    stack.clock.time += 3_601_000_000
    after = await stack.recall(ANN, QUESTION)
    assert texts(after)[:2] == [OSLO, ROME]
    asked_before = await stack.recall(ANN, QUESTION, time=later - 10)
    assert texts(asked_before)[:2] == [OSLO, ROME]


async def test_the_last_of_a_chain_stands_above_the_first(stack: Stack) -> None:
    rome, oslo = await moved(stack)
    bern = await say(stack, "Bern is home these days.", "I live in Bern now")
    await supersede(stack, rome.fact, oslo.fact)
    await supersede(stack, oslo.fact, bern.fact)
    answer = await stack.recall(ANN, QUESTION)
    assert texts(answer)[:2] == [bern.turn.text, ROME]
    (standing,) = answer.hits[1].standings
    assert standing.superseded_by == bern.fact.id


async def test_standings_survive_a_restart(stack: Stack, tmp_path: Path, embedder: HashEmbedder) -> None:
    rome, oslo = await moved(stack)
    await supersede(stack, rome.fact, oslo.fact)
    before = await stack.recall(ANN, QUESTION)
    loaded = stack.residency.peek(ANN.partition)
    assert loaded is not None
    async with loaded.writer.pause:
        assert await stack.hydration.save(loaded.resident)
    resident, unsaved = await stack.hydration(ANN.partition)
    assert unsaved == 0
    assert resident.lookup.read_from(rome.turn.id) == [resident.lookup.rows[rome.fact.id]]
    assert resident.lookup.nbytes == loaded.resident.lookup.nbytes
    await resident.vectors.close()
    assert [h.standings for h in before.hits[:2]] != [(), ()]
