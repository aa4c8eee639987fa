"""What a caller asks to be remembered, checked but not yet decided on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

from memsidecar.domain.claims import Manner, Span
from memsidecar.domain.conflict import Policy, Source
from memsidecar.domain.events import Vectors
from memsidecar.domain.memory import Body, Kind, Memory, Provenance
from memsidecar.domain.mentions import Mention

_NOTHING: Mapping[str, str] = MappingProxyType({})

DEFAULT_CONFIDENCE = 1.0
DEFAULT_IMPORTANCE = 0.5


@dataclass(frozen=True, slots=True)
class Declined:
    """What was found in a text and is not stored, with the reason in one sentence."""

    statement: str
    explanation: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory as it came in. `path` is where it stands in the request ("item.memory", "items[3]"), for errors.

    `source` is where it comes from, None when the caller did not say. `embedding` are the caller's own vectors, unit
    length. `entity_names` are names as people write them; `mentions` are ids of entities that must exist.
    """

    body: Body
    path: str = ""
    agent: str = ""
    session: str = ""
    source: Provenance | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    expires_at: int | None = None
    confidence: float = DEFAULT_CONFIDENCE
    importance: float = DEFAULT_IMPORTANCE
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    attributes: str = ""
    mentions: tuple[str, ...] = ()
    entity_names: tuple[str, ...] = ()
    embedding: Vectors | None = None
    policy: Policy | None = None
    """What a contradiction leads to; None: what the rules of the namespace say."""
    manner: Manner = Manner.STATED
    said_by: Source = Source.USER
    subject_named: Mention | None = None
    """Whom it is about, as written: found by name or made when it is stored, in place of the body's `subject`."""
    object_named: Mention | None = None
    """What a fact's value names, likewise, in place of the body's `object_entity`."""
    claims: tuple[Draft, ...] = ()
    """What was read out of this text. Each is remembered after it, derived from it."""
    declined: tuple[Declined, ...] = ()
    heard: tuple[Span, ...] | None = None
    """The parts of an episode's text that the user's side said; None: all of it."""
    only_denies: bool = False
    """It is stored only where it denies what is known (`Claim.only_denies`)."""
    asks: bool = False
    """Whether a model is to read it, too, when there is one."""


class Action(IntEnum):
    """What became of one draft. Numbers are part of the API."""

    CREATED = 1
    MERGED = 2
    SUPERSEDED = 3
    DUPLICATE = 4
    CONFLICT_FLAGGED = 5
    DECLINED = 6


@dataclass(frozen=True, slots=True)
class Outcome:
    """One memory touched by a draft, with the reason in one sentence."""

    action: Action
    memory: Memory
    explanation: str
    embedding_pending: bool = False
    superseded: tuple[str, ...] = ()
    """Ids of memories that it superseded, or of the one by which it is superseded itself."""
    conflicts: tuple[str, ...] = ()
    """Ids of the conflicts that it opened, or that record the superseding."""
    extracted: tuple[Outcome | Declined, ...] = ()
    """What was read out of it."""


@dataclass(frozen=True, slots=True)
class Request:
    """A caller's write: its id (empty: not to be remembered), a digest of its content, and who sent it."""

    request_id: str = ""
    digest: bytes = b""
    actor: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """Changes to a memory: field name of Memory or of its body -> new value.

    `vectors` are for the new text. `path` as in Draft; `etag` empty means: over any version. `kind` is that of the body
    whose fields change, None when none does.
    """

    changes: Mapping[str, object]
    etag: str = ""
    reason: str = ""
    vectors: Vectors | None = None
    path: str = "memory"
    kind: Kind | None = None
