"""Requests from bytes. What is not a message becomes a value that names the field, not an exception inside gRPC."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from memsidecar.server.descriptors import is_map, is_repeated

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_DEPTH: Final = 100
# The search runs on the event loop. A message of more fields than this is refused without the name of the field.
_MAX_FIELDS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Stands for a request that could not be parsed."""

    field: str
    problem: str


def reader(message_type: type[Message]) -> Callable[[bytes], Message | Unreadable]:
    """A deserializer. gRPC would answer UNKNOWN to one that raises."""
    parse = message_type.FromString

    def read(data: bytes) -> Message | Unreadable:
        try:
            return parse(data)
        except DecodeError:
            path = _first_bad_text(message_type.DESCRIPTOR, data, 0, itertools.count())
            if path is None:
                return Unreadable("", f"is not a valid {message_type.DESCRIPTOR.name}")
            return Unreadable(path, "is not valid UTF-8")

    return read


def _first_bad_text(descriptor: Any, data: bytes, depth: int, seen: Iterator[int]) -> str | None:
    """The path of the first string that is not UTF-8, None when that is not what is wrong. `seen` counts fields."""
    counts: dict[int, int] = {}
    try:
        for number, wire_type, value in _fields(data):
            if next(seen) > _MAX_FIELDS:
                return None
            field = descriptor.fields_by_number.get(number)
            if field is None or wire_type != _BYTES:
                continue
            index = counts[number] = counts.get(number, -1) + 1
            name = f"{field.name}[{index}]" if is_repeated(field) and not is_map(field) else field.name
            if field.type == FieldDescriptor.TYPE_STRING and not _is_text(value):
                return name
            if field.type == FieldDescriptor.TYPE_MESSAGE and depth < _MAX_DEPTH:
                inner = _first_bad_text(field.message_type, value, depth + 1, seen)
                if inner is not None:
                    # A map's entry is no field of its own for a reader of the API.
                    return field.name if is_map(field) else f"{name}.{inner}"
    except (IndexError, ValueError):
        return None
    return None


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(field number, wire type, bytes of a length-delimited field). Raises IndexError or ValueError where it breaks."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire_type, value = tag & 7, b""
        if wire_type == _VARINT:
            _, at = _varint(data, at)
        elif wire_type == _FIXED64:
            at += 8
        elif wire_type == _FIXED32:
            at += 4
        elif wire_type == _BYTES:
            size, at = _varint(data, at)
            value = data[at : at + size]
            if len(value) < size:
                raise ValueError("truncated")
            at += size
        else:
            raise ValueError("a group, which proto3 does not have")
        yield tag >> 3, wire_type, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7
        if shift > 63:
            raise ValueError("a varint of more than ten bytes")
