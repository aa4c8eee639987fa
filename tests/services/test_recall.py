from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from memsidecar.domain.draft import Draft, Request
from memsidecar.domain.errors import DimensionMismatch, ModelUnavailable, RevisionUnknown, StoreUnavailable
from memsidecar.domain.events import Matrix, Vectors
from memsidecar.domain.memory import Entity, Episode, Fact, State
from memsidecar.domain.recall import Filter, Hit, Question, Recalled, Tier, TierOutcome, TierReport
from tests.doubles.hash_embedder import HashEmbedder
from tests.services.stack import ANN, BEN, TEAM, Stack, said, stored

WHO = ANN.partition
MEANING = frozenset({Tier.VECTOR})


def outcomes(answer: Recalled) -> dict[Tier, TierOutcome]:
    return {report.tier: report.outcome for report in answer.reports}


class Slow(HashEmbedder):
    """Answers once `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.asked, self.cancelled = asyncio.Event(), asyncio.Event(), False
        self.go.set()

    async def embed(self, texts: Sequence[str]) -> Matrix:
        self.asked.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return await super().embed(texts)


@pytest.fixture
def embedder() -> Slow:
    return Slow()


def slow(stack: Stack) -> Slow:
    assert isinstance(stack.embedder, Slow)
    return stack.embedder


async def test_without_the_embedder_the_other_tiers_answer(stack: Stack) -> None:
    await stack.remember(ANN, "drinks green tea", "plays chess")
    slow(stack).failure = ModelUnavailable("hash")
    answer = await stack.recall(ANN, "green tea")
    assert [hit.memory.text for hit in answer.hits] == ["drinks green tea"]
    assert outcomes(answer) == {
        Tier.VECTOR: TierOutcome.UNAVAILABLE,
        Tier.KEYWORD: TierOutcome.OK,
        Tier.GRAPH: TierOutcome.SKIPPED,
        Tier.SESSION: TierOutcome.SKIPPED,
        Tier.RECENCY: TierOutcome.SKIPPED,
    }


async def test_a_slow_embedder_is_waited_for_no_longer_than_asked(stack: Stack) -> None:
    await stack.remember(ANN, "drinks green tea")
    slow(stack).go.clear()
    answer = await stack.recall(ANN, "green tea", soft_deadline=0.01)
    assert outcomes(answer)[Tier.VECTOR] is TierOutcome.TIMED_OUT
    assert len(answer.hits) == 1
    assert slow(stack).cancelled


async def test_meaning_alone_without_the_embedder_is_an_error(stack: Stack) -> None:
    await stack.remember(ANN, "drinks green tea")
    slow(stack).failure = ModelUnavailable("hash")
    with pytest.raises(ModelUnavailable):
        await stack.recall(ANN, "green tea", tiers=MEANING)
    with pytest.raises(ModelUnavailable):
        [item async for item in stack.recalling.stream(Question(ANN, "green tea", tiers=MEANING))]


async def test_an_empty_partition_has_an_empty_answer(stack: Stack) -> None:
    answer = await stack.recall(ANN, "anything")
    assert (answer.hits, answer.revision, answer.confidence) == ((), 0, 0.0)


async def test_shared_memories_merge_and_another_users_never_show(stack: Stack) -> None:
    await stack.remember(ANN, "Ann drinks green tea")
    await stack.remember(BEN, "Ben drinks green tea")
    await stack.remember(TEAM, "The team drinks green tea")
    alone = await stack.recall(ANN, "green tea")
    assert [h.memory.text for h in alone.hits] == ["Ann drinks green tea"]
    both = await stack.recall(ANN, "green tea", include_shared=True)
    assert {h.memory.text for h in both.hits} == {"Ann drinks green tea", "The team drinks green tea"}
    assert {h.partition for h in both.hits} == {WHO, TEAM.partition}
    team = await stack.recall(TEAM, "green tea", include_shared=True)
    assert [h.memory.text for h in team.hits] == ["The team drinks green tea"]


async def test_a_revision_not_reached_is_refused(stack: Stack) -> None:
    written = await stack.remember(ANN, "one")
    assert (await stack.recall(ANN, "one", min_revision=written.revision)).hits
    with pytest.raises(RevisionUnknown):
        await stack.recall(ANN, "one", min_revision=written.revision + 1)


async def test_an_entity_alone_is_a_question(stack: Stack) -> None:
    (entity,) = stored(await stack.remember(ANN, Draft(Entity("Lisbon"))))
    await stack.remember(ANN, "They met in Lisbon last year", "nothing of note")
    answer = await stack.recall(ANN, "", entities=(entity.id,))
    assert {h.memory.text for h in answer.hits} == {"Lisbon", "They met in Lisbon last year"}
    assert outcomes(answer)[Tier.VECTOR] is TierOutcome.SKIPPED
    assert not (await stack.recall(ANN, "", entities=("never",))).hits


async def test_agent_and_session_narrow(stack: Stack) -> None:
    for agent, session in (("a", "s"), ("b", "s"), ("", "t")):
        await stack.remember(replace(ANN, agent=agent, session=session), f"green tea of {agent} in {session}")
    by_agent = await stack.recall(replace(ANN, agent="a"), "green tea")
    assert {h.memory.text for h in by_agent.hits} == {"green tea of a in s", "green tea of  in t"}
    by_session = await stack.recall(replace(ANN, session="s"), "green tea")
    assert {h.memory.text for h in by_session.hits} == {"green tea of a in s", "green tea of b in s"}


async def test_a_rare_label_is_never_starved(tmp_path: Path) -> None:
    stack = await Stack.open(tmp_path, None, crossover=200)
    random = np.random.default_rng(1)
    rows = random.standard_normal((5_000, 8)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for start in range(0, 5_000, 1_000):
        drafts = [
            Draft(
                Fact(f"number {n}"),
                labels={"rare": "yes"} if n % 1_700 == 3 else {},
                embedding=Vectors("", rows[n : n + 1]),
            )
            for n in range(start, start + 1_000)
        ]
        await stack.remember(ANN, *drafts)
    await (await stack.residency.get(WHO)).resident.vectors.maintain()
    question = Question(
        ANN, "", embedding=Vectors("", -rows[3:4]), filter=Filter(labels={"rare": "yes"}), max_hits=3, tiers=MEANING
    )
    answer = await stack.recalling.once(question)
    assert {h.memory.text for h in answer.hits} == {"number 3", "number 1703", "number 3403"}
    await stack.close()


async def test_low_scores_are_left_out_and_the_order_is_stable(stack: Stack) -> None:
    await stack.remember(ANN, *(f"green tea {n}" for n in range(30)), "nothing alike")
    first = await stack.recall(ANN, "green tea", max_hits=20)
    for _ in range(3):
        assert (await stack.recall(ANN, "green tea", max_hits=20)).hits == first.hits
    scores = [h.score for h in first.hits]
    assert scores == sorted(scores, reverse=True)
    above = await stack.recall(ANN, "green tea", max_hits=20, min_score=scores[5])
    assert above.hits == tuple(h for h in first.hits if h.score >= scores[5])


@pytest.mark.parametrize("text", ["Ann drinks green tea every morning", "她每天早上喝绿茶", "🙂 !!"])
async def test_the_words_of_a_memory_find_it_first(stack: Stack, text: str) -> None:
    await stack.remember(ANN, *(f"Ann drinks {n} cups of black tea" for n in range(20)), text, "绿茶", "tea")
    assert (await stack.recall(ANN, text)).hits[0].memory.text == text


async def test_a_vector_alone_is_a_question(stack: Stack) -> None:
    await stack.remember(ANN, "green tea", "black coffee")
    vector = Vectors("", await slow(stack).embed(["green tea"]))
    assert (await stack.recall(ANN, "", embedding=vector, max_hits=1)).hits[0].memory.text == "green tea"
    with pytest.raises(DimensionMismatch):
        await stack.recall(ANN, "", embedding=Vectors("", np.ones((1, 5), np.float32)))


async def test_what_is_gone_lends_its_neighbours_no_score(stack: Stack) -> None:
    spoken = [said("We went out."), said("The zebra was the best."), said("Then we left.")]
    before, middle, after = stored(await stack.remember(ANN, *spoken))
    words = frozenset({Tier.KEYWORD})
    assert {h.memory.id for h in (await stack.recall(ANN, "zebra", tiers=words)).hits} == {
        before.id,
        middle.id,
        after.id,
    }
    await stack.memories.delete(WHO, middle.id, "", False, "", Request())
    assert not (await stack.recall(ANN, "zebra", tiers=words)).hits
    deleted = Filter(states=frozenset({State.DELETED}))
    assert [h.memory.id for h in (await stack.recall(ANN, "zebra", tiers=words, filter=deleted)).hits] == [middle.id]
    await stack.memories.undelete(WHO, middle.id, Request())
    await stack.remember(ANN, said("Bye.", "other"), replace(said("A zebra again."), expires_at=stack.clock.time + 1))
    stack.clock.time += 2
    last = [h.memory.text for h in (await stack.recall(ANN, "again", tiers=words)).hits]
    assert last == []


async def test_a_streams_hits_come_once_and_all_before_the_answer(stack: Stack) -> None:
    await stack.remember(ANN, "green tea", "green leaves", "tee from greenland", "xyz")
    items = [item async for item in stack.recalling.stream(Question(ANN, "green tea"))]
    hits = [item.memory.id for item in items if isinstance(item, Hit)]
    assert len(hits) == len(set(hits))
    assert isinstance(items[-1], Recalled)
    assert {h.memory.id for h in items[-1].hits} <= set(hits)
    assert sum(isinstance(item, Recalled) for item in items) == 1
    assert sorted(item.tier for item in items if isinstance(item, TierReport)) == sorted(set(Tier) - {Tier.RERANKER})
    assert items[-1] == await stack.recall(ANN, "green tea")


async def test_a_stream_without_early_hits_reports_each_tier_once(stack: Stack) -> None:
    await stack.remember(ANN, "drinks tea")
    items = [item async for item in stack.recalling.stream(Question(ANN, "coffee pot"))]
    assert sorted(item.tier for item in items if isinstance(item, TierReport)) == sorted(set(Tier) - {Tier.RERANKER})


async def test_a_stream_gives_words_before_the_model_answers(stack: Stack) -> None:
    await stack.remember(ANN, "green tea")
    slow(stack).go.clear()
    stream = stack.recalling.stream(Question(ANN, "green tea"))
    assert isinstance(await anext(stream), Hit)
    slow(stack).go.set()
    assert isinstance([item async for item in stream][-1], Recalled)


async def test_a_stream_closed_early_cancels_what_it_began(stack: Stack) -> None:
    await stack.remember(ANN, "green tea")
    slow(stack).go.clear()
    slow(stack).asked.clear()
    stream = stack.recalling.stream(Question(ANN, "green tea"))
    assert isinstance(await anext(stream), Hit)
    await slow(stack).asked.wait()
    await stream.aclose()  # type: ignore[attr-defined]
    assert slow(stack).cancelled
    assert "embed-question" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_what_is_due_is_noticed_by_a_recall(stack: Stack) -> None:
    slow(stack).failure = ModelUnavailable("hash")
    await stack.remember(ANN, "green tea")
    stack.backlog._partitions.clear()
    slow(stack).failure = None
    await stack.recall(ANN, "green tea")
    assert list(stack.backlog._partitions) == [WHO]


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("What did I do before 2020?", "UTC"),
        ("2020年之前我做了什么？", "Asia/Shanghai"),
        ("What happens on 9999-12-31?", "America/New_York"),
        ("What happened on 0001-01-01?", "Asia/Shanghai"),
    ],
)
async def test_a_named_time_is_one_that_a_timestamp_can_tell(stack: Stack, text: str, zone: str) -> None:
    await stack.remember(ANN, "one")
    answer = await stack.recall(ANN, text, zone=zone, explain=True)
    found = answer.understanding
    assert found is not None
    told = [Timestamp(seconds=time // 1_000_000) for time in (found.start, found.end) if time is not None]
    assert told
    assert all(time.ToDatetime() for time in told)
    assert "before" not in text or found.start is None


async def test_only_what_was_said_before_a_named_time(stack: Stack) -> None:
    for year in (2018, 2022):
        said_at = int(datetime(year, 5, 1, tzinfo=UTC).timestamp()) * 1_000_000
        await stack.remember(ANN, Draft(Episode(f"a trip in {year}", start_time=said_at)))
    answer = await stack.recall(ANN, "trips before 2020", only_named_time=True)
    assert [hit.memory.text for hit in answer.hits] == ["a trip in 2018"]


async def test_the_past_is_told_to_whoever_has_written_since(stack: Stack) -> None:
    await stack.remember(ANN, "tea")
    then = stack.clock.now()
    stack.clock.time += 1_000_000
    written = await stack.remember(ANN, "coffee")
    answer = await stack.recall(ANN, "tea or coffee", known_at=then, min_revision=written.revision)
    assert [hit.memory.text for hit in answer.hits] == ["tea"]
    with pytest.raises(RevisionUnknown):
        await stack.recall(ANN, "tea", known_at=then, min_revision=written.revision + 1)


async def test_a_session_store_that_is_away_is_blamed_for_what_it_alone_could_answer(stack: Stack) -> None:
    await stack.remember(ANN, "tea")
    with pytest.raises(StoreUnavailable, match="sessions"):
        await stack.recall(ANN, "tea", conversation="s", tiers=frozenset({Tier.SESSION}))


async def test_a_stream_waits_for_meaning_when_nothing_else_answers(stack: Stack) -> None:
    """The session store is away, and the question has neither words nor names."""
    await stack.remember(ANN, "tea")
    events = [item async for item in stack.recalling.stream(Question(ANN, "🙂", conversation="s"))]
    assert isinstance(events[-1], Recalled)
    assert [hit.memory.text for hit in events[-1].hits] == ["tea"]


async def test_near_duplicates_leave_room_for_what_else_there_is(stack: Stack) -> None:
    await stack.remember(ANN, *(said(f"I love green tea{'!' * n}") for n in range(1, 50)))
    await stack.remember(ANN, *(f"green number {n}" for n in range(12)))
    answer = await stack.recall(ANN, "green tea", max_hits=10)
    assert len(answer.hits) == 10
    assert answer.more


async def test_what_the_asker_has_takes_no_place_and_the_others_are_as_likely_beside_it(stack: Stack) -> None:
    await stack.remember(ANN, *(f"green tea number {n}" for n in range(30)))
    whole = (await stack.recall(ANN, "green tea", max_hits=30)).hits
    had = [(hit.partition, hit.memory.id) for hit in whole[:25]]
    rest = await stack.recall(ANN, "green tea", max_hits=4, without=had)
    assert [hit.memory.id for hit in rest.hits] == [hit.memory.id for hit in whole[25:29]]
    assert [hit.confidence for hit in rest.hits] == [hit.confidence for hit in whole[25:29]]
    assert rest.more


async def test_what_says_the_same_as_what_the_asker_has_is_not_told_either(stack: Stack) -> None:
    await stack.remember(ANN, said("I love green tea!"), said("I love green tea!!"), said("green apples"))
    one = (await stack.recall(ANN, "green tea", max_hits=1)).hits[0]
    rest = await stack.recall(ANN, "green tea", without=[(one.partition, one.memory.id)])
    assert [hit.memory.text for hit in rest.hits] == ["green apples"]


async def test_another_partitions_memory_of_the_same_id_is_not_what_the_asker_has(stack: Stack) -> None:
    await stack.remember(ANN, "drinks green tea")
    one = (await stack.recall(ANN, "green tea")).hits[0]
    assert (await stack.recall(ANN, "green tea", without=[(TEAM.partition, one.memory.id)])).hits
