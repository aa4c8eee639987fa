"""Jobs as values, and a watch over one that outlives a restart."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from memsidecar_client import AsyncMemsidecar, Job, JobKind, JobState, Memsidecar, NotFound, Scope
from memsidecar_client.v1 import job_service_pb2 as pb

from tests.clients.python.fake_sidecar import Failure, FakeSidecar, made

NAME = "namespaces/acme/users/ana/jobs/j"


def job(state: int = 2, done: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": NAME, "kind": 1, "state": state, "progress": {"total": 3, "done": done, "failed": 1}, **more}


def told(state: int = 2, done: int = 1) -> pb.WatchJobResponse:
    return made(pb.WatchJobResponse, job=job(state, done))


async def test_a_job_comes_with_its_results(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    results = [{"index": 0, "outcomes": [{"action": 1, "memory": {"name": "m"}}]}, {"index": 2, "error": {"code": 14}}]
    scope = {"namespace": "acme", "user": "ana", "session": "s"}
    fake.answers["GetJob"] = made(
        pb.GetJobResponse, job=job(4, results=results, scope=scope, message="why", attempts=2)
    )
    found = await client.get_job(NAME)
    assert (found.name, found.scope) == (NAME, Scope("acme", "ana", session="s"))
    assert (found.kind, found.state, found.is_final) == (JobKind.EXTRACTION, JobState.SUCCEEDED, True)
    assert (found.total, found.done, found.failed, found.attempts, found.message) == (3, 1, 1, 2, "why")
    assert [result.index for result in found.results] == [0, 2]
    assert found.results[1].error is not None


async def test_jobs_are_listed_and_stopped(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["ListJobs"] = made(pb.ListJobsResponse, jobs=[job()])
    fake.answers["CancelJob"] = made(pb.CancelJobResponse, job=job(6))
    (found,) = [each async for each in client.jobs(states=[JobState.RUNNING])]
    assert list(fake.only("ListJobs").states) == [2]
    assert (await client.cancel_job(found.name)).state is JobState.CANCELLED


async def test_a_watch_goes_on_over_a_restart_and_ends_with_the_job(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.job_watches += [
        [told(1, 0), told(2, 1), Failure(grpc.StatusCode.UNAVAILABLE)],
        [told(2, 1), Failure(grpc.StatusCode.CANCELLED)],
        [told(2, 2), told(4, 3)],
    ]
    async with client.watch_job(NAME) as jobs:
        seen = [(each.state, each.done) async for each in jobs]
    assert seen == [(1, 0), (2, 1), (2, 2), (4, 3)]
    assert {call.request.name for call in fake.calls["WatchJob"]} == {NAME}


async def test_a_watch_of_no_job_says_so(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.job_watches.append([Failure(grpc.StatusCode.NOT_FOUND)])
    async with client.watch_job(NAME) as jobs:
        with pytest.raises(NotFound):
            await jobs.next_job()
        assert await jobs.next_job() is None
    with pytest.raises(RuntimeError):
        await jobs.__aenter__()


async def test_a_watch_may_be_left_before_its_end(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.job_watches.append([told(2, number) for number in range(3)])
    async with client.watch_job(NAME) as jobs:
        first = await jobs.next_job()
    assert isinstance(first, Job)
    assert await jobs.next_job() is None


def test_the_blocking_watch_does_the_same(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    fake.job_watches.append([told(2, 1), told(4, 3)])
    with blocking_client.watch_job(NAME) as jobs:
        assert [each.done for each in jobs] == [1, 3]
