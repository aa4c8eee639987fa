"""Rules for one value. A rule answers None when the value is fine, else (path below the field, what is wrong) pairs.

Problems say what is accepted and never repeat the value: it may be secret, and it may be megabytes.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from google.protobuf.duration_pb2 import Duration
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from memsidecar.domain import limits
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.profile import PROFILES, with_weights

Violation: TypeAlias = tuple[str, str]
Found: TypeAlias = list[Violation] | None
Rule: TypeAlias = Callable[[Any], Found]

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MEMORY_ID = re.compile(r"[A-Za-z0-9._~-]+")
# google.protobuf.Timestamp: 0001-01-01 to 9999-12-31.
MIN_SECONDS, MAX_SECONDS = -62_135_596_800, 253_402_300_799
_MAX_DURATION_SECONDS = 315_576_000_000


def text(max_bytes: int = limits.MAX_FIELD_BYTES) -> Rule:
    """Any text without NUL, in so many bytes of UTF-8."""

    def rule(value: str) -> Found:
        if "\0" in value:
            return [("", "holds a NUL character")]
        # Four bytes are the most that a character takes: most texts need not be encoded to know.
        if len(value) * 4 > max_bytes and len(value.encode()) > max_bytes:
            return [("", f"is longer than {max_bytes:,} bytes of UTF-8")]
        return None

    return rule


def identifier(max_chars: int = limits.MAX_ID_CHARS) -> Rule:
    """An id or a name: no control characters, not blank, no white space around it."""

    def rule(value: str) -> Found:
        if len(value) > max_chars:
            return [("", f"is longer than {max_chars} characters")]
        if _CONTROL.search(value):
            return [("", "holds a control character")]
        if value and (value[0].isspace() or value[-1].isspace()):
            return [("", "is blank, or starts or ends with white space")]
        return None

    return rule


def key(value: str) -> Found:
    """A scratch key: anything but NUL."""
    if not value:
        return [("", "is required")]
    if "\0" in value:
        return [("", "holds a NUL character")]
    return [("", f"is longer than {limits.MAX_KEY_CHARS} characters")] if len(value) > limits.MAX_KEY_CHARS else None


def memory_id(value: str) -> Found:
    if len(value) > limits.MAX_MEMORY_ID_CHARS or not _MEMORY_ID.fullmatch(value):
        return [("", f'takes 1 to {limits.MAX_MEMORY_ID_CHARS} characters of a-z, A-Z, 0-9, ".", "_", "~", "-"')]
    return None


def request_id(value: str) -> Found:
    try:
        valid = len(value) <= 64 and uuid.UUID(value).int >= 0
    except ValueError:
        valid = False
    return None if valid else [("", "must be a UUID, such as 6f7c3a52-6a5e-4b52-9d0b-0c9a1f6e2b11")]


def between(low: float, high: float) -> Rule:
    """A finite number in that range. NaN is in no range."""

    def rule(value: float) -> Found:
        return None if low <= value <= high else [("", f"must be from {low:g} to {high:g}")]

    return rule


def finite(value: float) -> Found:
    return None if math.isfinite(value) else [("", "must be a finite number")]


def not_negative(value: int) -> Found:
    return None if value >= 0 else [("", "must not be negative")]


def whole(high: int) -> Rule:
    def rule(value: int) -> Found:
        return None if 0 <= value <= high else [("", f"must be from 0 to {high:,}")]

    return rule


def anything(value: object) -> Found:
    """For what cannot be wrong: booleans, and integers that are output only."""
    return None


def one_of(numbers: Iterable[int], names: Iterable[str]) -> Rule:
    known = frozenset(numbers)
    problem = f"is not one of {', '.join(names)}"

    def rule(value: int) -> Found:
        return None if value in known else [("", problem)]

    return rule


def among(names: Iterable[str]) -> Rule:
    """One of these words."""
    known = frozenset(names)
    problem = f"is not one of {', '.join(sorted(known))}"

    def rule(value: str) -> Found:
        return None if value in known else [("", problem)]

    return rule


def timestamp(value: Timestamp) -> Found:
    if MIN_SECONDS <= value.seconds <= MAX_SECONDS and 0 <= value.nanos <= 999_999_999:
        return None
    return [("", "must be between the years 1 and 9999, with nanos from 0 to 999,999,999")]


def duration(value: Duration) -> Found:
    """A valid duration of at least a microsecond: a time to live or a patience of nothing is a mistake."""
    seconds, nanos = value.seconds, value.nanos
    if abs(seconds) > _MAX_DURATION_SECONDS or abs(nanos) > 999_999_999 or seconds * nanos < 0:
        return [("", "is not a valid duration")]
    if seconds * 1_000_000_000 + nanos < 1_000:
        return [("", "must be more than nothing")]
    if seconds * 1_000_000 > limits.MAX_TTL:
        return [("", "must be at most 1,000 years")]
    return None


def shorter_than(seconds: float) -> Rule:
    """A duration of at most so many seconds."""

    def rule(value: Duration) -> Found:
        if (found := duration(value)) is not None:
            return found
        too_long = value.seconds + value.nanos / 1_000_000_000 > seconds
        return [("", f"must be at most {seconds:g} s")] if too_long else None

    return rule


def time_zone(value: str) -> Found:
    try:
        # Names are looked up as paths below the zone database; the library refuses those that lead out of it.
        ZoneInfo(value)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return [("", "must be the IANA name of a time zone, such as Asia/Shanghai")]
    return None


def weights(values: Mapping[str, float]) -> Found:
    """Weights of a ranking profile, by name."""
    try:
        with_weights(PROFILES["default"], values, "")
    except InvalidField as error:
        return [("", problem) for _, problem in error.violations]
    return None


def repeated(item: Rule, max_items: int = limits.MAX_REPEATED) -> Rule:
    def rule(values: Any) -> Found:
        if len(values) > max_items:
            return [("", f"has more than {max_items:,} entries")]
        found: list[Violation] = []
        for index, value in enumerate(values):
            if problems := item(value):
                found += [(f"[{index}]{path and '.' + path}", problem) for path, problem in problems]
        return found or None

    return rule


def vector(values: Any) -> Found:
    """Only the size: whether the numbers are finite is seen when they are normalised."""
    return [("", f"has more than {limits.MAX_DIMENSIONS:,} numbers")] if len(values) > limits.MAX_DIMENSIONS else None


def labels(values: Mapping[str, str]) -> Found:
    if len(values) > limits.MAX_LABELS:
        return [("", f"has more than {limits.MAX_LABELS} entries")]
    for name, value in values.items():
        if not name or len(name) > limits.MAX_LABEL_KEY:
            return [("", f"has a key that is not 1 to {limits.MAX_LABEL_KEY} characters long")]
        if len(value) > limits.MAX_LABEL_VALUE:
            return [("", f"has a value of more than {limits.MAX_LABEL_VALUE:,} characters")]
        if _CONTROL.search(name) or "\0" in value:
            return [("", "has a key with a control character, or a value with NUL")]
    return None


def json_value(max_bytes: int = limits.MAX_FIELD_BYTES) -> Rule:
    """A google.protobuf.Value that JSON can say, not too big and not too deep."""

    def rule(value: Value) -> Found:
        if value.WhichOneof("kind") is None:
            return [("", "is required; JSON's null is null_value")]
        return _bounded(value, max_bytes, lambda: _json_problem(value, 1))

    return rule


def json_object(value: Struct) -> Found:
    return _bounded(value, limits.MAX_FIELD_BYTES, lambda: _fields_problem(value, 1))


def _bounded(value: Value | Struct, max_bytes: int, problem: Callable[[], str]) -> Found:
    if value.ByteSize() > max_bytes:
        return [("", f"is larger than {max_bytes:,} bytes")]
    found = problem()
    return [("", found)] if found else None


def _fields_problem(value: Struct, depth: int) -> str:
    for name, item in value.fields.items():
        if "\0" in name:
            return "has a key with a NUL character"
        if problem := _json_problem(item, depth + 1):
            return problem
    return ""


def _json_problem(value: Value, depth: int) -> str:
    match value.WhichOneof("kind"):
        case "struct_value" | "list_value" if depth > limits.MAX_DEPTH:
            return f"is nested more than {limits.MAX_DEPTH} levels deep"
        case "number_value":
            return "" if math.isfinite(value.number_value) else "holds a number that JSON cannot say"
        case "string_value":
            return "holds a NUL character" if "\0" in value.string_value else ""
        case "struct_value":
            return _fields_problem(value.struct_value, depth)
        case "list_value":
            return next(filter(None, (_json_problem(item, depth + 1) for item in value.list_value.values)), "")
        case None:
            return "holds a value without a kind; JSON's null is null_value"
        case _:
            return ""
