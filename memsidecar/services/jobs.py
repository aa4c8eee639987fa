"""Jobs as callers see them: get, list, cancel, watch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Sequence

from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Action, Declined, Outcome, Request
from memsidecar.domain.errors import NotFound
from memsidecar.domain.job import FINAL, ItemResult, ItemState, Job, JobCancelled, JobState, StoredItem, StoredJob
from memsidecar.domain.scope import Partition, resource_name
from memsidecar.ports.jobs import JobStore
from memsidecar.ports.runtime import Clock
from memsidecar.services.job_worker import JobWorker
from memsidecar.services.residency import Residency
from memsidecar.services.resident import Resident

_LISTED_AT_ONCE = 200


class Jobs:
    """`worker` is None when nothing can be done about what is due: no model is configured any more."""

    def __init__(self, store: JobStore, residency: Residency, clock: Clock) -> None:
        self._store, self._residency, self._clock = store, residency, clock
        self._worker: JobWorker | None = None
        self._watched: dict[tuple[Partition, str], list[asyncio.Event]] = {}

    def worked_by(self, worker: JobWorker) -> None:
        self._worker = worker

    async def get(self, partition: Partition, job_id: str) -> Job:
        """A job with what came of its items so far. Raises NotFound, StoreUnavailable."""
        stored = await self._stored(partition, job_id)
        return self._seen(stored, self._results(await self._residency.view(partition), stored.items))

    async def list(
        self, partition: Partition, states: Iterable[JobState], before: tuple[int, str] | None, limit: int
    ) -> Sequence[Job]:
        """Jobs in one of the states (none: all), without results, newest first, after (`created_at`, `id`)."""
        wanted = frozenset(states)
        found: list[Job] = []
        while True:
            page = await self._store.list_jobs(partition, before, _LISTED_AT_ONCE if wanted else limit)
            jobs = [self._seen(stored) for stored in page]
            found += [job for job in jobs if not wanted or job.state in wanted]
            if len(found) >= limit or len(page) < _LISTED_AT_ONCE or not wanted:
                return found[:limit]
            before = (page[-1].created_at, page[-1].id)

    async def cancel(self, partition: Partition, job_id: str, request: Request | None = None) -> Job:
        """Stop a job; what it has done stays, and one that has ended is left as it is. Raises NotFound."""
        await self._stored(partition, job_id)

        def command(decision: Decision) -> list[None]:
            decision.jobs.append(JobCancelled(job_id))
            return []

        await self._residency.write(partition, command, request or Request())
        self.changed(partition, job_id)
        return await self.get(partition, job_id)

    async def watch(self, partition: Partition, job_id: str) -> AsyncGenerator[Job, None]:
        """The job now and whenever it changes; the last one is final. Raises NotFound, also when it is forgotten."""
        changed = asyncio.Event()
        watching = self._watched.setdefault((partition, job_id), [])
        watching.append(changed)
        try:
            last: Job | None = None
            while last is None or last.state not in FINAL:
                changed.clear()
                job = await self.get(partition, job_id)
                if job != last:
                    last = job
                    yield job
                if job.state not in FINAL:
                    await changed.wait()
        finally:
            watching.remove(changed)
            if not watching:
                self._watched.pop((partition, job_id), None)

    async def unfinished(self, partition: Partition, job_id: str) -> bool:
        """Whether a job is there and has not ended; the worker is told that something may be due."""
        stored = await self._store.find_job(partition, job_id)
        if stored is None or not _due(stored):
            return False
        if self._worker is not None:
            self._worker.notice()
        return True

    def changed(self, partition: Partition, job_id: str) -> None:
        """Something of the job is different now."""
        for event in self._watched.get((partition, job_id), ()):
            event.set()

    async def _stored(self, partition: Partition, job_id: str) -> StoredJob:
        stored = await self._store.find_job(partition, job_id)
        if stored is None:
            raise NotFound(resource_name(partition, "jobs", job_id))
        return stored

    def _seen(self, stored: StoredJob, results: Sequence[ItemResult] = ()) -> Job:
        state, message, next_attempt = self._standing(stored)
        if state is JobState.FAILED and not message:
            message = next((r.problem for r in results if r.failed), "")
        return Job(
            stored.id,
            stored.partition,
            stored.agent,
            stored.session,
            stored.kind,
            state,
            stored.total,
            stored.done,
            stored.failed,
            stored.created_at,
            stored.updated_at,
            stored.attempts,
            message,
            next_attempt,
            tuple(results),
        )

    def _standing(self, stored: StoredJob) -> tuple[JobState, str, int | None]:
        if not _due(stored):
            if stored.cancelled:
                return JobState.CANCELLED, "", None
            return (JobState.FAILED if stored.failed else JobState.SUCCEEDED), "", None
        if self._worker is None:
            return JobState.WAITING, "no model is configured to do it (extraction.mode)", None
        if self._worker.works_on(stored.partition, stored.id):
            return JobState.RUNNING, "", None
        if (waiting := self._worker.waiting) is not None:
            left = max(0.0, waiting.until - time.monotonic())
            return JobState.WAITING, waiting.problem, self._clock.now() + int(left * 1_000_000)
        begun = stored.done + stored.failed > 0
        return (JobState.RUNNING if begun else JobState.PENDING), "", None

    def _results(self, resident: Resident, items: Sequence[StoredItem]) -> Sequence[ItemResult]:
        return [_result(resident, item) for item in items if item.state in (ItemState.DONE, ItemState.FAILED)]


def _due(stored: StoredJob) -> bool:
    return stored.done + stored.failed + stored.cancelled < stored.total


def _result(resident: Resident, item: StoredItem) -> ItemResult:
    """Memories as they are now; what is purged since is left out."""
    outcomes: list[Outcome | Declined] = []
    for told in item.told:
        if not told.memory_id:
            outcomes.append(Declined("", told.explanation))
        elif (memory := resident.memory(told.memory_id)) is not None:
            outcomes.append(Outcome(Action(told.action), memory, told.explanation))
    return ItemResult(item.index, tuple(outcomes), item.problem, item.state is ItemState.FAILED)
