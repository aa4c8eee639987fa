"""The ledger's entries. A partition is a deterministic fold over them, in order.

Events are fat: each carries the whole new record, so that applying one needs no earlier state and applying it again
changes nothing. Vectors travel with the event that brought them and are stored beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.feedback import Feedback, Verdict
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition

Matrix: TypeAlias = NDArray[np.float32]


class Change(IntEnum):
    """Why a memory was recorded. Numbers are stored; never renumber."""

    CREATED = 1
    MERGED = 2
    UPDATED = 3
    DELETED = 4
    UNDELETED = 5
    SUPERSEDED = 6
    """Another memory took its place, now or at a time that is known."""
    DISPUTED = 7
    """It takes part in an open conflict."""
    RESTORED = 8
    """A conflict was settled for it, dismissed, or its resolution undone."""
    DATED = 9
    """A conflict has said from when or until when it is true."""
    UNITED = 10
    """An entity was merged into another one, or what named it now names that one."""
    PARTED = 11
    """A merge of entities was undone."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Unit-length float32 rows, one for each chunk of a memory's text, of one embedding model."""

    model: str
    rows: Matrix

    @property
    def dimensions(self) -> int:
        return int(self.rows.shape[1])


NO_VECTORS = Vectors("", np.zeros((0, 0), dtype=np.float32))
"""Brought by a new text whose vectors are due: the ledger must not give back those of the old one."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryRecorded:
    """A memory's next version. `vectors` is None when those recorded before, if any, still fit its text."""

    change: Change
    memory: Memory
    vectors: Vectors | None = None
    actor: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class VectorsRecorded:
    """Vectors that were due: the embedder was away, or the model has changed since."""

    memory_id: str
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class MemoryPurged:
    """A memory is gone for good: after this event its earlier payloads and vectors are erased from the ledger."""

    memory_id: str
    actor: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FeedbackGiven:
    """An agent has judged a memory; `counts` are all verdicts on it by now. The memory's content and version stay."""

    memory_id: str
    verdict: Verdict
    counts: Feedback
    actor: str = ""


@dataclass(frozen=True, slots=True)
class ConflictRecorded:
    """A conflict's next version, whole."""

    conflict: Conflict
    actor: str = ""
    reason: str = ""


Event: TypeAlias = MemoryRecorded | VectorsRecorded | MemoryPurged | FeedbackGiven | ConflictRecorded


def subject_of(event: Event) -> str:
    """The id of the memory, or of the conflict, that an event is about."""
    match event:
        case MemoryRecorded(memory=memory):
            return memory.id
        case ConflictRecorded(conflict=conflict):
            return conflict.id
        case _:
            return event.memory_id


@dataclass(frozen=True, slots=True)
class Entry:
    """An event at its place. `revision` counts a partition's entries from 1; `position` counts the whole ledger's.

    `event` is None when its payload has been erased by a later MemoryPurged. `subject` stays.
    """

    position: int
    partition: Partition
    revision: int
    recorded_at: int
    subject: str
    event: Event | None
    request_id: str = ""
