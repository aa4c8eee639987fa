"""Working memory: the messages and scratch values of one conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

from memsidecar.domain.scope import Scope

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Role(IntEnum):
    SYSTEM = 1
    USER = 2
    ASSISTANT = 3
    TOOL = 4


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that an assistant message asks for; `arguments` is JSON."""

    id: str
    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn or tool result. `seq` is 0 until the store assigns it (1, 2, 3 ... within the session).

    `metadata` is a JSON object, or empty. A tool result names its call in `tool_call_id`. Messages with one `group_key`
    are kept or dropped together by a window; `pinned` ones always stay.
    """

    role: Role
    text: str
    seq: int = 0
    created_at: int = 0
    token_count: int = 0
    metadata: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    group_key: str = ""
    pinned: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """A session's state without its messages. `ttl` (microseconds) restarts with every append and scratch write when
    `sliding`. `message_count` and `token_count` are those of the transcript kept, `last_seq` counts all there were.

    `version` is its etag: it rises with every change of the state and with every append.
    """

    id: str
    scope: Scope
    created_at: int
    updated_at: int
    expires_at: int
    ttl: int
    sliding: bool = True
    message_count: int = 0
    token_count: int = 0
    last_seq: int = 0
    ended_at: int | None = None
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    version: int = 1


@dataclass(frozen=True, slots=True)
class ScratchEntry:
    """A key with a JSON value. `version` is its etag; `expires_at` None means: with the session."""

    key: str
    value: str
    expires_at: int | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class ScratchWrite:
    """`expected_version`: None writes in any case, 0 only when the key does not exist, else only over that version."""

    key: str
    value: str
    expires_at: int | None = None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a conversation that fits a token budget, in order. `shortened`: not all of the newest message, or of
    what must stay together with it, fits."""

    messages: tuple[Message, ...]
    token_count: int
    omitted: int
    shortened: bool = False
