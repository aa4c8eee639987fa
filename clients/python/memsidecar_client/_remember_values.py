"""What remembering takes and gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from memsidecar_client._enums import RememberAction
from memsidecar_client._errors import MemsidecarError
from memsidecar_client._memory_values import Body, Memory, Provenance, Vector
from memsidecar_client._session_values import Session


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """One thing said. `speaker` is a name or a role; what the roles assistant, system and tool say is stored, and
    nothing is read out of it. `time` defaults to that of the conversation; `message` is the caller's id of it."""

    text: str
    speaker: str = ""
    time: datetime | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """1 to 256 turns that were said in a row; each is stored as an episode."""

    turns: tuple[ConversationTurn, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to remember: a text that was said or seen, a typed memory, or a conversation.

    `time` is when it was said (default now). `entities` are names as a person would write them. `embedding` skips the
    sidecar's embedder.
    """

    what: str | Body | Memory | Conversation
    speaker: str = ""
    time: datetime | None = None
    entities: Iterable[str] = ()
    embedding: Vector | None = None
    provenance: Provenance | None = None


Rememberable: TypeAlias = str | Body | Memory | Conversation | Item


@dataclass(frozen=True, slots=True)
class Outcome:
    """One memory touched by an item. `embedding_pending`: its vector is still due, its words are found meanwhile.

    `superseded` are names of memories that it superseded, or by which it is superseded itself; `conflicts` those of the
    conflicts that it opened or that record this. `extracted_from` is the name of the episode that it was read from,
    empty for what was given itself.
    """

    action: RememberAction
    memory: Memory
    explanation: str = ""
    embedding_pending: bool = False
    superseded: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    extracted_from: str = ""


@dataclass(frozen=True, slots=True)
class Declined:
    """Something that was found in a text and not stored, and why."""

    explanation: str
    extracted_from: str = ""


@dataclass(frozen=True, slots=True)
class WriteStages:
    """How far a write has got. `durable`: it survives a crash. `extracted`: everything that is to be read out of it has
    been; otherwise the jobs of these names go on with it. `searchable`: recall finds all of it by every means."""

    durable: bool = True
    extracted: bool = True
    searchable: bool = True
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of one item, then what was read out of it. `revision` is opaque; a recall with it as `min_revision`
    observes this write."""

    outcomes: tuple[Outcome, ...]
    revision: str
    declined: tuple[Declined, ...] = ()
    stages: WriteStages = WriteStages()

    @property
    def memories(self) -> tuple[Memory, ...]:
        return tuple(outcome.memory for outcome in self.outcomes)


@dataclass(frozen=True, slots=True)
class EndedSession:
    """A session that has ended, and what was remembered of it: at most 256 outcomes."""

    session: Session
    outcomes: tuple[Outcome, ...]
    revision: str
    declined: tuple[Declined, ...] = ()
    stages: WriteStages = WriteStages()


@dataclass(frozen=True, slots=True)
class ItemResult:
    """One item's outcomes, or the error that refused it alone. `index` is its position among the items given."""

    index: int
    outcomes: tuple[Outcome, ...] = ()
    error: MemsidecarError | None = None
    declined: tuple[Declined, ...] = ()


@dataclass(frozen=True, slots=True)
class RememberedMany:
    """One result an item, in the order given. `revision` is that of the last write; empty when there were no items."""

    results: tuple[ItemResult, ...]
    revision: str
    stages: WriteStages = WriteStages()

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
    stages: WriteStages = WriteStages()
