"""Sessions, messages and scratch values."""

from __future__ import annotations

from collections.abc import Iterable

from memsidecar.domain.session import Message, Role, ScratchEntry, ScratchWrite, Session, ToolCall
from memsidecar.ports.sessions import SessionKey
from memsidecar.server.mapping.memory_out import set_scope
from memsidecar.server.mapping.names import name_of, read_name
from memsidecar.server.mapping.values import (
    length,
    micros,
    micros_or_none,
    read_struct,
    read_value,
    set_struct,
    set_time,
    set_value,
)
from memsidecar.server.validation import Violations
from memsidecar.v1 import session_service_pb2 as pb

MUST_NOT_EXIST = "*"


def read_key(name: str, path: str, violations: Violations) -> SessionKey:
    return SessionKey(*read_name(name, "sessions", path, violations))


def read_expiration(session: pb.Session) -> tuple[int | None, int | None]:
    """(expires_at, ttl): the one that is set."""
    match session.WhichOneof("expiration"):
        case "expire_time":
            return micros(session.expire_time), None
        case "ttl":
            return None, length(session.ttl)
        case _:
            return None, None


def set_session(target: pb.Session, session: Session) -> None:
    target.name = name_of(session.scope.partition, "sessions", session.id)
    set_scope(target.scope, session.scope)
    target.message_count = session.message_count
    target.token_count = session.token_count
    target.last_seq = session.last_seq
    set_time(target.create_time, session.created_at)
    set_time(target.update_time, session.updated_at)
    set_time(target.expire_time, session.expires_at)
    if session.ended_at is not None:
        set_time(target.end_time, session.ended_at)
    target.labels.update(session.labels)
    target.etag = str(session.version)


def read_messages(messages: Iterable[pb.Message]) -> list[Message]:
    return [
        Message(
            role=Role(message.role),
            text=message.text,
            token_count=message.token_count,
            metadata=read_struct(message.metadata),
            tool_calls=tuple(ToolCall(call.id, call.name, call.arguments) for call in message.tool_calls),
            tool_call_id=message.tool_call_id,
            group_key=message.group_key,
            pinned=message.pinned,
            name=message.name,
        )
        for message in messages
    ]


def set_message(target: pb.Message, message: Message) -> None:
    target.seq = message.seq
    target.role = pb.MessageRole.ValueType(message.role)
    target.text = message.text
    if message.created_at:
        set_time(target.create_time, message.created_at)
    target.token_count = message.token_count
    if message.metadata:
        set_struct(target.metadata, message.metadata)
    for call in message.tool_calls:
        target.tool_calls.add(id=call.id, name=call.name, arguments=call.arguments)
    target.tool_call_id = message.tool_call_id
    target.group_key = message.group_key
    target.pinned = message.pinned
    target.name = message.name


def read_writes(entries: Iterable[pb.ScratchEntry], violations: Violations) -> list[ScratchWrite]:
    writes: list[ScratchWrite] = []
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        expected = None
        if entry.etag == MUST_NOT_EXIST:
            expected = 0
        elif entry.etag:
            expected = _version(entry.etag)
            if expected is None:
                violations.add(f"entries[{index}].etag", 'must be the etag of an entry, or "*"')
        if entry.key in seen:
            violations.add(f"entries[{index}].key", "stands twice in the request")
        seen.add(entry.key)
        writes.append(ScratchWrite(entry.key, read_value(entry.value), micros_or_none(entry, "expire_time"), expected))
    return writes


def _version(etag: str) -> int | None:
    return int(etag) if len(etag) <= 18 and etag.isascii() and etag.isdigit() and etag != "0" else None


def set_entry(target: pb.ScratchEntry, entry: ScratchEntry) -> None:
    target.key = entry.key
    set_value(target.value, entry.value)
    if entry.expires_at is not None:
        set_time(target.expire_time, entry.expires_at)
    target.etag = str(entry.version)
