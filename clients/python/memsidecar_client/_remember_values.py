"""What remembering takes and gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from memsidecar_client._enums import RememberAction
from memsidecar_client._errors import MemsidecarError
from memsidecar_client._memory_values import Body, Memory, Provenance, Vector


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to remember: a text that was said or seen, or a typed memory.

    `time` is when it was said (default now). `entities` are names as a person would write them. `embedding` skips the
    sidecar's embedder.
    """

    what: str | Body | Memory
    speaker: str = ""
    time: datetime | None = None
    entities: Iterable[str] = ()
    embedding: Vector | None = None
    provenance: Provenance | None = None


Rememberable: TypeAlias = str | Body | Memory | Item


@dataclass(frozen=True, slots=True)
class Outcome:
    """One memory touched by an item. `embedding_pending`: its vector is still due, its words are found meanwhile."""

    action: RememberAction
    memory: Memory
    explanation: str = ""
    embedding_pending: bool = False


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of one item. `revision` is opaque; a recall with it as `min_revision` observes this write."""

    outcomes: tuple[Outcome, ...]
    revision: str

    @property
    def memories(self) -> tuple[Memory, ...]:
        return tuple(outcome.memory for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One item's outcomes, or the error that refused it alone. `index` is its position among the items given."""

    index: int
    outcomes: tuple[Outcome, ...] = ()
    error: MemsidecarError | None = None


@dataclass(frozen=True, slots=True)
class RememberedMany:
    """One result an item, in the order given. `revision` is that of the last write; empty when there were no items."""

    results: tuple[ItemResult, ...]
    revision: str

    @property
    def failures(self) -> tuple[ItemResult, ...]:
        return tuple(result for result in self.results if result.error is not None)


@dataclass(frozen=True, slots=True)
class StreamSummary:
    """What became of a whole ingest stream. `action_counts` is by the name of the action, for example CREATED.

    `failures` holds the first 100, their index counted over the whole stream; `failure_count` counts all.
    """

    received: int
    action_counts: Mapping[str, int]
    failures: tuple[ItemResult, ...]
    failure_count: int
    revision: str
