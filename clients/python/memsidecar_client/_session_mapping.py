"""Sessions between values and protobuf."""

from __future__ import annotations

from urllib.parse import quote

from memsidecar_client._enums import Role
from memsidecar_client._json_values import from_struct, from_value, to_struct, to_value
from memsidecar_client._memory_mapping import scope_from_proto
from memsidecar_client._session_values import Message, ScratchEntry, Session, ToolCall
from memsidecar_client._times import from_timestamp, to_timestamp
from memsidecar_client.v1 import session_service_pb2

# The server takes names in one spelling only: these stay literal, everything else is percent-encoded.
_LITERAL = "@:.~-_+=,"


def session_name(namespace: str, user: str, session_id: str) -> str:
    """The resource name; an empty user is the shared partition."""
    owner = f"users/{quote(user, safe=_LITERAL)}/" if user else ""
    return f"namespaces/{quote(namespace, safe=_LITERAL)}/{owner}sessions/{quote(session_id, safe=_LITERAL)}"


def session_from_proto(message: session_service_pb2.Session) -> Session:
    return Session(
        name=message.name,
        scope=scope_from_proto(message.scope),
        message_count=message.message_count,
        token_count=message.token_count,
        last_seq=message.last_seq,
        create_time=from_timestamp(message.create_time) if message.HasField("create_time") else None,
        update_time=from_timestamp(message.update_time) if message.HasField("update_time") else None,
        expire_time=from_timestamp(message.expire_time) if message.HasField("expire_time") else None,
        end_time=from_timestamp(message.end_time) if message.HasField("end_time") else None,
        labels=dict(message.labels),
        etag=message.etag,
    )


def message_to_proto(message: Message) -> session_service_pb2.Message:
    return session_service_pb2.Message(
        role=session_service_pb2.MessageRole.ValueType(message.role),
        text=message.text,
        metadata=to_struct(message.metadata) if message.metadata else None,
        token_count=message.token_count,
        group_key=message.group_key,
        pinned=message.pinned,
        tool_call_id=message.tool_call_id,
        tool_calls=[
            session_service_pb2.ToolCall(id=call.id, name=call.name, arguments=call.arguments)
            for call in message.tool_calls
        ],
        name=message.name,
    )


def message_from_proto(message: session_service_pb2.Message) -> Message:
    return Message(
        role=Role(message.role),
        text=message.text,
        name=message.name,
        tool_calls=tuple(ToolCall(call.id, call.name, call.arguments) for call in message.tool_calls),
        tool_call_id=message.tool_call_id,
        group_key=message.group_key,
        pinned=message.pinned,
        metadata=from_struct(message.metadata),
        token_count=message.token_count,
        seq=message.seq,
        create_time=from_timestamp(message.create_time) if message.HasField("create_time") else None,
    )


def scratch_to_proto(entry: ScratchEntry) -> session_service_pb2.ScratchEntry:
    return session_service_pb2.ScratchEntry(
        key=entry.key, value=to_value(entry.value), expire_time=to_timestamp(entry.expire_time), etag=entry.etag
    )


def scratch_from_proto(message: session_service_pb2.ScratchEntry) -> ScratchEntry:
    return ScratchEntry(
        key=message.key,
        value=from_value(message.value),
        expire_time=from_timestamp(message.expire_time) if message.HasField("expire_time") else None,
        etag=message.etag,
    )
