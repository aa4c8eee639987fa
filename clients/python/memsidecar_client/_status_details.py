"""Reads `grpc-status-details-bin` without googleapis.

The four message types are wire-compatible with google.rpc.Status, ErrorInfo, BadRequest and RetryInfo, but live under
names of their own in a pool of their own: a process that also imports the official package must not see a clash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message

_PACKAGE = "memsidecar_client.details"
_Field = descriptor_pb2.FieldDescriptorProto


def _define() -> Mapping[str, type[Message]]:
    file = descriptor_pb2.FileDescriptorProto(name="memsidecar_client/details.proto", package=_PACKAGE, syntax="proto3")

    def message(name: str, *fields: tuple[str, int, str, bool]) -> None:
        declared = file.message_type.add(name=name)
        for field_name, number, kind, repeated in fields:
            label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
            added = declared.field.add(name=field_name, number=number, label=label)
            if kind in _SCALARS:
                added.type = _SCALARS[kind]
            else:
                added.type, added.type_name = _Field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"

    message("Packed", ("type_url", 1, "string", False), ("value", 2, "bytes", False))
    message("Status", ("code", 1, "int32", False), ("message", 2, "string", False), ("details", 3, "Packed", True))
    # A map field is a repeated pair on the wire.
    message("Pair", ("key", 1, "string", False), ("value", 2, "string", False))
    message("ErrorInfo", ("reason", 1, "string", False), ("domain", 2, "string", False), ("metadata", 3, "Pair", True))
    message("Violation", ("field", 1, "string", False), ("description", 2, "string", False))
    message("BadRequest", ("field_violations", 1, "Violation", True))
    message("Delay", ("seconds", 1, "int64", False), ("nanos", 2, "int32", False))
    message("RetryInfo", ("retry_delay", 1, "Delay", False))
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    names = [declared.name for declared in file.message_type]
    return {n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{n}")) for n in names}


_SCALARS = {
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
}
_MESSAGES = _define()


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing wrong with a request: the path of the field, and what is wrong with it."""

    field: str
    description: str


@dataclass(frozen=True, slots=True)
class StatusDetails:
    """What a server said about a failure beyond code and message. `retry_after` is in seconds."""

    reason: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    violations: tuple[Violation, ...] = ()
    retry_after: float | None = None


def parse(serialized: bytes) -> StatusDetails:
    """The details of a serialized google.rpc.Status; unknown kinds are left out, unreadable bytes give none."""
    reason, metadata, retry_after = "", {}, None
    violations: tuple[Violation, ...] = ()
    try:
        for packed in _read("Status", serialized).details:
            match packed.type_url.rpartition("/")[2]:
                case "google.rpc.ErrorInfo":
                    info = _read("ErrorInfo", packed.value)
                    reason, metadata = info.reason, {pair.key: pair.value for pair in info.metadata}
                case "google.rpc.BadRequest":
                    found = _read("BadRequest", packed.value).field_violations
                    violations = tuple(Violation(each.field, each.description) for each in found)
                case "google.rpc.RetryInfo":
                    delay = _read("RetryInfo", packed.value).retry_delay
                    retry_after = delay.seconds + delay.nanos / 1e9
    except DecodeError:
        return StatusDetails()
    return StatusDetails(reason, metadata, violations, retry_after)


def _read(name: str, serialized: bytes) -> Any:
    message = _MESSAGES[name]()
    message.ParseFromString(serialized)
    return message
