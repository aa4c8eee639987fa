"""What a question can ask of the past, of the session, of the time it names, and of the order of its answer."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memsidecar.adapters.redis_sessions import RedisSessions
from memsidecar.domain.draft import Draft, Patch, Request
from memsidecar.domain.errors import InvalidField, NotFound
from memsidecar.domain.events import Matrix
from memsidecar.domain.memory import Episode, Fact
from memsidecar.domain.recall import Filter, MessageHit, Question, Recalled, Tier, TierOutcome
from memsidecar.domain.session import Message, Role, Session
from memsidecar.ports.sessions import SessionKey
from memsidecar.services.patience import expect_answer_within
from tests.doubles.hash_embedder import HashEmbedder
from tests.services.stack import ANN, TEAM, Stack, stored

NAMES = itertools.count()
DAY = 24 * 3600 * 1_000_000
WHO = ANN.partition


def micros(*date: int) -> int:
    return int(datetime(*date, tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[arg-type, misc]


def texts(answer: Recalled) -> list[str]:
    return [hit.memory.text for hit in answer.hits]


def outcome(answer: Recalled, tier: Tier) -> TierOutcome:
    return next(report.outcome for report in answer.reports if report.tier is tier)


async def test_what_was_learnt_later_is_not_known_in_the_past(stack: Stack) -> None:
    (home,) = stored(await stack.remember(ANN, "Ann lives in Porto"))
    then = stack.clock.now()
    stack.clock.time += DAY
    await stack.memories.update(WHO, home.id, Patch({"statement": "Ann lives in Lisbon"}), Request())
    await stack.remember(ANN, "Ann lives with a cat")
    assert texts(await stack.recall(ANN, "where does Ann live", known_at=then)) == ["Ann lives in Porto"]
    assert "Ann lives in Lisbon" in texts(await stack.recall(ANN, "where does Ann live"))


async def test_the_future_is_the_present(stack: Stack) -> None:
    await stack.remember(ANN, "Ann lives in Porto")
    assert texts(await stack.recall(ANN, "Porto", known_at=stack.clock.now() + DAY)) == ["Ann lives in Porto"]


async def test_only_what_was_true_at_a_time_is_found(stack: Stack) -> None:
    moved = micros(2025, 6, 1)
    await stack.remember(
        ANN,
        Draft(Fact("Ann lives in Porto"), valid_to=moved),
        Draft(Fact("Ann lives in Lisbon"), valid_from=moved),
        Draft(Fact("Ann lives by the sea")),
    )
    before = await stack.recall(ANN, "where does Ann live", filter=Filter(valid_at=moved - 1))
    assert set(texts(before)) == {"Ann lives in Porto", "Ann lives by the sea"}
    after = await stack.recall(ANN, "where does Ann live", filter=Filter(valid_at=moved))
    assert set(texts(after)) == {"Ann lives in Lisbon", "Ann lives by the sea"}


async def test_pages_hold_every_hit_once_in_the_order_of_the_whole(stack: Stack) -> None:
    await stack.remember(ANN, *(f"green tea number {n}" for n in range(25)))
    whole = texts(await stack.recall(ANN, "green tea", max_hits=50))
    assert len(whole) == 25
    pages = [await stack.recall(ANN, "green tea", max_hits=10, skip=skip) for skip in (0, 10, 20)]
    assert [text for page in pages for text in texts(page)] == whole
    assert [page.more for page in pages] == [True, True, False]


async def test_what_says_the_same_is_one_hit_that_names_the_others(stack: Stack) -> None:
    (one, other) = stored(await stack.remember(ANN, "I drink green tea.", "I drink green tea!"))
    (shared,) = stored(await stack.remember(TEAM, "I drink green tea"))
    (hit,) = (await stack.recall(ANN, "green tea", include_shared=True)).hits
    found = {(hit.partition, hit.memory.id), *hit.duplicates}
    assert found == {(WHO, one.id), (WHO, other.id), (TEAM.partition, shared.id)}


async def test_a_folded_hit_makes_room_for_another(stack: Stack) -> None:
    same = [f"I drink green tea{'!' * n}" for n in range(8)]
    await stack.remember(ANN, *same, "green tea is from Kyoto", "green tea is cheap here")
    answer = await stack.recall(ANN, "green tea", max_hits=3)
    assert len({text.rstrip("!") for text in texts(answer)}) == 3


async def test_the_same_in_the_shared_partition_is_folded_under_its_own_name(stack: Stack) -> None:
    await stack.remember(ANN, "The kitchen has tea.")
    await stack.remember(TEAM, "The kitchen has tea!")
    (hit,) = (await stack.recall(ANN, "kitchen tea", include_shared=True)).hits
    ((partition, _),) = hit.duplicates
    assert {hit.partition, partition} == {WHO, TEAM.partition}


async def test_diversity_puts_what_is_new_before_what_is_alike(stack: Stack) -> None:
    await stack.remember(ANN, "green tea one", "green tea one more", "green tea one again", "green parrot")
    near = texts(await stack.recall(ANN, "green tea one", max_hits=2))
    far = texts(await stack.recall(ANN, "green tea one", max_hits=2, diversity=0.9))
    assert "green parrot" not in near
    assert far[0] == near[0]
    assert far[1] == "green parrot"


async def test_a_narrow_question_gets_fewer_hits_than_an_open_one_when_it_may_choose(stack: Stack) -> None:
    await stack.remember(ANN, "the library is at Park Street", *(f"the street has {n} shops" for n in range(6)))
    narrow = await stack.recall(ANN, "Where is the library on Park Street?", adaptive=True)
    assert texts(narrow) == ["the library is at Park Street"]
    fixed = await stack.recall(ANN, "Where is the library on Park Street?")
    assert len(fixed.hits) > 3


@pytest.mark.parametrize(
    ("zone", "found"), [("UTC", "the bakery was full"), ("Asia/Shanghai", "the bakery was closed")]
)
async def test_a_named_time_is_of_the_callers_zone(stack: Stack, zone: str, found: str) -> None:
    """Six in the evening in UTC is two in the morning of the next day in Shanghai."""
    for text, day in (("the bakery was closed", 1), ("the bakery was full", 2)):
        await stack.remember(ANN, Draft(Episode(text, start_time=micros(2026, 3, day, 18))))
    asked = micros(2026, 3, 3, 10)
    answer = await stack.recall(ANN, "the bakery yesterday", time=asked, zone=zone, only_named_time=True)
    assert texts(answer) == [found]


async def test_without_the_filter_a_named_time_is_a_bonus(stack: Stack) -> None:
    for day in (1, 2, 3):
        await stack.remember(ANN, Draft(Episode(f"a walk on day {day}", start_time=micros(2026, 3, day, 12))))
    answer = await stack.recall(ANN, "the walk on 2 March 2026", time=micros(2026, 4, 1), explain=True)
    assert texts(answer)[0] == "a walk on day 2"
    assert len(answer.hits) == 3
    assert answer.understanding is not None
    assert (answer.understanding.start, answer.understanding.end) == (micros(2026, 3, 2), micros(2026, 3, 3))


async def test_an_unknown_profile_or_weight_is_refused_by_name(stack: Stack) -> None:
    with pytest.raises(InvalidField, match=r"options\.profile: is none of balanced, default"):
        await stack.recall(ANN, "tea", profile="nonsense")
    with pytest.raises(InvalidField, match=r"options\.weights\[nonsense\]"):
        await stack.recall(ANN, "tea", weights={"nonsense": 1.0})


async def test_a_weight_of_the_request_counts(stack: Stack) -> None:
    await stack.remember(ANN, "tea")
    for weight, there in ((0.0, False), (1.0, True)):
        answer = await stack.recall(ANN, "tea", weights={"keyword": weight}, explain=True)
        assert ("keyword" in {c.signal for c in answer.hits[0].components}) is there


async def test_a_question_is_explained(stack: Stack) -> None:
    await stack.remember(ANN, Draft(Episode("Ben went to Lisbon", speaker="Ann")))
    answer = await stack.recall(ANN, "When did Ann see Ben in Lisbon?", explain=True)
    assert answer.understanding is not None
    assert (answer.understanding.people, answer.understanding.language) == (("Ann",), "en")
    assert answer.understanding.breadth == 0.0
    assert answer.understanding.entities
    assert (await stack.recall(ANN, "tea")).understanding is None


class Hanging(HashEmbedder):
    async def embed(self, texts: Sequence[str]) -> Matrix:
        if texts == ["green tea"]:
            await asyncio.Event().wait()
        return await super().embed(texts)


async def test_the_callers_deadline_leaves_time_for_the_answer(tmp_path: Path) -> None:
    stack = await Stack.open(tmp_path, Hanging())
    await stack.remember(ANN, "drinks green tea")

    async def ask() -> Recalled:
        expect_answer_within(0.3)
        async with asyncio.timeout(0.3):
            return await stack.recall(ANN, "green tea")

    answer = await asyncio.create_task(ask())
    assert texts(answer) == ["drinks green tea"]
    assert outcome(answer, Tier.VECTOR) is TierOutcome.TIMED_OUT
    await stack.close()


async def talk(stack: Stack, store: RedisSessions, *said: str) -> str:
    """A session in which the user says that; the stack's recalls hear sessions of this store from now on."""
    stack.clock.time = 4_102_444_800_000_000  # the store's sessions end by their own clock
    stack.recalling = stack.recall_with(store)
    now = stack.clock.now()
    name = f"talk-{next(NAMES)}"
    session = Session(name, ANN, now, now, now + DAY, DAY)
    await store.create(session, "", b"")
    await store.append(SessionKey(WHO, name), [Message(Role.USER, text) for text in said], now, None, "", b"")
    return name


async def test_the_last_turns_make_a_question_searchable(stack: Stack, store: RedisSessions) -> None:
    session = await talk(stack, store, "I had lunch at Trattoria Bella with Marco.")
    await stack.remember(ANN, "Trattoria Bella is on Via Roma", "the gym is on Main Street")
    alone = await stack.recall(ANN, "and where is that?", tiers=frozenset({Tier.KEYWORD}))
    assert texts(alone) == []
    answer = await stack.recall(
        ANN, "and where is that?", conversation=session, explain=True, tiers=frozenset({Tier.KEYWORD})
    )
    assert texts(answer)[0] == "Trattoria Bella is on Via Roma"
    assert answer.understanding is not None
    assert "Trattoria Bella" in answer.understanding.rewritten


async def test_messages_of_the_session_are_a_source_of_their_own(stack: Stack, store: RedisSessions) -> None:
    session = await talk(stack, store, "My flight is at nine.", "I like tea.")
    await stack.remember(ANN, "the flight is with TAP")
    question = Question(ANN, "When is my flight?", conversation=session)
    answer = await stack.recalling.once(question)
    assert [hit.message.text for hit in answer.messages] == ["My flight is at nine."]
    assert texts(answer) == ["the flight is with TAP"]
    assert outcome(answer, Tier.SESSION) is TierOutcome.OK
    events = [event async for event in stack.recalling.stream(question)]
    assert isinstance(events[0], MessageHit)
    assert sum(isinstance(event, MessageHit) for event in events) == 1
    assert (await stack.recall(ANN, "When is my flight?", conversation=session, skip=1)).messages == ()


async def test_a_session_that_is_not_there_is_not_found(stack: Stack, store: RedisSessions) -> None:
    await talk(stack, store, "hello")
    with pytest.raises(NotFound):
        await stack.recall(ANN, "tea", conversation="another")


async def test_without_the_session_store_memory_answers_and_says_so(stack: Stack) -> None:
    await stack.remember(ANN, "drinks green tea")
    answer = await stack.recall(ANN, "green tea", conversation="any")
    assert texts(answer) == ["drinks green tea"]
    assert outcome(answer, Tier.SESSION) is TierOutcome.UNAVAILABLE
    assert answer.degraded
