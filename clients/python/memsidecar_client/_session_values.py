"""Working memory, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memsidecar_client._enums import Role
from memsidecar_client._json_values import JsonValue
from memsidecar_client._memory_values import Scope


@dataclass(frozen=True, slots=True)
class Session:
    """A session's state without its messages, as the server gives it. `end_time` is set once it has ended."""

    name: str
    scope: Scope
    message_count: int = 0
    token_count: int = 0
    last_seq: int = 0
    create_time: datetime | None = None
    update_time: datetime | None = None
    expire_time: datetime | None = None
    end_time: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    etag: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that an assistant message asks for; `arguments` as the model wrote them, usually JSON."""

    id: str
    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn or tool result.

    `token_count` 0 lets the server count. A message of the role tool names its call in `tool_call_id`. Messages with
    one `group_key` are kept or dropped together by a window; a `pinned` one always stays. `name` says who of several
    users or tools it is. The server sets `seq` (1, 2, 3 ...) and `create_time`.
    """

    role: Role
    text: str = ""
    name: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    group_key: str = ""
    pinned: bool = False
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
    token_count: int = 0
    seq: int = 0
    create_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """The sequence numbers of the messages given, in order, and how many tokens they hold together."""

    seqs: tuple[int, ...]
    token_count: int


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a conversation that fits a token budget, in order. `token_count` has 4 of overhead a message.

    Results of a tool call come right after it; a call that was left without all of its results is not there. When the
    newest message did not fit, `shortened` says so, and " […] " stands for what is missing in its text.
    """

    messages: tuple[Message, ...]
    token_count: int
    omitted_messages: int
    shortened: bool = False


@dataclass(frozen=True, slots=True)
class ScratchEntry:
    """A key with a JSON value. `expire_time` None means: with the session.

    In a write `etag` must match what is stored; "*" means the key must not exist, empty writes in any case.
    """

    key: str
    value: JsonValue
    expire_time: datetime | None = None
    etag: str = ""
