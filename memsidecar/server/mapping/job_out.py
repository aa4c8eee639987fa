"""Jobs as the outside sees them."""

from __future__ import annotations

import grpc

from memsidecar.domain.draft import Declined, Outcome
from memsidecar.domain.job import Job
from memsidecar.domain.scope import Scope
from memsidecar.server.mapping.memory_out import set_scope
from memsidecar.server.mapping.names import name_of
from memsidecar.server.mapping.outcome_out import Outcomes
from memsidecar.server.mapping.values import set_time
from memsidecar.v1 import error_reason_pb2
from memsidecar.v1 import job_service_pb2 as pb


def set_job(target: pb.Job, job: Job) -> None:
    """Fill an empty message, but for the results."""
    partition = job.partition
    target.name = name_of(partition, "jobs", job.id)
    set_scope(target.scope, Scope(partition.namespace, partition.user, job.agent, job.session))
    target.kind = pb.JobKind.ValueType(job.kind)
    target.state = pb.JobState.ValueType(job.state)
    target.progress.total, target.progress.done, target.progress.failed = job.total, job.done, job.failed
    target.message = job.message
    target.attempts = job.attempts
    set_time(target.create_time, job.created_at)
    set_time(target.update_time, job.updated_at)
    if job.next_attempt_at is not None:
        set_time(target.next_attempt_time, job.next_attempt_at)


async def set_results(target: pb.Job, job: Job, outcomes: Outcomes) -> None:
    """What came of each item that has ended, as far as an answer has room."""
    for result in job.results:
        added = target.results.add(index=result.index)
        await outcomes.fill_read(added.outcomes, ((each, _source(each)) for each in result.outcomes))
        if result.failed:
            added.error.code = grpc.StatusCode.UNAVAILABLE.value[0]
            added.error.reason = error_reason_pb2.ERROR_REASON_MODEL_UNAVAILABLE
            added.error.message = result.problem


def _source(outcome: Outcome | Declined) -> str:
    """The name of the memory that it was read from, as far as it is known."""
    if isinstance(outcome, Declined):
        return ""
    sources = (source for told in reversed(outcome.memory.provenance) for source in told.derived_from)
    return name_of(outcome.memory.scope.partition, "memories", next(sources, ""))


def place_of(job: Job) -> str:
    """Where a list goes on after this job."""
    return f"{job.created_at}/{job.id}"


def read_place(key: str) -> tuple[int, str] | None:
    """What `place_of` wrote; None at the beginning."""
    created, _, job_id = key.partition("/")
    return (int(created), job_id) if created else None
