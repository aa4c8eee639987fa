"""Values as the server keeps them. Message bodies and scratch values are opaque to the server's scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from memsidecar.domain.errors import InvalidField, StoreUnavailable
from memsidecar.domain.scope import Scope
from memsidecar.domain.session import Message, Role, ScratchEntry, Session, ToolCall
from memsidecar.ports.sessions import SessionKey


def utf8(text: str, field: str) -> bytes:
    """The bytes of a text. Raises InvalidField for what UTF-8 cannot hold."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidField(field, "must be valid Unicode, without lone surrogates") from error


def encode_message(message: Message, field: str) -> bytes:
    """ "m" or, for those that a window never drops, "p"; the token count; ":"; JSON without the seq.

    The seq follows from the place in the transcript, so it is not known yet and need not be kept.
    """
    body: dict[str, object] = {"r": int(message.role), "x": message.text, "c": message.created_at}
    if message.metadata:
        body["m"] = message.metadata
    if message.tool_calls:
        body["t"] = [(call.id, call.name, call.arguments) for call in message.tool_calls]
    if message.tool_call_id:
        body["i"] = message.tool_call_id
    if message.group_key:
        body["g"] = message.group_key
    if message.pinned:
        body["p"] = 1
    if message.name:
        body["n"] = message.name
    kept = "p" if message.pinned or message.role is Role.SYSTEM else "m"
    return utf8(f"{kept}{max(0, message.token_count)}:{_dump(body)}", field)


def decode_message(stored: bytes, seq: int) -> Message:
    """The message that encode_message() got, with its seq."""
    head, _, body = stored.partition(b":")
    values = _load(body)
    return Message(
        role=Role(values["r"]),
        text=values["x"],
        seq=seq,
        created_at=values["c"],
        token_count=int(head[1:]),
        metadata=values.get("m", ""),
        tool_calls=tuple(ToolCall(*call) for call in values.get("t", ())),
        tool_call_id=values.get("i", ""),
        group_key=values.get("g", ""),
        pinned="p" in values,
        name=values.get("n", ""),
    )


def encode_labels(labels: Mapping[str, str]) -> bytes:
    return utf8(_dump(dict(labels)), "labels")


def encode_session(session: Session) -> Iterator[str | bytes | int]:
    """Field, value, field, value ... of a session that starts: no messages, version 1, not ended."""
    yield from ("created_at", session.created_at, "updated_at", session.updated_at)
    yield from ("ttl", session.ttl, "sliding", int(session.sliding), "labels", encode_labels(session.labels))
    yield from ("agent", utf8(session.scope.agent, "scope.agent"), "version", 1)
    yield from ("last_seq", 0, "message_count", 0, "token_count", 0, "scratch_version", 0, "scratch_bytes", 0)


def decode_session(key: SessionKey, fields: Mapping[bytes, bytes]) -> Session:
    """The state of a session from its hash."""
    try:
        ended_at = fields.get(b"ended_at")
        return Session(
            id=key.session_id,
            scope=Scope(key.partition.namespace, key.partition.user, fields[b"agent"].decode(), key.session_id),
            created_at=int(fields[b"created_at"]),
            updated_at=int(fields[b"updated_at"]),
            expires_at=int(fields[b"expires_at"]),
            ttl=int(fields[b"ttl"]),
            sliding=fields[b"sliding"] == b"1",
            message_count=int(fields[b"message_count"]),
            token_count=int(fields[b"token_count"]),
            last_seq=int(fields[b"last_seq"]),
            ended_at=None if ended_at is None else int(ended_at),
            labels=MappingProxyType(_load(fields[b"labels"])),
            version=int(fields[b"version"]),
        )
    except (KeyError, ValueError) as error:
        raise StoreUnavailable("sessions", "holds a session that cannot be read") from error


def pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    """A hash as a script answers it: field, value, field, value ..."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def decode_scratch(key: str, stored: bytes) -> ScratchEntry:
    """An entry from "version:expires_at:JSON"; expires_at may be empty."""
    version, expires_at, value = stored.split(b":", 2)
    return ScratchEntry(key, value.decode(), int(expires_at) if expires_at else None, int(version))


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _load(text: bytes) -> Any:
    return json.loads(text)
