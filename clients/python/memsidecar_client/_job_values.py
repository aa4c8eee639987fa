"""What takes longer than a call, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memsidecar_client._enums import JobKind, JobState
from memsidecar_client._memory_values import Scope
from memsidecar_client._remember_values import ItemResult


@dataclass(frozen=True, slots=True)
class Job:
    """Durable work. Of `total` items so many are `done`, and so many were given up (`failed`).

    `results` say what came of each item that is done; lists of jobs come without them. `message` is why it waits or has
    failed.
    """

    name: str
    scope: Scope
    kind: JobKind
    state: JobState
    total: int = 0
    done: int = 0
    failed: int = 0
    results: tuple[ItemResult, ...] = ()
    message: str = ""
    attempts: int = 0
    create_time: datetime | None = None
    update_time: datetime | None = None
    next_attempt_time: datetime | None = None

    @property
    def is_final(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
