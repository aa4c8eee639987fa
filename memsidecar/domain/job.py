"""Work that takes longer than a call. What is due is committed with what causes it, and what is done with its effect,
so that a job runs on after a crash, and nothing of it happens twice."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

from memsidecar.domain.claims import Span
from memsidecar.domain.draft import Declined, Outcome
from memsidecar.domain.scope import Partition


class JobKind(IntEnum):
    """What a job does. Numbers are stored and are part of the API; never renumber."""

    EXTRACTION = 1
    """Asks a model what remembered texts say, and remembers that."""


class JobState(IntEnum):
    """Where a job stands. Numbers are part of the API. The last three are final."""

    PENDING = 1
    RUNNING = 2
    WAITING = 3
    """What it needs does not answer; it tries again by itself."""
    SUCCEEDED = 4
    FAILED = 5
    """All is tried, and some of its items were given up."""
    CANCELLED = 6


FINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})


class ItemState(IntEnum):
    """Where one item of a job stands. Numbers are stored; never renumber."""

    DUE = 1
    DONE = 2
    FAILED = 3
    CANCELLED = 4


@dataclass(frozen=True, slots=True)
class ItemDue:
    """One more item of a job, which begins with its first one. `parts` are those of the memory's text that may be read;
    none: all of it."""

    job_id: str
    memory_id: str
    parts: tuple[Span, ...] = ()
    kind: JobKind = JobKind.EXTRACTION
    agent: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one claim, without its text: a memory's id and the action, or why it was declined."""

    memory_id: str = ""
    action: int = 0
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class ItemSettled:
    """An item has come to its end, or (DUE) was tried once more. One that has ended stays as it is."""

    position: int
    state: ItemState
    problem: str = ""
    told: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class JobCancelled:
    """What of a job is due is not done any more."""

    job_id: str


JobChange: TypeAlias = ItemDue | ItemSettled | JobCancelled


@dataclass(frozen=True, slots=True)
class DueItem:
    """An item to be worked on. `position` counts the items of all jobs; `attempts` were made and failed."""

    position: int
    partition: Partition
    job_id: str
    memory_id: str
    parts: tuple[Span, ...]
    attempts: int


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item of a job as it is stored. `index` counts from 0."""

    index: int
    position: int
    state: ItemState
    problem: str
    told: tuple[Told, ...]


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as it is stored. Times are microseconds. `items` are left out of a list."""

    id: str
    partition: Partition
    agent: str
    session: str
    kind: JobKind
    created_at: int
    updated_at: int
    total: int
    done: int
    failed: int
    cancelled: int
    attempts: int
    items: tuple[StoredItem, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What came of an item that has ended. `problem` is empty unless it was given up, or had nothing to work on."""

    index: int
    outcomes: tuple[Outcome | Declined, ...] = ()
    problem: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A job as a caller sees it. `message` says why it waits or failed, in one sentence."""

    id: str
    partition: Partition
    agent: str
    session: str
    kind: JobKind
    state: JobState
    total: int
    done: int
    failed: int
    created_at: int
    updated_at: int
    attempts: int = 0
    message: str = ""
    next_attempt_at: int | None = None
    results: tuple[ItemResult, ...] = ()
