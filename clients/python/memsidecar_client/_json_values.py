"""JSON values to protobuf's Struct and Value and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from google.protobuf.struct_pb2 import ListValue, NullValue, Struct, Value

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"

# A Value holds numbers as doubles; beyond this an integer would come back as another one.
_EXACT = 2**53


def to_struct(values: Mapping[str, JsonValue]) -> Struct:
    """Raises TypeError for what JSON cannot hold, ValueError for numbers that would not come back the same."""
    struct = Struct()
    for key, value in values.items():
        struct.fields[key].CopyFrom(to_value(value))
    return struct


def from_struct(struct: Struct) -> dict[str, JsonValue]:
    return {key: from_value(value) for key, value in struct.fields.items()}


def to_value(value: JsonValue) -> Value:
    """Raises as `to_struct` does."""
    if value is None:
        return Value(null_value=NullValue.NULL_VALUE)
    if isinstance(value, bool):
        return Value(bool_value=value)
    if isinstance(value, str):
        return Value(string_value=value)
    if isinstance(value, int | float):
        if isinstance(value, int) and abs(value) > _EXACT:
            raise ValueError(f"the integer {value} is beyond 2**53 and would be rounded; send it as a string")
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a JSON number")
        return Value(number_value=value)
    if isinstance(value, Mapping):
        return Value(struct_value=to_struct(value))
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return Value(list_value=ListValue(values=[to_value(item) for item in value]))
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def from_value(value: Value) -> JsonValue:
    """Whole numbers come back as int, lists as list, objects as dict; an unset value as None."""
    match value.WhichOneof("kind"):
        case "bool_value":
            return value.bool_value
        case "string_value":
            return value.string_value
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() and abs(number) <= _EXACT else number
        case "struct_value":
            return from_struct(value.struct_value)
        case "list_value":
            return [from_value(item) for item in value.list_value.values]
        case _:
            return None
