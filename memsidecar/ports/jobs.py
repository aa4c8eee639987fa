"""What is stored of jobs. They are changed by `Append.jobs` only, in one transaction with what a write does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from memsidecar.domain.job import DueItem, ItemState, StoredJob
from memsidecar.domain.scope import Partition


class JobStore(Protocol):
    """Reads only. Every method raises StoreUnavailable when the store cannot be read."""

    async def due_items(self, each: int, limit: int) -> Sequence[DueItem]:
        """Items that are due, at most `each` of a partition, oldest first; all partitions have their turn."""
        ...

    async def count_items(self) -> Mapping[ItemState, int]:
        """How many items of all jobs are in each state; those that have ended are kept for a while only. Costs a look
        at each of them."""
        ...

    async def find_job(self, partition: Partition, job_id: str) -> StoredJob | None:
        """A job with its items, for at least 24 hours after its end."""
        ...

    async def list_jobs(self, partition: Partition, before: tuple[int, str] | None, limit: int) -> Sequence[StoredJob]:
        """Jobs without their items, newest first, created before (`created_at`, `id`)."""
        ...
