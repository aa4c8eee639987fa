"""Conversations in, what was read out of them out, and the jobs that go on with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import grpc
import pytest

from memsidecar.domain import limits
from memsidecar.domain.conflict import Policy, Source
from memsidecar.domain.draft import Action, Declined, Draft, Outcome
from memsidecar.domain.job import ItemResult, Job, JobKind, JobState
from memsidecar.domain.memory import Episode, Fact, Memory, Provenance
from memsidecar.domain.scope import Scope
from memsidecar.v1 import conflict_pb2, job_service_pb2, memory_service_pb2
from tests.server.api import Api, refused, refused_stream, sent
from tests.server.conftest import HOME
from tests.server.fakes import NOW, World

# Fields are given as plain dicts.
pb: Any = memory_service_pb2
jobs_pb: Any = job_service_pb2
ANN = {"user": "ann"}
JOBS = "namespaces/home/users/ann/jobs/"
TURNS = [
    {"text": "I moved", "speaker": "user", "message": "m1", "time": {"seconds": 9}},
    {"text": "Where to?", "speaker": "Assistant"},
    {"text": "Oslo"},
]


def drafts(world: World) -> tuple[Draft, ...]:
    found: tuple[Draft, ...] = world.calls[-1][2]
    return found


def learned(number: int = 0, text: str = "lives in Oslo") -> Memory:
    source = Provenance(derived_from=("m1",))
    return Memory(f"f{number}", Scope("home", "ann"), Fact(text), NOW, NOW, provenance=(source,))


async def test_each_turn_becomes_an_episode_of_its_own(api: Api, world: World) -> None:
    item = {
        "conversation": {"turns": TURNS},
        "time": {"seconds": 5},
        "speaker": "Ann",
        "provenance": {"document": "", "messages": ["all"], "extractor": "x"},
        "entities": ["Oslo"],
    }
    request = pb.RememberRequest(
        scope={**ANN, "session": "s"}, item=item, options={"conflict_policy": 6, "labels": {"a": "b"}}
    )
    response = await api.memory.Remember(request)
    assert len(response.outcomes) == 3
    bodies = [draft.body for draft in drafts(world)]
    assert bodies == [
        Episode("I moved", speaker="user", start_time=9_000_000),
        Episode("Where to?", speaker="Assistant", start_time=5_000_000),
        Episode("Oslo", speaker="Ann", start_time=5_000_000),
    ]
    for draft in drafts(world):
        assert (draft.session, draft.policy, draft.entity_names) == ("s", Policy.ASK, ("Oslo",))
        assert dict(draft.labels) == {"a": "b"}
    sources = [draft.source for draft in drafts(world)]
    assert [source.messages for source in sources if source] == [("m1",), ("all",), ("all",)]
    assert {source.extractor for source in sources if source} == {"x"}
    assert [draft.said_by for draft in drafts(world)] == [Source.USER, Source.ASSISTANT, Source.USER]


async def test_a_conversation_takes_turns_that_say_something(api: Api) -> None:
    blank = {"conversation": {"turns": [{"text": "a"}, {"text": " "}]}}
    vector = {"conversation": {"turns": TURNS}, "embedding": {"values": [1.0]}}
    for item, field in (
        ({"conversation": {}}, "item.conversation.turns"),
        (blank, "item.conversation.turns[1].text"),
        (vector, "item.embedding"),
        ({"conversation": {"turns": [{"text": "a"}] * 257}}, "item.conversation.turns"),
    ):
        refusal = await refused(api.memory.Remember(pb.RememberRequest(scope=ANN, item=item)))
        assert set(refusal.fields) == {field}


async def test_turns_count_as_items_of_a_batch(api: Api) -> None:
    many = {"conversation": {"turns": [{"text": str(n)} for n in range(128)]}}
    request = pb.BatchRememberRequest(scope=ANN, items=[many, many])
    response = await api.memory.BatchRemember(request)
    assert [len(result.outcomes) for result in response.results] == [128, 128]
    request.items.add(text="one more")
    assert set((await refused(api.memory.BatchRemember(request))).fields) == {"items"}


async def test_what_was_read_stands_after_what_it_was_read_from(api: Api, world: World) -> None:
    read = Outcome(Action.SUPERSEDED, learned(), "why", True, ("m7",), ("c1",))
    world.extracted = (read, Declined("secret words", "it is a question"))
    request = pb.RememberRequest(scope=ANN, item={"conversation": {"turns": TURNS[:2]}})
    response = await api.memory.Remember(request)
    kinds = [pb.RememberAction.Name(outcome.action).removeprefix("REMEMBER_ACTION_") for outcome in response.outcomes]
    assert kinds == ["CREATED", "CREATED", "SUPERSEDED", "DECLINED", "SUPERSEDED", "DECLINED"]
    first, _, found, declined, *_ = response.outcomes
    assert (first.extracted_from, found.extracted_from) == ("", first.memory.name)
    assert list(found.superseded_memories) == ["namespaces/home/users/ann/memories/m7"]
    assert list(found.conflicts) == ["namespaces/home/users/ann/conflicts/c1"]
    assert (found.explanation, found.embedding_pending) == ("why", True)
    assert (declined.explanation, declined.HasField("memory")) == ("it is a question", False)
    assert (response.stages.durable, response.stages.extracted, response.stages.job) == (True, True, "")


async def test_an_answer_fits_however_much_was_read(api: Api, world: World) -> None:
    world.extracted = tuple(Outcome(Action.CREATED, learned(n, "long " * 2_000), "why") for n in range(300))
    items = [{"text": str(n)} for n in range(100)]
    response = await api.memory.BatchRemember(pb.BatchRememberRequest(scope=ANN, items=items))
    assert response.ByteSize() < limits.MAX_MESSAGE_BYTES
    # What was given itself is all there; of what was read, names at least, until even they do not fit.
    assert all(result.outcomes[0].memory.name for result in response.results)
    whole = [outcome for result in response.results for outcome in result.outcomes if outcome.memory.HasField("fact")]
    named = [outcome for result in response.results for outcome in result.outcomes if outcome.extracted_from]
    assert 200 < len(whole) < len(named) < 30_000


async def test_a_stream_is_one_job(api: Api, world: World) -> None:
    world.extracted = (Declined("", "no"),)
    messages = [
        pb.StreamRememberRequest(start={"scope": ANN, "options": {"skip_extraction": True}}),
        *(pb.StreamRememberRequest(items={"items": [{"text": "a"}, {"text": "b"}]}) for _ in range(2)),
        pb.StreamRememberRequest(finish={}),
    ]
    response = await api.memory.StreamRemember(sent(messages))
    assert dict(response.action_counts) == {"REMEMBER_ACTION_CREATED": 4, "REMEMBER_ACTION_DECLINED": 4}
    assert (response.received, response.stages.durable, response.stages.extracted) == (4, True, False)


@pytest.mark.parametrize(("document", "speaker", "said_by"), [("d", "", Source.DOCUMENT), ("", "AI", Source.ASSISTANT)])
async def test_who_says_so_is_known_of_typed_memories(
    api: Api, world: World, document: str, speaker: str, said_by: Source
) -> None:
    source = {"document": document, "speaker": speaker}
    memory = {"fact": {"statement": "s", "negated": True}, "provenance": [source]}
    create = pb.CreateMemoryRequest(scope=ANN, memory=memory, conflict_policy=conflict_pb2.CONFLICT_POLICY_FLAG)
    await api.memory.CreateMemory(create)
    draft: Draft = world.calls[-1][2]
    assert (draft.said_by, draft.policy, draft.body) == (said_by, Policy.FLAG, Fact("s", negated=True))


def job(number: int, **more: Any) -> Job:
    return replace(
        Job(f"j{number}", HOME, "", "", JobKind.EXTRACTION, JobState.SUCCEEDED, 3, 2, 1, NOW - number, NOW), **more
    )


async def test_a_job_says_what_came_of_its_items(api: Api, world: World) -> None:
    results = (
        ItemResult(0, (Outcome(Action.CREATED, learned(), "new"), Declined("", "unsure"))),
        ItemResult(2, (), "the model refused", failed=True),
    )
    world.jobs = [job(1, state=JobState.FAILED, results=results, message="why", attempts=4, next_attempt_at=NOW)]
    found = (await api.job.GetJob(jobs_pb.GetJobRequest(name=f"{JOBS}j1"))).job
    assert (found.name, found.kind, found.state) == (f"{JOBS}j1", 1, 5)
    assert (found.progress.total, found.progress.done, found.progress.failed) == (3, 2, 1)
    assert (found.message, found.attempts) == ("why", 4)
    assert found.next_attempt_time.ToMicroseconds() == NOW
    first, last = found.results
    assert first.outcomes[0].extracted_from == "namespaces/home/users/ann/memories/m1"
    assert first.outcomes[1].action == pb.REMEMBER_ACTION_DECLINED
    assert (last.index, last.error.code, last.error.message) == (2, 14, "the model refused")
    missing = jobs_pb.GetJobRequest(name=f"{JOBS}none")
    assert (await refused(api.job.GetJob(missing))).reason == "RESOURCE_NOT_FOUND"
    foreign = jobs_pb.GetJobRequest(name=f"{JOBS}j1".replace("ann", "ben"))
    assert (await refused(api.job.GetJob(foreign))).reason == "RESOURCE_NOT_FOUND"


async def test_jobs_come_page_by_page_newest_first(api: Api, world: World) -> None:
    world.jobs = [job(number, agent="a1" if number % 2 else "") for number in range(7)]
    request, seen = jobs_pb.ListJobsRequest(scope=ANN, page_size=3), []
    while True:
        response = await api.job.ListJobs(request)
        seen += [found.name for found in response.jobs]
        if not response.next_page_token:
            break
        request.page_token = response.next_page_token
    assert seen == [f"{JOBS}j{number}" for number in range(7)]
    request.scope.agent = "a1"
    assert set((await refused(api.job.ListJobs(request))).fields) == {"page_token"}
    own = await api.job.ListJobs(jobs_pb.ListJobsRequest(scope={**ANN, "agent": "a1"}))
    assert [found.name for found in own.jobs] == [f"{JOBS}j{number}" for number in (1, 3, 5)]
    await api.job.ListJobs(jobs_pb.ListJobsRequest(scope=ANN, states=[2]))
    assert world.calls[-1][2] == frozenset({JobState.RUNNING})


async def test_a_job_is_watched_to_its_end_and_cancelled(api: Api, world: World) -> None:
    world.jobs = [job(1, state=JobState.RUNNING)]
    name = f"{JOBS}j1"
    seen = [response.job.state async for response in api.job.WatchJob(jobs_pb.WatchJobRequest(name=name))]
    assert seen == [JobState.RUNNING, JobState.SUCCEEDED]
    assert (await api.job.CancelJob(jobs_pb.CancelJobRequest(name=name))).job.state == JobState.CANCELLED
    unknown = await refused_stream(api.job.WatchJob(jobs_pb.WatchJobRequest(name=f"{JOBS}none")))
    assert unknown.code is grpc.StatusCode.NOT_FOUND
