from __future__ import annotations

from collections.abc import Sequence

import pytest

from memsidecar.domain.draft import Draft
from memsidecar.domain.memory import Entity, Fact
from memsidecar.domain.ranking import DAY
from memsidecar.domain.recall import Tier, TierOutcome
from memsidecar.domain.scope import Scope
from memsidecar.services.sources import Ask, Found, KeywordSource
from tests.services.stack import ANN, BEN, Stack, said, stored


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


async def test_a_source_that_fails_is_reported_and_the_others_answer(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await stack.remember(ANN, "Ann met Bob in Lisbon")

    def fail(*_: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr(KeywordSource, "find", fail)
    answer = await stack.recall(ANN, "Who was in Lisbon?")
    assert [h.memory.text for h in answer.hits] == ["Ann met Bob in Lisbon"]
    (report,) = (r for r in answer.reports if r.tier is Tier.KEYWORD)
    assert report.outcome is TierOutcome.UNAVAILABLE
    assert "secret" not in report.message
    assert answer.degraded


async def test_a_source_that_takes_all_of_the_time_answers_alone(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    await stack.remember(ANN, "Ann met Bob in Lisbon")
    find = KeywordSource.find

    def slow(source: KeywordSource, ask: Ask, so_far: Sequence[Found]) -> Found | None:
        stack.clock.seconds += 5
        return find(source, ask, so_far)

    monkeypatch.setattr(KeywordSource, "find", slow)
    answer = await stack.recall(ANN, "Who was in Lisbon?", soft_deadline=1.0)
    assert answer.hits
    outcomes = {r.tier: r.outcome for r in answer.reports}
    assert outcomes[Tier.KEYWORD] is TierOutcome.OK
    assert outcomes[Tier.GRAPH] is outcomes[Tier.VECTOR] is TierOutcome.TIMED_OUT


async def test_what_is_connected_to_what_a_question_names_is_found(stack: Stack) -> None:
    await stack.remember(ANN, "Yesterday Bob saw Lisbon", "At night Lisbon shines over Porto", "the moon is far away")
    answer = await stack.recall(ANN, "Bob", tiers=frozenset({Tier.GRAPH}))
    assert [h.memory.text for h in answer.hits] == ["Yesterday Bob saw Lisbon", "At night Lisbon shines over Porto"]


OLD, NEW = "green tea", "green tea on quiet mornings together"


def old_and_new(now: int) -> tuple[Draft, Draft]:
    return Draft(Fact(OLD), valid_from=now - 90 * DAY), Draft(Fact(NEW), valid_from=now - DAY)


async def test_a_profile_of_the_request_orders_its_answer(stack: Stack) -> None:
    await stack.remember(ANN, *old_and_new(stack.clock.time))
    for profile, first in (("", OLD), ("recent", NEW)):
        answer = await stack.recall(ANN, "green tea", profile=profile, tiers=frozenset({Tier.KEYWORD}))
        assert answer.hits[0].memory.text == first


async def test_a_namespace_has_its_own_profile(stack: Stack) -> None:
    for scope, first in ((ANN, OLD), (Scope("latest", "ann"), NEW)):
        await stack.remember(scope, *old_and_new(stack.clock.time))
        answer = await stack.recall(scope, "green tea", tiers=frozenset({Tier.KEYWORD}))
        assert answer.hits[0].memory.text == first


async def test_an_assistant_is_asked_about_or_stands_behind(stack: Stack) -> None:
    await stack.remember(
        ANN, said("I cook rice with saffron.", speaker="user"), said("Cook rice!", speaker="assistant")
    )
    for question, speaker in (("How do I cook rice?", "user"), ("How did you say rice is cooked?", "assistant")):
        found = await stack.recall(ANN, question, tiers=frozenset({Tier.KEYWORD}))
        assert getattr(found.hits[0].memory.body, "speaker", "") == speaker


async def test_confidence_falls_when_the_words_lead_to_somebody_else(stack: Stack) -> None:
    await stack.remember(
        ANN, said("I adopted a tortoise in spring.", speaker="Bob"), said("Lovely weather today."), said("It rains.")
    )
    right = await stack.recall(ANN, "When did Bob adopt a tortoise?")
    wrong = await stack.recall(ANN, "When did Ann adopt a tortoise?")
    assert 1 >= right.confidence > wrong.confidence >= 0
    assert all(1 >= a.confidence >= b.confidence >= 0 for a, b in zip(right.hits, right.hits[1:], strict=False))
    assert (await stack.recall(BEN, "anything")).confidence == 0


@pytest.mark.parametrize("question", ["What tea did she drink in June 2023?", "2023年6月 tea"])
async def test_what_was_said_in_the_time_asked_about_comes_first(stack: Stack, question: str) -> None:
    june, july = 1_686_700_800_000_000, 1_689_292_800_000_000
    await stack.remember(ANN, Draft(Fact("Black tea"), valid_from=july), Draft(Fact("Green tea"), valid_from=june))
    answer = await stack.recall(ANN, question, explain=True, tiers=frozenset({Tier.KEYWORD}))
    assert [h.memory.text for h in answer.hits] == ["Green tea", "Black tea"]
    assert [c.raw for c in answer.hits[0].components if c.signal == "date"] == [1.0]


@pytest.mark.parametrize("time", [-(2**62), 0, 2**62])
async def test_a_question_may_be_asked_at_any_time(stack: Stack, time: int) -> None:
    await stack.remember(ANN, "Green tea")
    assert (await stack.recall(ANN, "Which tea yesterday, or last spring?", time=time)).hits


async def test_what_shares_an_entity_with_the_best_hit_is_lifted(stack: Stack) -> None:
    await stack.remember(
        ANN, "Yesterday the garden party was at Quinta", "Later they sold Quinta", "Later they sold much", "x", "y"
    )
    with_graph = await stack.recall(ANN, "the garden party", explain=True)
    (lifted,) = (h for h in with_graph.hits if h.memory.text == "Later they sold Quinta")
    assert "association" in {c.signal for c in lifted.components}
    assert lifted.path == ("Quinta",)
    without = await stack.recall(ANN, "the garden party", tiers=frozenset({Tier.KEYWORD, Tier.VECTOR}), explain=True)
    assert "association" not in {c.signal for h in without.hits for c in h.components}


async def test_a_wish_answers_a_request_for_advice_and_not_a_plain_question(stack: Stack) -> None:
    """A standing wish bears on advice though it shares no word with it; asked for a fact, it is in the way."""
    await stack.remember(
        ANN,
        said("I can't stand seafood.", speaker="user"),
        said("The library is at Park Street.", speaker="user"),
    )
    advice = await stack.recall(ANN, "Any idea for dinner tonight?", explain=True)
    assert any(c.signal == "preference" for c in advice.hits[0].components)
    plain = await stack.recall(ANN, "Where is the library?", explain=True)
    assert not any(c.signal == "preference" for hit in plain.hits for c in hit.components)
