from __future__ import annotations

from memsidecar.domain.draft import Draft
from memsidecar.domain.memory import Entity, Fact
from memsidecar.domain.recall import Tier
from tests.services.stack import ANN, Stack, said, stored


async def test_components_add_up_to_the_score(stack: Stack) -> None:
    await stack.remember(ANN, said("I love green tea."), said("Me too!", speaker="Bob"), "Ann met Bob in Lisbon")
    answer = await stack.recall(ANN, "What does Bob say about green tea in Lisbon?", explain=True)
    assert answer.hits
    for hit in answer.hits:
        assert abs(sum(c.contribution for c in hit.components) - hit.score) < 1e-3


async def test_the_neighbours_of_a_hit_share_its_relevance(stack: Stack) -> None:
    await stack.remember(
        ANN, said("Where to?"), said("To the zoo, for zebras."), said("Fine."), said("Unrelated.", "t")
    )
    hits = (await stack.recall(ANN, "zebras", tiers=frozenset({Tier.KEYWORD}))).hits
    assert [h.memory.text for h in hits] == ["To the zoo, for zebras.", "Where to?", "Fine."]


async def test_the_path_names_the_entities_that_led_there(stack: Stack) -> None:
    (lisbon,) = stored(await stack.remember(ANN, Draft(Entity("Lisbon", aliases=("Lisboa",)))))
    await stack.remember(ANN, Draft(Fact("They met there"), mentions=(lisbon.id,)))
    answer = await stack.recall(ANN, "What happened in Lisboa?", explain=True, tiers=frozenset({Tier.GRAPH}))
    assert {h.memory.text: h.path for h in answer.hits} == {"Lisbon": ("Lisbon",), "They met there": ("Lisbon",)}


async def test_the_one_person_asked_about_comes_first(stack: Stack) -> None:
    await stack.remember(ANN, said("I like hiking in the hills.", speaker="Bob"), said("I like hiking in the hills!"))
    answer = await stack.recall(ANN, "What does Bob like about hiking?")
    assert getattr(answer.hits[0].memory.body, "speaker", "") == "Bob"


async def test_long_sessions_are_searched_whole(stack: Stack) -> None:
    await stack.remember(ANN, *(said(f"Turn {n} says little.") for n in range(200)), said("The zebra came at last."))
    assert (await stack.recall(ANN, "zebra", max_hits=1)).hits[0].memory.text == "The zebra came at last."
