"""Amounts that people tell: which of them takes the place of which, and which deeds one denial brings up."""

from __future__ import annotations

import pytest

from memsidecar.domain.draft import Draft
from memsidecar.domain.learned import MOST
from memsidecar.domain.memory import Fact, Kind, State
from memsidecar.domain.recall import Filter
from tests.services.stack import ANN, Stack
from tests.services.test_learning import DAY, MONDAY, learned, say, told

NEVER = "I've never written any Flask routes in this project."


@pytest.fixture
async def learning(stack: Stack) -> Stack:
    stack.learn()
    stack.clock.time = MONDAY + 100 * DAY
    return stack


async def amounts(stack: Stack, *texts: str | Draft) -> dict[str, State]:
    """The amounts with their states after texts on as many days, those of one text in one."""
    for day, text in enumerate(texts):
        await told(stack, say(text, time=MONDAY + day * DAY) if isinstance(text, str) else text)
    page = await stack.memories.list(
        ANN, Filter(states=frozenset({State.ACTIVE, State.SUPERSEDED})), False, None, 1_000
    )
    return {m.body.object_text: m.state for m in page.memories if isinstance(m.body, Fact) and not m.body.negated}


async def test_old_news_told_again_does_not_replace_what_replaced_it(learning: Stack) -> None:
    found = await amounts(
        learning,
        "My accuracy in area calculation problems improved from 70% to 90%.",
        "My accuracy in area calculation problems has now increased to 95%.",
        "I want to understand how my accuracy in area calculation problems has gone from 70% to 90%.",
    )
    assert found == {"90%": State.SUPERSEDED, "95%": State.ACTIVE}


async def test_a_value_that_has_come_back_by_its_own_words_holds_again(learning: Stack) -> None:
    found = await amounts(
        learning,
        "My daily API call quota is 1,000 calls.",
        "My daily API call quota was raised to 1,200 calls.",
        "My daily API call quota was reduced to 1,000 calls.",
    )
    assert found == {"1,000": State.ACTIVE, "1,200": State.SUPERSEDED}


async def test_what_an_event_came_to_is_an_amount_too(learning: Stack) -> None:
    found = await amounts(
        learning,
        "I'm trying to achieve 100% test coverage on my API, and I've currently reached 65% after a run on May 27.",
        "The test coverage of my API has recently improved to 78%.",
    )
    assert (found["65%"], found["78%"], found["100%"]) == (State.SUPERSEDED, State.ACTIVE, State.ACTIVE)


async def test_a_number_that_comes_twice_by_chance_is_not_the_same_amount(learning: Stack) -> None:
    found = await amounts(
        learning,
        "I've completed 8 conditional probability problems.",
        "I had a quiz with 12 problems on dependent events and conditional probability.",
        "I've recently increased my practice to 12 conditional probability problems.",
    )
    assert found["8"] is State.SUPERSEDED


async def test_amounts_of_one_text_do_not_end_each_other(learning: Stack) -> None:
    found = await amounts(
        learning, "My quiz score in biology improved to 80%, and later my quiz score in biology improved to 90%."
    )
    assert set(found.values()) == {State.ACTIVE}


@pytest.mark.parametrize(("often", "state"), [(0, State.SUPERSEDED), (80, State.ACTIVE)])
async def test_a_word_that_everything_is_about_does_not_make_two_amounts_one(
    learning: Stack, often: int, state: State
) -> None:
    await told(learning, *(say(f"Let us go through problems of sort {n}.", time=MONDAY) for n in range(often)))
    found = await amounts(
        learning,
        "I've done 5 algebra problems.",
        "I've recently increased my practice to 8 problems.",
    )
    assert found["5"] is state


async def test_what_was_done_is_shown_with_its_denial_and_not_with_other_deeds(learning: Stack) -> None:
    for day, text in enumerate((NEVER, "I've written Flask routes for login.", "I've written Flask routes for cards.")):
        await told(learning, say(text, time=MONDAY + day * DAY))
    facts = Filter(kinds=frozenset({Kind.FACT}), states=frozenset({State.DISPUTED}))
    hits = (await learning.recall(ANN, "Have I written any Flask routes?", filter=facts)).hits
    sides = {hit.memory.id: isinstance(hit.memory.body, Fact) and hit.memory.body.negated for hit in hits}
    assert sorted(sides.values()) == [False, False, True]
    for hit in hits:
        (standing,) = hit.standings
        others = [sides[each] for each in standing.counterparts if each in sides]
        assert others
        assert sides[hit.memory.id] not in others


async def test_one_denial_brings_up_so_many_deeds_and_no_more(learning: Stack) -> None:
    places = "home login search cart admin profile report export import upload billing status".split()
    for day, place in enumerate(places):
        await told(learning, say(f"I've written the Flask routes of the {place} page.", time=MONDAY + day * DAY))
    await told(learning, say(NEVER, time=MONDAY + 20 * DAY))
    answer = await told(learning, say("I've written the Flask routes of the last page.", time=MONDAY + 21 * DAY))
    assert learned(answer) == []
    page = await learning.memories.list(ANN, Filter(), False, None, 1_000)
    deeds = [m for m in page.memories if isinstance(m.body, Fact) and m.body.predicate == "experience"]
    assert len(deeds) == MOST + 1
