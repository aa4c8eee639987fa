"""Times, JSON and vectors."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import NULL_VALUE, Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp
from numpy.typing import NDArray

from memsidecar.domain.as_of import AsOf
from memsidecar.domain.events import Vectors
from memsidecar.server.validation import Violations
from memsidecar.v1 import memory_pb2

Json: TypeAlias = bool | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

_VALUES_TAG = memory_pb2.Embedding.VALUES_FIELD_NUMBER << 3 | 2

# Above this a double no longer holds every integer, and writing one as an integer would pretend that it does.
_EXACT = 2**53


def micros(time: Timestamp) -> int:
    return time.seconds * 1_000_000 + time.nanos // 1000


def micros_or_none(message: Any, field: str) -> int | None:
    return micros(getattr(message, field)) if message.HasField(field) else None


def read_as_of(given: memory_pb2.AsOf) -> AsOf:
    return AsOf(micros_or_none(given, "valid_time"), micros_or_none(given, "record_time"))


def set_time(target: Timestamp, time: int) -> None:
    target.seconds, rest = divmod(time, 1_000_000)
    if rest:
        target.nanos = rest * 1000


def length(duration: Duration) -> int:
    """A duration in microseconds."""
    return duration.seconds * 1_000_000 + duration.nanos // 1000


def set_seconds(target: Duration, seconds: float) -> None:
    if seconds <= 0:
        target.SetInParent()
        return
    target.seconds, nanos = divmod(int(seconds * 1_000_000_000), 1_000_000_000)
    target.nanos = nanos


def read_struct(struct: Struct) -> str:
    """The JSON object; "" for an empty one."""
    return json.dumps(_object(struct), ensure_ascii=False, separators=(",", ":")) if struct.fields else ""


def read_value(value: Value) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def set_struct(target: Struct, text: str) -> None:
    target.SetInParent()
    _set_object(target, json.loads(text))


def set_value(target: Value, text: str) -> None:
    _set_plain(target, json.loads(text))


def read_vectors(embedding: memory_pb2.Embedding, path: str, violations: Violations) -> Vectors | None:
    """One row of unit length, or a violation of `path`."""
    numbers = _numbers(embedding).astype(np.float64)
    # In float64 the squares of any float32 numbers have a finite sum, so this finds just NaN, infinity and zero.
    # Not `@`: it lets another thread have the interpreter each time, and waits to have it back.
    squared = float(np.add.reduce(numbers * numbers))
    if not 0.0 < squared < math.inf:
        violations.add(f"{path}.values", "must be finite numbers that are not all 0")
        return None
    numbers /= math.sqrt(squared)
    return Vectors(embedding.model, numbers.astype(np.float32).reshape(1, -1))


def _numbers(embedding: memory_pb2.Embedding) -> NDArray[np.float32]:
    """The numbers straight from the message's bytes, where they stand as the machine has them: through a list each
    would be an object."""
    count = len(embedding.values)
    data = embedding.SerializeToString()
    head = bytes((_VALUES_TAG, *varint(4 * count)))
    if data.startswith(head):
        return np.frombuffer(data, "<f4", count, len(head))
    return np.array(embedding.values, dtype=np.float32)


def varint(number: int) -> bytes:
    """A length as protobuf writes it."""
    if number < 0x80:
        return bytes((number,))
    if number < 0x4000:
        return bytes((number & 0x7F | 0x80, number >> 7))
    parts = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*parts, number))


def _object(struct: Struct) -> dict[str, Json]:
    return {name: _plain(value) for name, value in sorted(struct.fields.items())}


def _plain(value: Value) -> Json:
    match value.WhichOneof("kind"):
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() and abs(number) <= _EXACT else number
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "struct_value":
            return _object(value.struct_value)
        case "list_value":
            return [_plain(item) for item in value.list_value.values]
        case _:
            return None


def _set_object(target: Struct, fields: Mapping[str, Json]) -> None:
    for name, item in fields.items():
        _set_plain(target.fields[name], item)


def _set_plain(target: Value, item: Json) -> None:
    match item:
        case None:
            target.null_value = NULL_VALUE
        case bool():
            target.bool_value = item
        case int() | float():
            target.number_value = item
        case str():
            target.string_value = item
        case Mapping():
            target.struct_value.SetInParent()
            _set_object(target.struct_value, item)
        case _:
            target.list_value.SetInParent()
            for each in item:
                _set_plain(target.list_value.values.add(), each)
