from __future__ import annotations

import asyncio

import grpc
import pytest

from memsidecar.domain.errors import StoreUnavailable
from memsidecar.domain.memory import Entity, Episode, Fact, Kind, Memory
from memsidecar.domain.recall import Component, Hit, Recalled, Tier, TierOutcome, TierReport
from memsidecar.domain.revision import revision_token
from memsidecar.domain.scope import Partition, Scope
from memsidecar.server.mapping.recall import line
from memsidecar.v1 import memory_pb2, scope_pb2
from memsidecar.v1 import recall_service_pb2 as pb
from tests.server.api import Api, refused, refused_stream
from tests.server.conftest import HOME
from tests.server.fakes import NOW, World

ANN = scope_pb2.Scope(user="ann")
FACT = memory_pb2.MEMORY_KIND_FACT
MAY = 1_683_504_000_000_000  # 8 May 2023


def hit(text: str, score: float = 0.5) -> Hit:
    memory = Memory(text[:8], Scope("home", "ann"), Episode(text, speaker="Caroline", start_time=MAY), NOW, NOW)
    return Hit(HOME, memory, score, Tier.VECTOR, (Component("similarity", 0.5, 1.0, 0.5),), ("Ann", "Lisbon"))


REPORT = TierReport(Tier.GRAPH, TierOutcome.TIMED_OUT, 0, 0.25, "too slow")


async def test_once_answers_with_ranked_hits(api: Api, world: World) -> None:
    world.events = [Recalled((hit("a"), hit("b", 0.25)), (REPORT,), 7, 0.75)]
    response = await api.recall.RecallOnce(pb.RecallOnceRequest(scope=ANN, query=pb.Query(text="q")))
    assert [h.memory.episode.text for h in response.hits] == ["a", "b"]
    first = response.hits[0]
    assert (first.text, first.score, first.tier) == ("[08 May 2023] Caroline: a", 0.5, pb.TIER_VECTOR)
    assert list(first.explanation.path) == ["Ann", "Lisbon"]
    assert response.degraded
    assert response.confidence == 0.75
    assert response.tier_reports[0].elapsed.nanos == 250_000_000
    assert response.revision.token == revision_token(HOME, 7)


async def test_question_carries_everything(api: Api, world: World) -> None:
    options = pb.RecallOptions(
        tiers=[pb.TIER_KEYWORD],
        max_hits=1000,
        min_score=0.5,
        include_explanations=True,
        include_shared=True,
        min_revision=scope_pb2.Revision(token=revision_token(HOME, 5)),
        filter=memory_pb2.MemoryFilter(kinds=[FACT], labels={"a": "b"}, exclude_sessions=["s"], min_importance=0),
    )
    options.soft_deadline.FromMilliseconds(250)
    query = pb.Query(text="q", entities=["namespaces/home/users/ann/memories/e1"])
    await api.recall.RecallOnce(pb.RecallOnceRequest(scope=ANN, query=query, options=options))
    question = world.calls[0][1]
    assert (question.tiers, question.max_hits, question.min_score) == (frozenset({Tier.KEYWORD}), 200, 0.5)
    assert (question.soft_deadline, question.min_revision, question.entities) == (0.25, 5, ("e1",))
    assert question.explain
    assert question.include_shared
    assert question.filter.kinds == {Kind.FACT}
    assert question.filter.min_importance == 0.0
    assert question.filter.min_confidence is None
    assert dict(question.filter.labels) == {"a": "b"}


@pytest.mark.parametrize(
    ("query", "options", "field"),
    [
        (pb.Query(), pb.RecallOptions(), "query"),
        (pb.Query(text=" "), pb.RecallOptions(), "query"),
        (pb.Query(text="x" * 70_000), pb.RecallOptions(), "query.text"),
        (pb.Query(embedding=memory_pb2.Embedding(values=[0, 0])), pb.RecallOptions(), "query.embedding.values"),
        (
            pb.Query(embedding=memory_pb2.Embedding(values=[1, float("nan")])),
            pb.RecallOptions(),
            "query.embedding.values",
        ),
        (pb.Query(text="q"), pb.RecallOptions(max_hits=-1), "options.max_hits"),
        (pb.Query(text="q"), pb.RecallOptions(tiers=[pb.TIER_UNSPECIFIED]), "options.tiers[0]"),
        (
            pb.Query(text="q"),
            pb.RecallOptions(min_revision=scope_pb2.Revision(token=revision_token(Partition("home", "bob"), 5))),
            "options.min_revision.token",
        ),
    ],
)
async def test_question_that_makes_no_sense_is_refused(
    api: Api, query: pb.Query, options: pb.RecallOptions, field: str
) -> None:
    refusal = await refused(api.recall.RecallOnce(pb.RecallOnceRequest(scope=ANN, query=query, options=options)))
    assert set(refusal.fields) == {field}
    stream = api.recall.Recall(pb.RecallRequest(scope=ANN, query=query, options=options))
    assert set((await refused_stream(stream)).fields) == {field}


async def test_answer_that_would_not_fit_leaves_out_the_weakest(api: Api, world: World) -> None:
    world.events = [Recalled(tuple(hit(chr(97 + i) * 500_000) for i in range(10)), (), 1, 1.0)]
    response = await api.recall.RecallOnce(pb.RecallOnceRequest(scope=ANN, query=pb.Query(text="q")))
    assert 0 < len(response.hits) < 10
    assert response.hits[0].memory.episode.text.startswith("a")
    assert response.degraded


async def test_stream_sends_hits_reports_and_the_summary(api: Api, world: World) -> None:
    world.events = [hit("a"), REPORT, Recalled((hit("a"),), (REPORT,), 7, 0.75)]
    events = [e async for e in api.recall.Recall(pb.RecallRequest(scope=ANN, query=pb.Query(text="q")))]
    assert [e.WhichOneof("event") for e in events] == ["hit", "tier_report", "summary"]
    assert list(events[2].summary.ranked_memories) == [events[0].hit.memory.name]
    assert list(events[2].summary.ranked_scores) == [0.5]


async def test_stream_that_fails_carries_the_error(api: Api, world: World) -> None:
    world.events = [hit("a")]
    world.failures["recall"] = StoreUnavailable("graph")
    refusal = await refused_stream(api.recall.Recall(pb.RecallRequest(scope=ANN, query=pb.Query(text="q"))))
    assert (refusal.reason, refusal.metadata) == ("STORE_UNAVAILABLE", {"store": "graph"})


@pytest.mark.parametrize("ending", ["cancel", "deadline", "disconnect"])
@pytest.mark.parametrize("streaming", [True, False])
async def test_recall_nobody_waits_for_stops(
    channel: grpc.aio.Channel, api: Api, world: World, ending: str, streaming: bool
) -> None:
    world.gates["recall"] = asyncio.Event()
    limit = 0.3 if ending == "deadline" else None
    if streaming:
        call = api.recall.Recall(pb.RecallRequest(scope=ANN, query=pb.Query(text="q")), timeout=limit)
        waiting = asyncio.ensure_future(call.read())
    else:
        call = api.recall.RecallOnce(pb.RecallOnceRequest(scope=ANN, query=pb.Query(text="q")), timeout=limit)
        waiting = asyncio.ensure_future(call)
    await world.entered.wait()
    if ending == "cancel":
        call.cancel()
    elif ending == "disconnect":
        await channel.close()
    await asyncio.wait_for(world.left.wait(), 5)
    await asyncio.gather(waiting, return_exceptions=True)


async def test_reader_that_stops_reading_and_leaves_ends_the_stream(api: Api, world: World) -> None:
    world.events = [hit(chr(97 + i % 26) * 200_000) for i in range(200)]
    call = api.recall.Recall(pb.RecallRequest(scope=ANN, query=pb.Query(text="q")))
    await call.read()
    assert not world.left.is_set()
    call.cancel()
    await asyncio.wait_for(world.left.wait(), 5)


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (Memory("i", Scope("n"), Fact("It\n is  so"), NOW, NOW, valid_from=MAY), "[08 May 2023] It is so"),
        (Memory("i", Scope("n"), Fact("It is so"), NOW, NOW), "It is so"),
        (Memory("i", Scope("n"), Entity("Ann", summary="a friend"), NOW, NOW), "Ann: a friend"),
        (Memory("i", Scope("n"), Episode("x", start_time=-(10**6)), NOW, NOW), "[31 Dec 1969] x"),
        (Memory("i", Scope("n"), Episode("x", start_time=-62_135_596_800 * 10**6), NOW, NOW), "[01 Jan 0001] x"),
    ],
)
def test_line_for_a_prompt(memory: Memory, expected: str) -> None:
    assert line(memory) == expected
