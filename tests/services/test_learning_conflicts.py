"""What people say changes: what of it holds, through the same rules whichever way it comes in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memsidecar.domain.conflict import Policy
from memsidecar.domain.draft import Action, Draft, Outcome, Patch, Request
from memsidecar.domain.memory import Fact, Memory, Preference, State
from memsidecar.domain.recall import Filter
from memsidecar.services.remember import Remembered
from tests.services.stack import ANN, Stack
from tests.services.test_learning import DAY, MONDAY, declined, learned, say, told

LIVES = "lives_in"


@pytest.fixture
async def learning(stack: Stack) -> Stack:
    stack.learn()
    stack.clock.time = MONDAY + 10 * DAY
    return stack


async def held(stack: Stack, predicate: str = LIVES) -> list[tuple[str, State]]:
    """The statements of an attribute with their states, in the order in which they became true."""
    states = frozenset({State.ACTIVE, State.SUPERSEDED, State.DISPUTED})
    page = await stack.memories.list(ANN, Filter(states=states), False, None, 1_000)
    facts = [m for m in page.memories if isinstance(m.body, Fact) and m.body.predicate == predicate]
    return [(m.text, m.state) for m in sorted(facts, key=lambda m: m.valid_from or 0)]


async def test_a_move_supersedes_the_old_home_and_keeps_it_as_history(learning: Stack) -> None:
    (rome,) = learned(await told(learning, say("I live in Rome.")))
    answer = await told(learning, say("I just moved to Oslo.", time=MONDAY + DAY))
    (outcome,) = [o for o in answer.outcomes if isinstance(o, Outcome)]
    (move,) = [e for e in outcome.extracted if isinstance(e, Outcome)]
    assert move.action is Action.SUPERSEDED
    assert move.superseded == (rome.id,)
    assert await held(learning) == [("I live in Rome", State.SUPERSEDED), ("I just moved to Oslo", State.ACTIVE)]


async def test_typed_facts_are_resolved_like_texts(learning: Stack) -> None:
    await told(learning, Draft(Fact("lives in Rome")))
    await told(learning, Draft(Fact("moved to Oslo")))
    assert await held(learning) == [("lives in Rome", State.SUPERSEDED), ("moved to Oslo", State.ACTIVE)]


async def test_home_and_back_again(learning: Stack) -> None:
    for day, home in enumerate(("Rome", "Oslo", "Rome")):
        await told(learning, say(f"I live in {home} now.", time=MONDAY + day * DAY))
    now = [text for text, state in await held(learning) if state is State.ACTIVE]
    assert now == ["I live in Rome now"]
    assert len(await held(learning)) == 3


async def test_what_was_said_earlier_and_comes_later_supersedes_nothing(learning: Stack) -> None:
    await told(learning, say("I live in Oslo.", time=MONDAY))
    await told(learning, say("I live in Rome.", time=MONDAY - 300 * DAY))
    assert await held(learning) == [("I live in Rome", State.SUPERSEDED), ("I live in Oslo", State.ACTIVE)]


async def test_the_same_message_sent_again_brings_nothing_back(learning: Stack) -> None:
    rome = say("I live in Rome.", time=MONDAY)
    await told(learning, rome)
    await told(learning, say("I live in Oslo.", time=MONDAY + DAY))
    await told(learning, rome)
    assert await held(learning) == [("I live in Rome", State.SUPERSEDED), ("I live in Oslo", State.ACTIVE)]


async def test_two_people_do_not_move_each_other(learning: Stack) -> None:
    await told(learning, say("I live in Rome.", "Mia"))
    await told(learning, say("I live in Oslo.", "Ben", time=MONDAY + DAY))
    await told(learning, say("I live in Lima.", time=MONDAY + 2 * DAY))
    assert {state for _, state in await held(learning)} == {State.ACTIVE}


async def test_likes_that_turn_are_preferences_and_the_old_one_is_history(learning: Stack) -> None:
    await told(learning, say("I love Chinese food."))
    await told(learning, say("I hate Chinese food.", time=MONDAY + DAY))
    states = frozenset({State.ACTIVE, State.SUPERSEDED})
    page = await learning.memories.list(ANN, Filter(states=states), False, None, 100)
    likes = [(m.body.polarity > 0, m.state) for m in page.memories if isinstance(m.body, Preference)]
    assert likes == [(True, State.SUPERSEDED), (False, State.ACTIVE)]


async def test_a_policy_of_the_write_is_that_of_its_claims(learning: Stack) -> None:
    await told(learning, say("I live in Rome."))
    answer = await told(learning, replace(say("I live in Oslo.", time=MONDAY + DAY), policy=Policy.REJECT))
    assert learned(answer) == []
    (refused,) = declined(answer)
    assert "REJECT" in refused.explanation
    assert "I live in Oslo." in await learning.texts(ANN)


async def test_a_repeated_request_tells_of_the_superseding_again(learning: Stack) -> None:
    await told(learning, say("I live in Rome."))
    request = "22222222-2222-4222-8222-222222222222"
    answers = [await told(learning, say("I live in Oslo.", time=MONDAY + DAY), request=request) for _ in range(2)]
    (first, again) = [
        [(e.action, e.superseded, e.conflicts) for e in o.extracted if isinstance(e, Outcome)]
        for answer in answers
        for o in answer.outcomes
        if isinstance(o, Outcome)
    ]
    assert first == again
    assert first[0][0] is Action.SUPERSEDED


async def test_a_correction_makes_the_old_one_never_true(learning: Stack) -> None:
    (rome,) = learned(await told(learning, say("I live in Rome.")))
    answer = await told(learning, say("Actually, I meant I live in Oslo.", time=MONDAY + DAY))
    now = await learning.memories.get(ANN.partition, rome.id)
    if learned(answer):
        assert now.state is State.SUPERSEDED


def active(memories: list[Memory]) -> list[str]:
    return [m.text for m in memories if m.state is State.ACTIVE]


async def test_deleting_what_was_read_leaves_the_text(learning: Stack) -> None:
    (fact,) = learned(await told(learning, say("I live in Rome.")))
    await learning.memories.delete(ANN.partition, fact.id, "", True, "", Request())
    assert await learning.texts(ANN) == ["I live in Rome."]


NEVER = "I have never written any Flask routes."
DID = "I've written Flask routes for the login page."


async def experiences(stack: Stack) -> list[str]:
    page = await stack.memories.list(ANN, Filter(), False, None, 1_000)
    return [m.text for m in page.memories if isinstance(m.body, Fact) and m.body.predicate == "experience"]


async def test_what_people_do_is_no_fact_by_itself(learning: Stack) -> None:
    assert learned(await told(learning, say(DID))) == []


@pytest.mark.parametrize("texts", [(NEVER, DID), (DID, NEVER)])
async def test_a_deed_that_is_denied_is_in_conflict_whichever_was_said_first(
    learning: Stack, texts: tuple[str, str]
) -> None:
    for day, text in enumerate(texts):
        answer = await told(learning, say(text, time=MONDAY + day * DAY))
    found = await experiences(learning)
    assert len(found) == 2, found
    conflicts = {
        c
        for o in answer.outcomes
        if isinstance(o, Outcome)
        for e in o.extracted
        if isinstance(e, Outcome)
        for c in e.conflicts
    }
    assert len(conflicts) == 1


@pytest.mark.parametrize("texts", [(NEVER, DID), (DID, NEVER)])
async def test_both_may_be_said_in_one_write(learning: Stack, texts: tuple[str, str]) -> None:
    await told(learning, *(say(text, time=MONDAY + day * DAY) for day, text in enumerate(texts)))
    assert len(await experiences(learning)) == 2


async def test_a_deed_that_was_looked_up_is_derived_from_its_own_text(learning: Stack) -> None:
    first = await told(learning, say(DID))
    second = await told(learning, say(NEVER, time=MONDAY + DAY))
    (episode,) = [o.memory.id for o in first.outcomes if isinstance(o, Outcome)]
    deeds = [m for m in learned(second) if isinstance(m.body, Fact) and not m.body.negated]
    assert [m.provenance[0].derived_from for m in deeds] == [(episode,)]
    assert deeds[0].valid_from == MONDAY


async def test_what_others_did_denies_nothing(learning: Stack) -> None:
    await told(learning, say(DID, "Mia"), say(DID, "assistant"))
    await told(learning, say(NEVER, time=MONDAY + DAY))
    assert len(await experiences(learning)) == 1


async def reworded(stack: Stack, memory: Memory, **changes: object) -> Memory:
    answer = await stack.memories.update(ANN.partition, memory.id, Patch(changes), Request())
    assert answer.memory is not None
    return answer.memory


async def test_an_update_of_a_sentence_goes_through_the_same_resolver(learning: Stack) -> None:
    await told(learning, say("I live in Rome."))
    (job,) = [m for m in learned(await told(learning, say("I work at Acme."))) if isinstance(m.body, Fact)]
    changed = await reworded(learning, job, statement="I just moved to Oslo")
    assert isinstance(changed.body, Fact)
    assert (changed.body.predicate, changed.body.object_text) == (LIVES, "Oslo")
    assert ("I live in Rome", State.SUPERSEDED) in await held(learning) or (
        "I live in Rome",
        State.DISPUTED,
    ) in await held(learning)


async def test_a_structure_goes_with_the_sentence_that_it_was_read_from(learning: Stack) -> None:
    (rome,) = learned(await told(learning, say("I live in Rome.")))
    changed = await reworded(learning, rome, statement="Nothing in particular")
    assert changed.body == Fact("Nothing in particular")


async def test_what_a_caller_has_said_of_a_fact_stays_when_its_sentence_changes(learning: Stack) -> None:
    given = Fact("I live in Rome", predicate="home", object_text="Roma")
    (outcome,) = (await told(learning, Draft(given))).outcomes
    assert isinstance(outcome, Outcome)
    changed = await reworded(learning, outcome.memory, statement="I live in Rome, still")
    assert changed.body == replace(given, statement="I live in Rome, still")


async def test_a_successor_in_an_office_takes_the_place_of_who_held_it(learning: Stack) -> None:
    (alice,) = learned(await told(learning, say("Alice is CEO of Acme.", time=MONDAY - 150 * DAY)))
    (bob,) = learned(await told(learning, say("Bob is CEO of Acme.", time=MONDAY - DAY)))
    assert (await learning.memories.get(ANN.partition, alice.id)).state is State.SUPERSEDED
    assert (await learning.memories.get(ANN.partition, bob.id)).state is State.ACTIVE
    (carol,) = learned(await told(learning, say("Carol is CEO of Globex.", time=MONDAY)))
    assert (await learning.memories.get(ANN.partition, bob.id)).state is State.ACTIVE
    assert carol.state is State.ACTIVE


async def test_what_one_would_rather_have_may_turn_round(learning: Stack) -> None:
    (tea,) = learned(await told(learning, say("I prefer tea over coffee.", time=MONDAY - DAY)))
    (coffee,) = learned(await told(learning, say("I prefer coffee over tea now.", time=MONDAY)))
    assert (await learning.memories.get(ANN.partition, tea.id)).state is State.SUPERSEDED
    assert (await learning.memories.get(ANN.partition, coffee.id)).state is State.ACTIVE


async def test_claims_share_the_fate_of_the_text_that_states_them(learning: Stack) -> None:
    first = await told(learning, say("I live in Rome.", time=MONDAY - 3 * DAY))
    (rome,) = learned(first)
    (whole,) = (o.memory for o in first.outcomes if isinstance(o, Outcome))
    assert rome.provenance[0].derived_from == (whole.id,)
    again = await told(learning, say("I live in Rome.", time=MONDAY - 3 * DAY))
    assert actions(again) == [Action.DUPLICATE, Action.DUPLICATE]
    assert actions(await told(learning, say("I live in Rome.", time=MONDAY - 2 * DAY))) == [Action.MERGED] * 2
    moved = await told(learning, say("I moved to Oslo.", time=MONDAY - DAY))
    assert actions(moved) == [Action.CREATED, Action.SUPERSEDED]
    refused = await told(learning, say("I live in Lima.", policy=Policy.REJECT))
    assert actions(refused) == [Action.CREATED]
    assert "REJECT" in declined(refused)[0].explanation


def actions(answer: Remembered) -> list[Action]:
    """Of the texts, each with what was read out of it."""
    stored = [o for o in answer.outcomes if isinstance(o, Outcome)]
    return [each.action for o in stored for each in (o, *o.extracted) if isinstance(each, Outcome)]
