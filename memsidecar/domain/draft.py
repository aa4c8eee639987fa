"""What a caller asks to be remembered, checked but not yet decided on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

from memsidecar.domain.events import Vectors
from memsidecar.domain.memory import Body, Memory, Provenance

_NOTHING: Mapping[str, str] = MappingProxyType({})

DEFAULT_CONFIDENCE = 1.0
DEFAULT_IMPORTANCE = 0.5


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


class Action(IntEnum):
    """What became of one draft. Numbers are part of the API."""

    CREATED = 1
    MERGED = 2
    DUPLICATE = 4


@dataclass(frozen=True, slots=True)
class Outcome:
    """One memory touched by a draft, with the reason in one sentence."""

    action: Action
    memory: Memory
    explanation: str
    embedding_pending: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A caller's write: its id (empty: not to be remembered), a digest of its content, and who sent it."""

    request_id: str = ""
    digest: bytes = b""
    actor: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """Changes to a memory: field name of Memory or of its body -> new value.

    `vectors` are for the new text. `path` as in Draft; `etag` empty means: over any version.
    """

    changes: Mapping[str, object]
    etag: str = ""
    reason: str = ""
    vectors: Vectors | None = None
    path: str = "memory"
