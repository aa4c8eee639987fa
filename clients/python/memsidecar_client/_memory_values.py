"""What is remembered, as values. Times are aware datetimes; names are resource names as the server gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from memsidecar_client._enums import EpisodeOutcome, MemoryChange, MemoryKind, MemoryState
from memsidecar_client._json_values import JsonValue


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory. Namespace and user choose the partition, agent and session narrow inside it; empty is wider.

    An empty namespace is the sidecar's own; an empty user is the namespace's shared memory, never "all users".
    """

    namespace: str = ""
    user: str = ""
    agent: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """An edge of the graph with its sentence.

    `subject` and `object_entity` are names of entity memories. At most one of `object_entity`, `object_text` and
    `object_value` is set. `negated`: it is said not to be so.
    """

    statement: str
    subject: str = ""
    predicate: str = ""
    object_entity: str = ""
    object_text: str = ""
    object_value: JsonValue = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Preference:
    """A standing wish. `polarity` runs from -1 (avoid) to 1 (prefer). An empty `subject` means the user's own."""

    statement: str
    topic: str = ""
    value: str = ""
    polarity: float = 0.0
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, place, organisation, thing or topic. `discovered` is set by the server: it found this one in a text."""

    display_name: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    summary: str = ""
    discovered: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """What was said or what happened. `follows` is set by the server: the episode before it in the same session."""

    text: str
    title: str = ""
    speaker: str = ""
    start_time: datetime | None = None
    end_time: datetime | None = None
    participants: tuple[str, ...] = ()
    outcome: EpisodeOutcome = EpisodeOutcome.UNSPECIFIED
    decisions: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    follows: str = ""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A way of doing something: a skill, a workflow, a pattern of tool use."""

    statement: str
    title: str = ""
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnknownBody:
    """A kind of memory that this client is too old to know. `raw` is the whole memory as the server sent it.

    It can be read, listed and deleted, but not written.
    """

    raw: bytes = field(repr=False)


Body: TypeAlias = Fact | Preference | Entity | Episode | Procedure | UnknownBody

_KINDS: Mapping[type, MemoryKind] = {
    Fact: MemoryKind.FACT,
    Preference: MemoryKind.PREFERENCE,
    Entity: MemoryKind.ENTITY,
    Episode: MemoryKind.EPISODE,
    Procedure: MemoryKind.PROCEDURE,
}


@dataclass(frozen=True, slots=True)
class Provenance:
    """One source of a memory. `session` is an id, `messages` are the caller's ids; `time` is when it was said.

    The server sets `span`: the code points (half-open) of the text of `derived_memories` that say it; None: all of it.
    """

    session: str = ""
    messages: tuple[str, ...] = ()
    derived_memories: tuple[str, ...] = ()
    extractor: str = ""
    document: str = ""
    agent: str = ""
    speaker: str = ""
    time: datetime | None = None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """One remembered thing. Only `body` is needed to write one.

    `valid_start_time` to `valid_end_time` is when it is true in the world. `expire_time` ends it; `ttl` is the same for
    writing only, counted from the write; give one of them. `confidence` and `importance` are 0 to 1, None takes the
    server's default. `attributes` is JSON that is kept but not searched. `mentions` are names of entity memories.
    The server sets `name`, `state`, `etag`, and the create, update, supersede, delete and purge times; also how often
    the memory was recalled and when last, and its `usefulness`: -1 to 1, what feedback says of it.
    """

    body: Body
    name: str = ""
    scope: Scope = Scope()
    state: MemoryState = MemoryState.UNSPECIFIED
    valid_start_time: datetime | None = None
    valid_end_time: datetime | None = None
    expire_time: datetime | None = None
    ttl: timedelta | None = None
    confidence: float | None = None
    importance: float | None = None
    provenance: tuple[Provenance, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, JsonValue] = field(default_factory=dict)
    mentions: tuple[str, ...] = ()
    create_time: datetime | None = None
    update_time: datetime | None = None
    supersede_time: datetime | None = None
    delete_time: datetime | None = None
    purge_time: datetime | None = None
    etag: str = ""
    access_count: int = 0
    last_access_time: datetime | None = None
    usefulness: float = 0.0

    @property
    def kind(self) -> MemoryKind:
        return _KINDS.get(type(self.body), MemoryKind.UNSPECIFIED)

    @property
    def text(self) -> str:
        """The sentence that is searched and shown; empty for a kind this client does not know."""
        match self.body:
            case Entity(display_name=name, summary=summary):
                return f"{name}: {summary}" if summary else name
            case Episode(text=text):
                return text
            case Fact(statement=text) | Preference(statement=text) | Procedure(statement=text):
                return text
            case UnknownBody():
                return ""


@dataclass(frozen=True, slots=True)
class MemoryRevision:
    """One state in a memory's history. `snapshot` is None once the memory has been purged."""

    name: str
    change: MemoryChange
    create_time: datetime
    snapshot: Memory | None = None
    actor: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Embedding:
    """A vector the caller computed, of the server's dimension. `model`, when set, must be the server's."""

    values: tuple[float, ...]
    model: str = ""


Vector: TypeAlias = Iterable[float] | Embedding


@dataclass(frozen=True, slots=True)
class Filter:
    """Narrows a list or a recall; all conditions must hold. Times are half-open: min <= time < max.

    Empty `kinds` means all but discovered entities; empty `states` means active and disputed. `said` times are when a
    thing was said or became true. `entities` are resource names, all of them; `sessions` are ids, any of them.
    """

    kinds: tuple[MemoryKind, ...] = ()
    states: tuple[MemoryState, ...] = ()
    entities: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    min_create_time: datetime | None = None
    max_create_time: datetime | None = None
    min_said_time: datetime | None = None
    max_said_time: datetime | None = None
    min_importance: float | None = None
    min_confidence: float | None = None
    sessions: tuple[str, ...] = ()
    exclude_sessions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """A memory as it now is, and the revision of the write."""

    memory: Memory
    revision: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """The memory with its purge_time, None after a purge, and the revision of the write."""

    memory: Memory | None
    revision: str
