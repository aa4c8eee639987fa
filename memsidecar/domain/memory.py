"""What is remembered: one record with a typed body.

Times are integers: microseconds since 1970-01-01 UTC. None means unset. A record is immutable; a change is a new
record with the next version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import TypeAlias

from memsidecar.domain.scope import Scope

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Kind(IntEnum):
    """The five kinds of memory. Numbers are stored and are part of the API; never renumber."""

    FACT = 1
    PREFERENCE = 2
    ENTITY = 3
    EPISODE = 4
    PROCEDURE = 5


class State(IntEnum):
    """Where a memory stands in its life. EXPIRED is never stored: it is ACTIVE past its `expires_at`."""

    ACTIVE = 1
    SUPERSEDED = 2
    DISPUTED = 3
    DORMANT = 4
    DELETED = 5
    EXPIRED = 6


class Outcome(IntEnum):
    """How an episode ended."""

    UNKNOWN = 0
    SUCCESS = 1
    FAILURE = 2
    PARTIAL = 3


@dataclass(frozen=True, slots=True)
class Fact:
    """An edge of the graph with its sentence: subject, predicate, and a value or an entity.

    `subject` and `object_entity` are entity memory ids of the same partition, or empty. `object_value` is JSON.
    `negated` says that it is not so: "I have no car", "never wrote a Flask route".
    """

    statement: str
    subject: str = ""
    predicate: str = ""
    object_entity: str = ""
    object_text: str = ""
    object_value: str = ""
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Preference:
    """A standing wish. `polarity` runs from -1 (avoid) to 1 (prefer). `subject` is an entity id; empty is the user."""

    statement: str
    topic: str = ""
    value: str = ""
    polarity: float = 0.0
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, place, organisation, thing or topic. `discovered` marks one found by rules, not written by a caller."""

    display_name: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    summary: str = ""
    discovered: bool = False


@dataclass(frozen=True, slots=True)
class Episode:
    """What was said or what happened. `follows` is the id of the episode before it in the same session, or empty."""

    text: str
    title: str = ""
    speaker: str = ""
    start_time: int | None = None
    end_time: int | None = None
    participants: tuple[str, ...] = ()
    outcome: Outcome = Outcome.UNKNOWN
    decisions: tuple[str, ...] = ()
    lessons: tuple[str, ...] = ()
    follows: str = ""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A way of doing something: a skill, a workflow, a pattern of tool use."""

    statement: str
    title: str = ""
    steps: tuple[str, ...] = ()


Body: TypeAlias = Fact | Preference | Entity | Episode | Procedure

_KINDS: dict[type, Kind] = {
    Fact: Kind.FACT,
    Preference: Kind.PREFERENCE,
    Entity: Kind.ENTITY,
    Episode: Kind.EPISODE,
    Procedure: Kind.PROCEDURE,
}


def text_of(body: Body) -> str:
    """The sentence that is searched, embedded and shown."""
    match body:
        case Entity(display_name=name, summary=summary):
            return f"{name}: {summary}" if summary else name
        case Episode(text=text):
            return text
        case Fact(statement=text) | Preference(statement=text) | Procedure(statement=text):
            return text


@dataclass(frozen=True, slots=True)
class Provenance:
    """One source of a memory. `derived_from` are memory ids of the same partition; `time` is when it was said.

    `start` to `end` (half-open) are the code points of the source's text that say it; both 0: all of it.
    """

    session: str = ""
    messages: tuple[str, ...] = ()
    derived_from: tuple[str, ...] = ()
    extractor: str = ""
    document: str = ""
    agent: str = ""
    speaker: str = ""
    time: int | None = None
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Memory:
    """One remembered thing, as of one version.

    `confidence` and `importance` are 0 to 1. `labels` are short strings to filter by; `attributes` is a JSON object.
    `mentions` are entity ids. `digest` is the normalised-content hash that finds exact duplicates.
    """

    id: str
    scope: Scope
    body: Body
    created_at: int
    updated_at: int
    version: int = 1
    state: State = State.ACTIVE
    valid_from: int | None = None
    valid_to: int | None = None
    superseded_at: int | None = None
    deleted_at: int | None = None
    purge_at: int | None = None
    expires_at: int | None = None
    confidence: float = 1.0
    importance: float = 0.5
    provenance: tuple[Provenance, ...] = ()
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    attributes: str = ""
    mentions: tuple[str, ...] = ()
    digest: bytes = b""

    @property
    def kind(self) -> Kind:
        return _KINDS[type(self.body)]

    @property
    def text(self) -> str:
        """The sentence that is searched, embedded and shown."""
        return text_of(self.body)

    @property
    def said_at(self) -> int:
        """When it was said or became true: the time a reader would date it by."""
        if isinstance(self.body, Episode) and self.body.start_time is not None:
            return self.body.start_time
        return self.valid_from if self.valid_from is not None else self.created_at

    def state_at(self, now: int) -> State:
        """The state a reader sees at `now`: ACTIVE becomes EXPIRED once `expires_at` has passed, and what another
        memory will supersede is ACTIVE until then."""
        state = self.state
        if state is State.SUPERSEDED and self.superseded_at is not None and self.superseded_at > now:
            state = State.ACTIVE
        expired = state is State.ACTIVE and self.expires_at is not None and self.expires_at <= now
        return State.EXPIRED if expired else state
