"""Recalls, at once and as events."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import grpc
import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    Cancelled,
    FeedbackKind,
    Filter,
    HitFound,
    MemoryKind,
    MessageFound,
    RecallDone,
    ResourceExhausted,
    Tier,
    TierDone,
    TierOutcome,
)
from memsidecar_client.v1.recall_service_pb2 import FeedbackResponse, RecallOnceResponse, RecallResponse

from tests.clients.python.fake_sidecar import Failure, FakeSidecar, made


def hit(name: str, score: float) -> RecallResponse:
    return made(RecallResponse, hit={"memory": {"name": name, "fact": {"statement": name}}, "score": score, "tier": 4})


SUMMARY = made(
    RecallResponse,
    summary={
        "ranked_memories": ["b", "a", "never-sent"],
        "ranked_scores": [0.9, 0.4, 0.1],
        "tier_reports": [{"tier": 4, "outcome": 1, "hit_count": 3, "elapsed": {"nanos": 1_500_000}}],
        "degraded": True,
        "revision": {"token": "r5"},
        "confidence": 0.75,
    },
)
REPORT = made(RecallResponse, tier_report={"tier": 2, "outcome": 3, "message": "embedder away"})


async def test_recall_sends_every_option_and_reads_every_answer(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["RecallOnce"] = made(
        RecallOnceResponse,
        hits=[
            {
                "memory": {"name": "m", "fact": {"statement": "tea"}},
                "score": 0.5,
                "tier": 2,
                "text": "2026: tea",
                "confidence": 0.75,
                "duplicates": ["n"],
                "suspicious": True,
                "explanation": {
                    "components": [{"signal": "similarity", "raw": 1, "weight": 0.5, "contribution": 0.5}],
                    "path": ["Ana"],
                    "text": "because",
                },
            }
        ],
        tier_reports=[{"tier": 2, "outcome": 1}],
        confidence=0.5,
        revision={"token": "r2"},
        messages=[{"message": {"role": 2, "text": "hello"}, "score": 0.25}],
        analysis={"people": ["Ana"], "language": "en", "breadth": 0.5, "min_time": {"seconds": 0}},
        next_page_token="p2",
    )
    result = await client.recall(
        "tea",
        embedding=[1, 0],
        entities=["e"],
        time=datetime(2026, 5, 1, tzinfo=UTC),
        tiers=[Tier.VECTOR],
        filter=Filter(kinds=(MemoryKind.FACT,)),
        max_hits=3,
        min_score=0.25,
        soft_deadline=timedelta(milliseconds=250),
        min_revision="r1",
        explain=True,
        include_shared=True,
        conversation="namespaces/n/sessions/s",
        time_zone="Asia/Shanghai",
        valid_at=datetime(2025, 5, 1, tzinfo=UTC),
        known_at=datetime(2025, 6, 1, tzinfo=UTC),
        profile="chat",
        weights={"keyword": 2.0},
        diversity=0.0,
        adaptive=True,
        only_named_time=True,
        page_token="p1",
    )
    request = fake.only("RecallOnce")
    assert {field.name for field, _ in request.ListFields()} == {"scope", "query", "options"}
    assert {field.name for field, _ in request.query.ListFields()} == set(request.query.DESCRIPTOR.fields_by_name)
    assert {field.name for field, _ in request.options.ListFields()} == set(request.options.DESCRIPTOR.fields_by_name)
    assert request.options.min_revision.token == "r1"
    assert (request.options.as_of.valid_time.seconds, request.options.as_of.record_time.seconds) == (
        1_746_057_600,
        1_748_736_000,
    )
    (found,) = result.hits
    assert (found.memory.text, found.tier, found.text) == ("tea", Tier.VECTOR, "2026: tea")
    assert found.explanation is not None
    assert (found.explanation.path, found.explanation.components[0].signal) == (("Ana",), "similarity")
    assert (found.confidence, found.duplicates, found.suspicious) == (0.75, ("n",), True)
    assert (result.confidence, result.degraded, result.revision) == (0.5, False, "r2")
    assert [(each.message.text, each.score) for each in result.messages] == [("hello", 0.25)]
    assert result.analysis is not None
    assert (result.analysis.people, result.analysis.start) == (("Ana",), datetime(1970, 1, 1, tzinfo=UTC))
    assert result.next_page_token == "p2"
    assert result.tiers[0].outcome is TierOutcome.OK


async def test_feedback_sends_a_verdict_for_each_name_and_gives_the_revision(
    client: AsyncMemsidecar, fake: FakeSidecar
) -> None:
    fake.answers["Feedback"] = made(FeedbackResponse, revision={"token": "r7"})
    revision = await client.feedback({"m1": FeedbackKind.USED, "m2": FeedbackKind.WRONG}, user="ben")
    request = fake.only("Feedback")
    assert revision == "r7"
    assert [(item.memory, item.kind) for item in request.items] == [("m1", 1), ("m2", 3)]
    assert (request.scope.user, len(request.request_id)) == ("ben", 36)


async def test_a_feedback_that_fails_is_retried_under_one_request_id(
    client: AsyncMemsidecar, fake: FakeSidecar
) -> None:
    fake.failures["Feedback"].append(Failure(grpc.StatusCode.UNAVAILABLE))
    await client.feedback({"m1": FeedbackKind.IGNORED})
    first, second = (call.request for call in fake.calls["Feedback"])
    assert first == second


async def test_min_revision_is_unset_unless_given(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    await client.recall("tea")
    assert not fake.only("RecallOnce").options.HasField("min_revision")


async def test_events_arrive_in_order_and_the_last_one_is_the_whole_answer(
    client: AsyncMemsidecar, fake: FakeSidecar
) -> None:
    message = made(RecallResponse, message={"message": {"role": 2, "text": "hello"}, "score": 0.25})
    fake.recall_events = [message, hit("a", 0.5), hit("b", 0.3), hit("dropped", 0.2), REPORT, SUMMARY]
    async with client.recall_stream("tea") as events:
        said, first, second, third, tier, done = [event async for event in events]
        assert [event async for event in events] == []
    assert all(isinstance(event, HitFound) for event in (first, second, third))
    assert isinstance(tier, TierDone)
    assert (tier.report.tier, tier.report.outcome, tier.report.message) == (
        Tier.VECTOR,
        TierOutcome.UNAVAILABLE,
        "embedder away",
    )
    assert isinstance(done, RecallDone)
    assert isinstance(said, MessageFound)
    assert done.result.messages == (said.hit,)
    assert [(each.memory.name, each.score) for each in done.result.hits] == [("b", 0.9), ("a", 0.4)]
    assert done.result.degraded
    assert (done.result.revision, done.result.confidence) == ("r5", 0.75)
    assert done.result.tiers[0].elapsed == timedelta(microseconds=1500)


async def test_event_of_a_newer_server_is_left_out(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    newer = RecallResponse()
    newer.MergeFromString(b"\xf2\x06\x03abc")  # field 110
    fake.recall_events = [newer, SUMMARY]
    async with client.recall_stream("tea") as events:
        assert [type(event) for event in [event async for event in events]] == [RecallDone]


async def test_event_that_cannot_be_read_is_an_error_not_a_hang(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.recall_events = [made(RecallResponse, hit={"memory": {"create_time": {"seconds": 10**12}}})]
    async with client.recall_stream("tea") as events:
        with pytest.raises(OverflowError):
            await anext(events)


async def test_leaving_the_block_cancels_the_recall(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.go_on.clear()
    fake.recall_events = [hit("a", 0.5)]
    async with client.recall_stream("tea") as events:
        async for event in events:
            assert isinstance(event, HitFound)
            break
    assert await asyncio.to_thread(fake.cancelled.wait, 10)
    assert [event async for event in events] == []


async def test_waiting_for_an_event_may_time_out_without_harm(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.go_on.clear()
    fake.recall_events = [hit("a", 0.5)]
    fake.late_recall_events = [SUMMARY]
    async with client.recall_stream("tea") as events:
        assert isinstance(await anext(events), HitFound)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(events), 0.02)
        fake.go_on.set()
        assert [type(event) for event in [event async for event in events]] == [RecallDone]


async def test_failure_is_raised_after_the_events_before_it(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.failures["Recall"].append(Failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many"))
    async with client.recall_stream("tea") as events:
        with pytest.raises(ResourceExhausted, match="too many"):
            await anext(events)
        assert [event async for event in events] == []


async def test_recall_that_fails_before_its_first_event_is_retried(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.failures["Recall"].append(Failure(grpc.StatusCode.UNAVAILABLE))
    fake.recall_events = [SUMMARY]
    async with client.recall_stream("tea") as events:
        assert len([event async for event in events]) == 1
    assert len(fake.calls["Recall"]) == 2


async def test_cancelling_the_reader_leaves_nothing_running(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    async def read() -> None:
        async with client.recall_stream("tea") as events:
            await anext(events)

    fake.go_on.clear()
    task = asyncio.create_task(read())
    await asyncio.to_thread(fake.arrived.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(fake.cancelled.wait, 10)


async def test_closing_the_client_ends_an_open_stream_with_a_typed_error(fake: FakeSidecar) -> None:
    fake.go_on.clear()
    client = AsyncMemsidecar(fake.target)
    async with client.recall_stream("tea") as events:
        await asyncio.to_thread(fake.arrived.wait, 10)
        await client.close()
        with pytest.raises(Cancelled):
            await anext(events)


async def test_more_events_than_the_queue_holds_arrive(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.recall_events = [hit(f"m{n}", 0.5) for n in range(1000)]
    async with client.recall_stream("tea") as events:
        assert len([event async for event in events]) == 1000
    fake.cancelled.clear()
    async with client.recall_stream("tea") as events:
        await anext(events)
    assert events._pump is not None
    assert events._pump.done()


async def test_stream_is_used_inside_its_block_and_once(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    stream = client.recall_stream("tea")
    with pytest.raises(RuntimeError, match="enter"):
        async for _ in stream:
            pass
    async with stream:
        pass
    with pytest.raises(RuntimeError, match="once"):
        await stream.__aenter__()
