"""The calls on jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memsidecar_client._connection import Connected
from memsidecar_client._enums import JobKind, JobState
from memsidecar_client._job_values import Job
from memsidecar_client._job_watch import AsyncJobWatch
from memsidecar_client._memory_mapping import scope_from_proto, scope_to_proto
from memsidecar_client._pages import AsyncPages
from memsidecar_client._remember_mapping import item_result_from_proto
from memsidecar_client._times import from_timestamp
from memsidecar_client.v1 import job_service_pb2 as pb


class JobCalls(Connected):
    """Part of AsyncMemsidecar."""

    async def get_job(self, name: str, *, timeout: float | None = None) -> Job:
        """The job of that name. Raises NotFound."""
        request = pb.GetJobRequest(name=name)
        response = await self._connection.unary(self._connection.stubs.jobs.GetJob, request, timeout)
        return job_from_proto(response.job)

    def jobs(
        self,
        *,
        states: Iterable[JobState] = (),
        page_size: int = 0,
        namespace: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        timeout: float | None = None,
    ) -> AsyncPages[Job]:
        """Iterates over the jobs of a scope, newest first, without their results."""
        scope = scope_to_proto(self._scope(namespace, user, agent, session))
        wanted = [pb.JobState.ValueType(state) for state in states]

        async def fetch(token: str) -> tuple[Sequence[Job], str]:
            request = pb.ListJobsRequest(scope=scope, states=wanted, page_size=page_size, page_token=token)
            response = await self._connection.unary(self._connection.stubs.jobs.ListJobs, request, timeout)
            return [job_from_proto(job) for job in response.jobs], response.next_page_token

        return AsyncPages(fetch)

    async def cancel_job(self, name: str, *, timeout: float | None = None) -> Job:
        """Stops a job; what it has done stays. One that has ended stays as it is."""
        request = pb.CancelJobRequest(name=name)
        response = await self._connection.unary(self._connection.stubs.jobs.CancelJob, request, timeout)
        return job_from_proto(response.job)

    def watch_job(self, name: str, *, timeout: float | None = None) -> AsyncJobWatch:
        """The job whenever it changes, until it has ended; goes on over a restart of the sidecar.

        Use it as a context manager and iterate over it. `timeout` is for the beginning.
        """
        return AsyncJobWatch(self._connection, pb.WatchJobRequest(name=name), job_from_proto, timeout)


def job_from_proto(message: pb.Job) -> Job:
    return Job(
        name=message.name,
        scope=scope_from_proto(message.scope),
        kind=JobKind(message.kind),
        state=JobState(message.state),
        total=message.progress.total,
        done=message.progress.done,
        failed=message.progress.failed,
        results=tuple(item_result_from_proto(result) for result in message.results),
        message=message.message,
        attempts=message.attempts,
        create_time=from_timestamp(message.create_time) if message.HasField("create_time") else None,
        update_time=from_timestamp(message.update_time) if message.HasField("update_time") else None,
        next_attempt_time=from_timestamp(message.next_attempt_time) if message.HasField("next_attempt_time") else None,
    )
