from __future__ import annotations

from dataclasses import replace

from memsidecar.domain.draft import Action, Draft, Outcome, Request
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.memory import Entity, Episode, Fact, Preference
from memsidecar.domain.recall import Tier
from memsidecar.services.remember import Wait
from tests.services.stack import ANN, Stack, said, stored

WHO = ANN.partition


async def test_a_draft_that_refers_to_nothing_fails_alone(stack: Stack) -> None:
    bad = Draft(Fact("bad", subject="nobody"), path="items[1]")
    answer = await stack.remember(ANN, "one", bad, "two")
    assert isinstance(answer.outcomes[1], InvalidField)
    assert await stack.texts(ANN) == ["one", "two"]
    assert answer.revision == 2


async def test_durable_does_not_wait_for_the_embedder(stack: Stack) -> None:
    assert stack.embedder is not None
    answer = await stack.remembering(ANN, [Draft(Fact("one"))], Wait.DURABLE, Request())
    assert stack.embedder.calls == []
    (outcome,) = answer.outcomes
    assert isinstance(outcome, Outcome)
    assert outcome.embedding_pending
    assert (await stack.recall(ANN, "one", tiers=frozenset({Tier.KEYWORD}))).hits
    assert list(stack.backlog._partitions) == [WHO]


async def test_the_same_twice_in_one_batch_is_one_memory(stack: Stack) -> None:
    answer = await stack.remember(ANN, "likes tea", "Likes  tea")
    assert [o.action for o in answer.outcomes if isinstance(o, Outcome)] == [Action.CREATED, Action.DUPLICATE]
    assert await stack.texts(ANN) == ["likes tea"]


async def test_words_are_those_of_the_draft_that_was_stored(stack: Stack) -> None:
    """Two drafts with one content and different dates: the second adds a source, not its date's words."""
    early, late = (Draft(Episode("We met.", start_time=t * 86_400_000_000)) for t in (0, 40 * 365))
    await stack.remember(ANN, early, late)
    live = (await stack.residency.get(WHO)).resident
    replayed, _ = await stack.hydration(WHO)
    assert live.keywords.terms_by_row() == replayed.keywords.terms_by_row()
    assert "1970" in live.keywords.terms_by_row()[0]


async def test_names_in_a_batch_become_one_entity(stack: Stack) -> None:
    answer = await stack.remember(ANN, "Yesterday we saw Marta Silva there", "Then we asked Marta Silva again")
    one, two = stored(answer)
    assert one.mentions == two.mentions != ()


async def test_episodes_of_a_session_follow_each_other(stack: Stack) -> None:
    first, second, other = stored(await stack.remember(ANN, said("one"), said("two"), said("else", "t")))
    third = stored(await stack.remember(ANN, said("three")))[0]
    follows = [m.body.follows for m in (first, second, other, third) if isinstance(m.body, Episode)]
    assert follows == ["", first.id, "", second.id]


async def test_one_hundred_kinds_of_text_at_once(stack: Stack) -> None:
    drafts = [Draft(Preference(f"wants {n}", topic="x"), agent="a") for n in range(100)]
    answer = await stack.remember(replace(ANN, agent="a"), *drafts)
    assert len(stored(answer)) == len(await stack.texts(ANN)) == 100


async def test_a_merge_that_changes_a_text_without_vectors_voids_the_old_ones(stack: Stack) -> None:
    (entity,) = stored(await stack.remember(ANN, Draft(Entity("Lisbon", summary="a city"))))
    stack.space._embedder = None
    await stack.remember(ANN, Draft(Entity("Lisbon", summary="the capital of Portugal")))
    resident, _ = await stack.hydration(WHO)
    assert list(resident.due) == [entity.id]
    assert not resident.has_vectors(entity.id)
