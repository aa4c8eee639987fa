"""What a text becomes besides an episode: facts and preferences of whoever speaks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memsidecar.domain.claims import Manner
from memsidecar.domain.draft import Action, Declined, Draft, Outcome, Request
from memsidecar.domain.gate import Gate
from memsidecar.domain.memory import Entity, Episode, Fact, Kind, Memory, Preference, Provenance
from memsidecar.domain.recall import Filter
from memsidecar.domain.scope import Scope
from memsidecar.services.remember import Remembered, Wait
from tests.services.stack import ANN, TEAM, Stack

DAY = 86_400_000_000
MONDAY = int(datetime(2026, 3, 2, 9, tzinfo=UTC).timestamp()) * 1_000_000


@pytest.fixture
async def learning(stack: Stack) -> Stack:
    stack.learn()
    return stack


def say(text: str, speaker: str = "", time: int | None = MONDAY, **more: object) -> Draft:
    source = Provenance(session="s", messages=("m1",), speaker=speaker, time=time)
    return Draft(Episode(text, speaker=speaker, start_time=time), session="s", source=source, **more)  # type: ignore[arg-type]


def learned(answer: Remembered) -> list[Memory]:
    return [e.memory for o in answer.outcomes if isinstance(o, Outcome) for e in o.extracted if isinstance(e, Outcome)]


def declined(answer: Remembered) -> list[Declined]:
    return [e for o in answer.outcomes if isinstance(o, Outcome) for e in o.extracted if isinstance(e, Declined)]


async def values(stack: Stack, memories: list[Memory], scope: Scope = ANN) -> list[tuple[str, str]]:
    """(attribute, value), an entity by its name."""
    found = []
    for memory in memories:
        assert isinstance(memory.body, Fact)
        value = memory.body.object_text
        if memory.body.object_entity:
            value = (await stack.memories.get(scope.partition, memory.body.object_entity)).text
        found.append((memory.body.predicate, value))
    return found


async def told(stack: Stack, *drafts: Draft, scope: Scope = ANN, request: str = "", extract: bool = True) -> Remembered:
    return await stack.remembering(scope, drafts, Wait.SEARCHABLE, Request(request, b"d"), extract=extract)


async def entity_named(stack: Stack, name: str, scope: Scope = ANN) -> Memory | None:
    page = await stack.memories.list(scope, Filter(kinds=frozenset({Kind.ENTITY})), False, None, 1000)
    found = [m for m in page.memories if isinstance(m.body, Entity) and name in (m.body.display_name, *m.body.aliases)]
    assert len(found) <= 1, found
    return found[0] if found else None


async def test_what_a_user_says_of_himself_is_a_fact_with_its_source(learning: Stack) -> None:
    answer = await told(learning, say("I live in Oslo."))
    (outcome,) = answer.outcomes
    assert isinstance(outcome, Outcome)
    (fact,) = learned(answer)
    body = fact.body
    assert isinstance(body, Fact)
    assert (body.subject, body.negated) == ("", False)
    assert await values(learning, [fact]) == [("lives_in", "Oslo")]
    (source,) = fact.provenance
    assert source.derived_from == (outcome.memory.id,)
    assert (source.extractor, source.session, source.messages, source.time) == ("rules", "s", ("m1",), MONDAY)
    assert fact.valid_from == MONDAY
    assert fact.valid_to is None
    assert answer.stages.extracted
    assert answer.stages.searchable
    assert answer.stages.job == ""


async def test_the_place_that_a_fact_leads_to_is_an_entity(learning: Stack) -> None:
    (fact,) = learned(await told(learning, say("I live in Oslo.")))
    place = await entity_named(learning, "Oslo")
    assert place is not None
    assert isinstance(fact.body, Fact)
    assert fact.body.object_entity == place.id


@pytest.mark.parametrize("speaker", ["assistant", "Assistant", "system", "tool", "ai", "bot", "助手", "Tool: search"])
async def test_nothing_is_read_out_of_what_the_other_side_says(learning: Stack, speaker: str) -> None:
    answer = await told(learning, say("I live in Oslo.", speaker))
    assert not learned(answer)
    assert not declined(answer)


async def test_the_agent_is_not_its_user(learning: Stack) -> None:
    assert learned(await told(learning, say("I live in Oslo.", "helper"), scope=replace(ANN, agent="helper"))) == []


@pytest.mark.parametrize("speaker", ["", "user", "User", "ann", "Ann", "用户"])
async def test_the_user_is_the_subject_of_what_he_says(learning: Stack, speaker: str) -> None:
    (fact,) = learned(await told(learning, say("I live in Oslo.", speaker)))
    assert isinstance(fact.body, Fact)
    assert fact.body.subject == ""


async def test_somebody_else_is_the_subject_of_what_he_says(learning: Stack) -> None:
    (fact,) = learned(await told(learning, say("I live in Oslo.", "Melanie")))
    person = await entity_named(learning, "Melanie")
    assert person is not None
    assert isinstance(fact.body, Fact)
    assert fact.body.subject == person.id


async def test_nobody_knows_who_an_unnamed_speaker_is_where_there_are_no_users(learning: Stack) -> None:
    assert learned(await told(learning, say("I live in Oslo."), scope=TEAM)) == []
    assert len(learned(await told(learning, say("I live in Oslo.", "Ann"), scope=TEAM))) == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("User: I live in Oslo.\nAssistant: I live in the cloud. I live in Rome.", [("lives_in", "Oslo")]),
        ("Assistant: I live in Rome.", []),
        ("Ben: I live in Oslo.\nMia: I live in Rome.", []),
        ("用户：我住在上海。\n助手：我住在北京。", [("lives_in", "上海")]),
    ],
)
async def test_of_a_transcript_only_the_users_part_is_read(
    learning: Stack, text: str, wanted: list[tuple[str, str]]
) -> None:
    assert await values(learning, learned(await told(learning, say(text)))) == wanted


async def test_only_the_parts_that_were_heard_are_read(learning: Stack) -> None:
    from memsidecar.domain.claims import Span

    text = "Hello. I live in Oslo. I live in Rome."
    (fact,) = learned(await told(learning, say(text, heard=(Span(7, 22),))))
    assert await values(learning, [fact]) == [("lives_in", "Oslo")]


async def test_skipped_extraction_reads_nothing(learning: Stack) -> None:
    assert learned(await told(learning, say("I live in Oslo."), extract=False)) == []
    (outcome,) = (await told(learning, Draft(Fact("lives in Oslo")), extract=False)).outcomes
    assert isinstance(outcome, Outcome)
    assert outcome.memory.body == Fact("lives in Oslo")


async def test_with_the_mode_none_nothing_is_read(stack: Stack) -> None:
    stack.learn(mode="none")
    assert learned(await told(stack, say("I live in Oslo."))) == []


async def test_what_matters_too_little_is_declined_with_the_reason(stack: Stack) -> None:
    stack.learn(gate=Gate(min_importance=0.99))
    answer = await told(stack, say("I live in Oslo."))
    assert learned(answer) == []
    (refused,) = declined(answer)
    assert "importance" in refused.explanation
    assert refused.statement


async def test_sensitive_content_is_declined_without_consent_and_its_text_kept(stack: Stack) -> None:
    stack.learn()
    answer = await told(stack, say("I was diagnosed with diabetes."), say("I'm allergic to peanuts."))
    (refused,) = declined(answer)
    assert "health" in refused.explanation
    assert [m.text for m in learned(answer)] == ["I'm allergic to peanuts"]
    assert "I was diagnosed with diabetes." in await stack.texts(ANN)


async def test_sensitive_content_is_stored_with_consent(stack: Stack) -> None:
    stack.learn(gate=Gate(sensitive=True))
    assert len(learned(await told(stack, say("I was diagnosed with diabetes.")))) == 1


async def test_what_is_said_explicitly_passes_no_gate(stack: Stack) -> None:
    stack.learn(gate=Gate(min_importance=0.99))
    (outcome,) = (await told(stack, Draft(Fact("has diabetes"), importance=0.1))).outcomes
    assert isinstance(outcome, Outcome)
    assert outcome.action is Action.CREATED


async def test_a_time_that_is_named_says_from_when(learning: Stack) -> None:
    (fact,) = learned(await told(learning, say("I moved to Berlin last month.")))
    assert fact.valid_from is not None
    assert fact.valid_from < MONDAY - 20 * DAY
    assert fact.valid_to is None


async def test_a_preference_has_its_topic_and_polarity(learning: Stack) -> None:
    likes = learned(await told(learning, say("I love hiking."), say("I hate cilantro.")))
    found = [(m.body.topic, m.body.polarity > 0) for m in likes if isinstance(m.body, Preference)]
    assert found == [("hiking", True), ("cilantro", False)]


async def test_a_fact_that_is_a_sentence_gets_its_structure(learning: Stack) -> None:
    answer = await told(learning, Draft(Fact("lives in Rome")), Draft(Fact("moved to Oslo")))
    bodies = [o.memory.body for o in answer.outcomes if isinstance(o, Outcome)]
    assert bodies == [
        Fact("lives in Rome", predicate="lives_in", object_text="Rome"),
        Fact("moved to Oslo", predicate="lives_in", object_text="Oslo"),
    ]


async def test_what_a_caller_gave_is_left_as_it_is(learning: Stack) -> None:
    given = Fact("lives in Rome", predicate="home", object_text="Roma")
    (outcome,) = (await told(learning, Draft(given))).outcomes
    assert isinstance(outcome, Outcome)
    assert outcome.memory.body == given


async def test_the_same_in_other_words_is_one_memory_with_two_sources(learning: Stack) -> None:
    (first,) = learned(await told(learning, say("I live in Oslo.")))
    answer = await told(learning, say("My home is Oslo now, I live in Oslo these days.", time=MONDAY + DAY))
    again = [m for m in learned(answer) if isinstance(m.body, Fact) and m.body.predicate == "lives_in"]
    assert {m.id for m in again} == {first.id}
    assert len(again[-1].provenance) == 2


async def test_said_again_word_for_word_is_no_second_memory(learning: Stack) -> None:
    first = await told(learning, say("I live in Oslo."))
    again = await told(learning, say("I live in Oslo."))
    assert [m.id for m in learned(first)] == [m.id for m in learned(again)]
    assert len(await learning.texts(ANN)) == 2


async def test_a_repeated_request_gets_the_first_answer_with_all_that_was_read(learning: Stack) -> None:
    drafts = (say("I live in Oslo. I was diagnosed with diabetes."),)
    request = "11111111-1111-4111-8111-111111111111"
    first = await told(learning, *drafts, request=request)
    again = await told(learning, *drafts, request=request)
    assert [m.id for m in learned(first)] == [m.id for m in learned(again)]
    assert [d.explanation for d in declined(first)] == [d.explanation for d in declined(again)]
    assert first.stages == again.stages
    assert first.revision == again.revision


async def test_who_is_described_gets_a_name_once_it_is_known(learning: Stack) -> None:
    await told(learning, say("My wife is a nurse."))
    described = await entity_named(learning, "My wife") or await entity_named(learning, "my wife")
    assert described is not None
    await told(learning, say("My wife's name is Clara.", time=MONDAY + DAY))
    named = await entity_named(learning, "Clara")
    assert named is not None
    assert named.id == described.id
    (fact,) = learned(await told(learning, say("My wife lives in Bergen.", time=MONDAY + 2 * DAY)))
    assert isinstance(fact.body, Fact)
    assert fact.body.subject == described.id


async def test_what_one_calls_his_sister_is_not_anothers_sister(learning: Stack) -> None:
    ben = learned(await told(learning, say("My sister lives in Rome.", "Ben")))
    mia = learned(await told(learning, say("My sister lives in Rome.", "Mia")))
    subjects = [m.body.subject for m in (*ben, *mia) if isinstance(m.body, Fact)]
    assert len(subjects) == len(set(subjects)) == 2


async def test_a_change_is_told_as_one(learning: Stack) -> None:
    (draft,) = await learning.remembering._learning([say("I just moved to Oslo.")], ANN)  # type: ignore[misc]
    assert [claim.manner for claim in draft.claims] == [Manner.CHANGED]


async def test_a_long_text_is_read_without_holding_the_loop(learning: Stack) -> None:
    text = "I live in Oslo. " + "The weather was fine, and nothing else happened. " * 2_000
    assert await values(learning, learned(await told(learning, say(text)))) == [("lives_in", "Oslo")]


async def test_what_is_read_says_which_words_of_the_episode_state_it(learning: Stack) -> None:
    text = "晚上好 🙂！我住在成都。 And I work at Acme."
    memories = learned(await told(learning, say(text)))
    assert memories
    for memory in memories:
        (source,) = memory.provenance
        (episode,) = source.derived_from
        said = (await learning.memories.get(ANN.partition, episode)).text
        assert said[source.start : source.end].strip()
        assert said[source.start : source.end] in memory.text or memory.text in said[source.start : source.end]
