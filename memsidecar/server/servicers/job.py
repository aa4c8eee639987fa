"""JobService."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from memsidecar.domain.job import Job, JobState
from memsidecar.domain.scope import Partition
from memsidecar.server.mapping.job_out import place_of, read_place, set_job, set_results
from memsidecar.server.mapping.memory_out import UsageOf
from memsidecar.server.mapping.names import read_name, read_scope
from memsidecar.server.mapping.outcome_out import Outcomes
from memsidecar.server.paging import Page, fill
from memsidecar.server.validation import Violations, check
from memsidecar.services.jobs import Jobs
from memsidecar.v1 import job_service_pb2 as pb


class JobServicer:
    def __init__(self, jobs: Jobs, usage_of: UsageOf, default_namespace: str, now: Callable[[], int]) -> None:
        self._jobs, self._usage_of = jobs, usage_of
        self._default_namespace, self._now = default_namespace, now

    async def GetJob(self, request: pb.GetJobRequest) -> pb.GetJobResponse:  # noqa: N802
        response = pb.GetJobResponse()
        await self._set(response.job, await self._jobs.get(*_name(request)))
        return response

    async def ListJobs(self, request: pb.ListJobsRequest) -> pb.ListJobsResponse:  # noqa: N802
        violations = Violations(check(request))
        asked = Page(request)
        key = asked.key(violations)
        violations.raise_any()
        scope = read_scope(request.scope, self._default_namespace)
        jobs = await self._jobs.list(scope.partition, map(JobState, request.states), read_place(key), asked.size)
        own = [job for job in jobs if scope.agent in ("", job.agent) and scope.session in ("", job.session)]
        response = pb.ListJobsResponse()
        count = await fill(response.jobs, own, set_job)
        if count < len(own):
            response.next_page_token = asked.token(place_of(own[count - 1]))
        elif len(jobs) == asked.size:
            response.next_page_token = asked.token(place_of(jobs[-1]))
        return response

    async def CancelJob(self, request: pb.CancelJobRequest) -> pb.CancelJobResponse:  # noqa: N802
        response = pb.CancelJobResponse()
        await self._set(response.job, await self._jobs.cancel(*_name(request)))
        return response

    async def WatchJob(self, request: pb.WatchJobRequest) -> AsyncGenerator[pb.WatchJobResponse, None]:  # noqa: N802
        async with aclosing(self._jobs.watch(*_name(request))) as changes:
            async for job in changes:
                response = pb.WatchJobResponse()
                await self._set(response.job, job)
                yield response

    async def _set(self, target: pb.Job, job: Job) -> None:
        set_job(target, job)
        await set_results(target, job, Outcomes(self._now(), self._usage_of))


def _name(request: Any) -> tuple[Partition, str]:
    violations = Violations(check(request))
    violations.raise_any()
    name = read_name(request.name, "jobs", "name", violations)
    violations.raise_any()
    return name
