"""Checks made from the descriptors: each field of each request has a rule, its own or the one for its type.

A field that is added to a message later is therefore checked from its first day.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from memsidecar.domain.errors import InvalidField
from memsidecar.server.descriptors import is_map, is_repeated
from memsidecar.server.validation import rules
from memsidecar.server.validation.rules import Found, Rule, Violation
from memsidecar.server.validation.table import ANY_OF, CHECKS, REQUIRED, RULES


class Violations:
    """What is wrong with one request; grows while it is checked and mapped."""

    __slots__ = ("found",)

    def __init__(self, found: Iterable[Violation] = ()) -> None:
        self.found: list[Violation] = list(found)

    def add(self, path: str, problem: str) -> None:
        self.found.append((path, problem))

    def raise_any(self) -> None:
        if self.found:
            (path, problem), *more = self.found
            raise InvalidField(path, problem, *more)


def check(message: Message, prefix: str = "") -> list[Violation]:
    """All violations of a message in itself; paths start with `prefix` ("items[3]")."""
    found = checker(message.DESCRIPTOR)(message)
    if not found:
        return []
    return [(_join(prefix, path), problem) for path, problem in found] if prefix else found


def check_field(message: Message, name: str, prefix: str) -> list[Violation]:
    """The violations of one field of a message, whatever the others are."""
    field: Any = message.DESCRIPTOR.fields_by_name[name]
    if _is_missing(message, name):
        return [(_join(prefix, name), "is required")] if name in REQUIRED.get(message.DESCRIPTOR.full_name, ()) else []
    found = _rule_for(field)(getattr(message, name)) or ()
    return [(_join(_join(prefix, name), path), problem) for path, problem in found]


@cache
def checker(descriptor: Descriptor) -> Rule:
    """The rule for a whole message."""
    if descriptor.full_name in _WELL_KNOWN:
        return _WELL_KNOWN[descriptor.full_name]
    # Filled when the first message comes, not now: messages may hold themselves.
    fields: dict[int, tuple[str, Rule]] = {}
    required = REQUIRED.get(descriptor.full_name, ())
    any_of = ANY_OF.get(descriptor.full_name)
    extra = CHECKS.get(descriptor.full_name)

    def rule(message: Any) -> Found:
        if not fields:
            fields.update((field.number, (field.name, _rule_for(field))) for field in descriptor.fields)
        found: list[Violation] = []
        for field, value in message.ListFields():
            name, of_field = fields[field.number]
            if problems := of_field(value):
                found += [(_join(name, path), problem) for path, problem in problems]
        for name in required:
            if _is_missing(message, name):
                found.append((name, "is required"))
        if any_of is not None and message.WhichOneof(any_of[0]) is None:
            found.append(("", f"takes one of {any_of[1]}"))
        if extra is not None:
            found += extra(message)
        return found or None

    return rule


def _rule_for(field: FieldDescriptor) -> Rule:
    if (own := RULES.get(field.full_name)) is not None:
        return own
    rule: Rule
    repeated = is_repeated(field)
    if is_map(field):
        return rules.labels
    if field.message_type is not None:
        rule = checker(field.message_type)
    elif field.enum_type is not None:
        # In a list, "unspecified" would say nothing; alone it means the default.
        numbers = [v.number for v in field.enum_type.values if v.number or not repeated]
        rule = rules.one_of(numbers, [v.name for v in field.enum_type.values if v.number])
    else:
        rule = _OF_TYPE.get(field.cpp_type, rules.not_negative)
    return rules.repeated(rule) if repeated else rule


def _is_missing(message: Any, name: str) -> bool:
    value = getattr(message, name)
    if isinstance(value, str):
        return not value or value.isspace()
    if isinstance(value, Message):
        return not message.HasField(name)
    return not value


def _join(head: str, tail: str) -> str:
    if not tail or not head:
        return head or tail
    return head + tail if tail[0] == "[" else f"{head}.{tail}"


_OF_TYPE: dict[int, Rule] = {
    FieldDescriptor.CPPTYPE_STRING: rules.text(),
    FieldDescriptor.CPPTYPE_DOUBLE: rules.finite,
    FieldDescriptor.CPPTYPE_FLOAT: rules.finite,
    FieldDescriptor.CPPTYPE_BOOL: rules.anything,
}
_WELL_KNOWN: dict[str, Rule] = {
    "google.protobuf.Timestamp": rules.timestamp,
    "google.protobuf.Duration": rules.duration,
    "google.protobuf.Struct": rules.json_object,
    "google.protobuf.Value": rules.json_value(),
}
