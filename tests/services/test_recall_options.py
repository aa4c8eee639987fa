"""What a request may ask of a recall beside its question, and the session that is going on, in whole recalls."""

from __future__ import annotations

import pytest

from memsidecar.adapters.quicktok_tokenizer import QuicktokTokenizer
from memsidecar.adapters.redis_sessions import RedisSessions
from memsidecar.domain.draft import Draft, Request
from memsidecar.domain.errors import InvalidField, NotFound
from memsidecar.domain.memory import Fact
from memsidecar.domain.ranking import DAY
from memsidecar.domain.recall import Filter, MessageHit, Question, Recalled, Tier, TierOutcome
from memsidecar.domain.session import Message, Role
from memsidecar.ports.sessions import SessionKey
from memsidecar.services.sessions import Sessions
from tests.services.stack import ANN, TEAM, Stack, said, stored

WORDS = frozenset({Tier.KEYWORD})
JUNE = 1_686_700_800_000_000  # 14 June 2023


def texts(answer: Recalled) -> list[str]:
    return [hit.memory.text for hit in answer.hits]


def outcome_of(answer: Recalled, tier: Tier) -> TierOutcome:
    (report,) = (r for r in answer.reports if r.tier is tier)
    return report.outcome


async def test_what_says_the_same_is_one_hit_that_names_the_others(stack: Stack) -> None:
    one, again, other = stored(
        await stack.remember(
            ANN, said("I love green tea."), said("Oh, I love green tea!", "t"), said("I love green tea, not black.")
        )
    )
    answer = await stack.recall(ANN, "green tea")
    assert {hit.memory.id for hit in answer.hits} in ({one.id, other.id}, {again.id, other.id})
    (folded,) = (hit for hit in answer.hits if hit.duplicates)
    assert {folded.memory.id, *(memory for _, memory in folded.duplicates)} == {one.id, again.id}


async def test_the_same_in_the_shared_partition_is_folded_under_its_own_name(stack: Stack) -> None:
    await stack.remember(ANN, "The kitchen has tea.")
    await stack.remember(TEAM, "The kitchen has tea!")
    (hit,) = (await stack.recall(ANN, "kitchen tea", include_shared=True)).hits
    ((partition, _),) = hit.duplicates
    assert {hit.partition, partition} == {ANN.partition, TEAM.partition}


@pytest.mark.parametrize("diversity", [0.0, 0.5])
async def test_pages_hold_each_hit_once_in_the_order_of_the_whole(stack: Stack, diversity: float) -> None:
    await stack.remember(ANN, *(f"{'tea ' * (1 + n % 5)}number {n}" for n in range(23)), "Tea number 0!")
    whole = await stack.recall(ANN, "tea", max_hits=40, diversity=0.0)
    assert not whole.more
    assert len(whole.hits) == 23
    paged: list[str] = []
    more = True
    while more:
        page = await stack.recall(ANN, "tea", max_hits=7, skip=len(paged), diversity=diversity)
        paged += texts(page)
        more = page.more
    assert sorted(paged) == sorted(texts(whole))
    if not diversity:
        assert paged == texts(whole)


async def test_variety_puts_what_has_not_been_said_yet_before_what_has(stack: Stack) -> None:
    await stack.remember(ANN, "green tea in the morning", "green tea in the mornings", "tea bowls from Kyoto")
    plain = await stack.recall(ANN, "green tea morning")
    varied = await stack.recall(ANN, "green tea morning", diversity=1.0)
    assert texts(plain)[-1] == "tea bowls from Kyoto"
    assert texts(varied)[0] == texts(plain)[0]
    assert texts(varied)[1] == "tea bowls from Kyoto"


async def test_a_narrow_question_gets_fewer_hits_when_it_may_decide(stack: Stack) -> None:
    await stack.remember(ANN, "The tea house opens at nine", *(f"Tea house note {n} on many things" for n in range(8)))
    narrow, open_ = "When does the tea house open?", "What do you know of the tea house?"
    few = await stack.recall(ANN, narrow, adaptive=True)
    many = await stack.recall(ANN, open_, adaptive=True)
    assert 1 <= len(few.hits) < len(many.hits)
    assert len((await stack.recall(ANN, narrow)).hits) == 9
    assert not few.more


@pytest.mark.parametrize(
    ("question", "found"), [("tea in June 2023", ["Green tea"]), ("tea", ["Black tea", "Green tea"])]
)
async def test_a_named_time_is_a_filter_when_asked_for(stack: Stack, question: str, found: list[str]) -> None:
    for text, time in (("Green tea", JUNE), ("Black tea", JUNE + 30 * DAY)):
        await stack.remember(ANN, Draft(Fact(text), valid_from=time))
    assert sorted(texts(await stack.recall(ANN, question, only_named_time=True))) == found
    assert len(texts(await stack.recall(ANN, question))) == 2


async def test_days_begin_where_the_question_is_asked(stack: Stack) -> None:
    """It is the 15th in Shanghai already, and still the 14th in London."""
    asked = JUNE + 20 * 3600 * 1_000_000
    await stack.remember(
        ANN, Draft(Fact("Green tea"), valid_from=JUNE), Draft(Fact("Black tea"), valid_from=JUNE - DAY)
    )
    for zone, found in (("Asia/Shanghai", "Green tea"), ("Europe/London", "Black tea")):
        answer = await stack.recall(ANN, "tea yesterday", time=asked, zone=zone, only_named_time=True, tiers=WORDS)
        assert texts(answer) == [found]


async def test_what_was_known_then_is_what_is_recalled(stack: Stack) -> None:
    await stack.remember(ANN, "drinks green tea")
    then = stack.clock.now()
    stack.clock.time += DAY
    await stack.remember(ANN, "drinks black tea")
    assert texts(await stack.recall(ANN, "tea", known_at=then)) == ["drinks green tea"]
    assert texts(await stack.recall(ANN, "tea", known_at=then - 1)) == []
    assert len((await stack.recall(ANN, "tea", known_at=stack.clock.now() + DAY)).hits) == 2


async def test_what_was_true_then_is_what_is_recalled(stack: Stack) -> None:
    await stack.remember(
        ANN,
        Draft(Fact("lives in Porto"), valid_from=JUNE, valid_to=JUNE + DAY),
        Draft(Fact("lives in Lisbon"), valid_from=JUNE + DAY),
        "lives by the sea",
    )
    for time, found in ((JUNE - 1, set()), (JUNE, {"lives in Porto"}), (JUNE + DAY, {"lives in Lisbon"})):
        answer = await stack.recall(ANN, "lives", filter=Filter(valid_at=time))
        assert set(texts(answer)) == found | {"lives by the sea"}


async def test_an_unknown_profile_or_weight_is_named(stack: Stack) -> None:
    for more, field in (
        ({"profile": "none"}, "options.profile"),
        ({"weights": {"luck": 1.0}}, "options.weights[luck]"),
    ):
        with pytest.raises(InvalidField) as refused:
            await stack.recall(ANN, "tea", **more)
        assert refused.value.violations[0][0] == field


async def test_a_weight_of_the_request_changes_its_answer_alone(stack: Stack) -> None:
    await stack.remember(ANN, "tea")
    off = await stack.recall(ANN, "tea", weights={"keyword": 0.0, "similarity": 0.0}, explain=True)
    assert not {"keyword", "similarity"} & {c.signal for hit in off.hits for c in hit.components}
    on = await stack.recall(ANN, "tea", explain=True)
    assert {"keyword", "similarity"} <= {c.signal for c in on.hits[0].components}


async def test_an_explained_answer_says_what_was_understood(stack: Stack) -> None:
    await stack.remember(ANN, said("We saw Lisbon.", speaker="Bob"), said("Nice."))
    answer = await stack.recall(ANN, "When was Bob in Lisbon in June 2023?", explain=True)
    found = answer.understanding
    assert found is not None
    assert (found.people, found.language, found.breadth, found.rewritten) == (("Bob",), "en", 0.0, "")
    assert len(found.entities) == 1
    assert found.start is not None
    assert found.end is not None
    assert found.start <= JUNE < found.end
    assert (await stack.recall(ANN, "When was Bob in Lisbon?")).understanding is None


async def talk(stack: Stack, store: RedisSessions, name: str, *turns: str) -> None:
    """Recalls of the stack hear a session of Ann's from now on."""
    stack.clock.time = 4_102_444_800_000_000  # the store's sessions end by their own clock
    stack.recalling = stack.recall_with(store)
    sessions = Sessions(store, QuicktokTokenizer(), stack.clock, stack.ids)
    await sessions.create(ANN, name, {}, None, None, Request())
    messages = [Message(Role.USER, text) for text in turns]
    await sessions.append(SessionKey(ANN.partition, name), messages, None, Request())


async def test_messages_of_the_session_come_beside_the_hits(stack: Stack, store: RedisSessions) -> None:
    await talk(stack, store, "beside", "The orders table is large.", "It rains.")
    await stack.remember(ANN, "The orders table has forty columns")
    answer = await stack.recall(ANN, "orders table size", conversation="beside")
    assert [hit.message.text for hit in answer.messages] == ["The orders table is large."]
    assert texts(answer) == ["The orders table has forty columns"]
    assert outcome_of(answer, Tier.SESSION) is TierOutcome.OK
    later = await stack.recall(ANN, "orders table size", conversation="beside", skip=1)
    assert later.messages == ()
    without = await stack.recall(ANN, "orders table size", conversation="beside", tiers=WORDS)
    assert without.messages == ()
    assert outcome_of(without, Tier.SESSION) is TierOutcome.SKIPPED


async def test_the_last_turns_make_a_question_searchable(stack: Stack, store: RedisSessions) -> None:
    await stack.remember(ANN, "Trattoria Bella is on Mill Lane")
    await talk(stack, store, "leaning", "We had lunch at Trattoria Bella.")
    alone = await stack.recall(ANN, "And where is that?", tiers=WORDS)
    assert texts(alone) == []
    answer = await stack.recall(ANN, "And where is that?", conversation="leaning", tiers=WORDS, explain=True)
    assert texts(answer) == ["Trattoria Bella is on Mill Lane"]
    assert answer.understanding is not None
    assert "Trattoria Bella" in answer.understanding.rewritten


async def test_a_stream_begins_with_the_session(stack: Stack, store: RedisSessions) -> None:
    await talk(stack, store, "streamed", "The orders table is large.")
    await stack.remember(ANN, "The orders table has forty columns")
    events = [e async for e in stack.recalling.stream(Question(ANN, "orders table", conversation="streamed"))]
    assert isinstance(events[0], MessageHit)
    assert isinstance(events[-1], Recalled)
    assert sum(isinstance(event, MessageHit) for event in events) == 1


async def test_a_session_that_is_not_there_is_an_error(stack: Stack, store: RedisSessions) -> None:
    await talk(stack, store, "there", "Hello.")
    with pytest.raises(NotFound):
        await stack.recall(ANN, "tea", conversation="gone")


async def test_without_the_session_store_long_term_memory_answers(stack: Stack) -> None:
    await stack.remember(ANN, "drinks green tea")
    answer = await stack.recall(ANN, "green tea", conversation="s")
    assert texts(answer) == ["drinks green tea"]
    assert outcome_of(answer, Tier.SESSION) is TierOutcome.UNAVAILABLE
    assert answer.degraded
