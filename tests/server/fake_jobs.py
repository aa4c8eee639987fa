"""Jobs that a test has put there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from memsidecar.domain.draft import Request
from memsidecar.domain.errors import NotFound
from memsidecar.domain.job import Job, JobState
from memsidecar.domain.scope import Partition, resource_name
from memsidecar.services.jobs import Jobs


class Working(Protocol):
    """The part of a World that is used here."""

    jobs: list[Job]

    async def step(self, use_case: str, *seen: Any) -> None: ...


class FakeJobs(Jobs):
    """A watch tells of a job as it is, then that it has succeeded."""

    def __init__(self, world: Working) -> None:
        self.world = world

    async def get(self, partition: Partition, job_id: str) -> Job:
        await self.world.step("jobs", partition, job_id)
        for job in self.world.jobs:
            if (job.partition, job.id) == (partition, job_id):
                return job
        raise NotFound(resource_name(partition, "jobs", job_id))

    async def list(
        self, partition: Partition, states: Iterable[JobState], before: tuple[int, str] | None, limit: int
    ) -> Sequence[Job]:
        wanted = frozenset(states)
        await self.world.step("jobs", partition, wanted, before, limit)
        found = [job for job in self.world.jobs if job.partition == partition and job.state in (wanted or {job.state})]
        found.sort(key=lambda job: (job.created_at, job.id), reverse=True)
        return [job for job in found if before is None or (job.created_at, job.id) < before][:limit]

    async def cancel(self, partition: Partition, job_id: str, request: Request | None = None) -> Job:
        return replace(await self.get(partition, job_id), state=JobState.CANCELLED)

    async def watch(self, partition: Partition, job_id: str) -> AsyncGenerator[Job, None]:
        job = await self.get(partition, job_id)
        yield job
        yield replace(job, state=JobState.SUCCEEDED)
