"""Bad input for every field of every request, made from the descriptors.

Works against any server that a channel reaches: `attack` sends one case and says how it was answered.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from memsidecar_client._call_ending import let_go, not_sent

from memsidecar.v1 import (
    generation_service_pb2,
    info_service_pb2,
    job_service_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
    recall_service_pb2,
    session_service_pb2,
)
from tests.server.api import Refusal, taken_apart
from tests.server.valid_requests import EVENTS, FOREIGN, MEMORY, SESSION, VALID

# Sent in place of bytes that are not UTF-8, and swapped for them on the wire.
_MARK, _SURROGATE = "\x7f\x7e\x7f", b"\xed\xa0\x80"
_HUGE = "x" * 600_000

# Fields whose strings name memories of the request's own partition.
_REFERENCES = re.compile(
    r"(fact\.(subject|entity)|preference\.subject|participants|mentions|derived_memories|(filter|query)\.entities|^items\[0\]\.memory|^feedback\.memory|known_memories"
    r"|slot\.subject|keep_memory|parts\[0\]\.memory|^sources)$"
)
# Fields that a caller may fill with anything of their type: the server says them, and does not read them. In an update
# that holds for whatever the mask (here: what is set) does not name.
_IGNORED = re.compile(
    r"(^|\.)(message_count|last_seq|seq)$|session\.token_count$"
    # A negative limit leaves the section out.
    r"|^sections\[0\]\.max_tokens$"
    r"|^memory\.(name|scope|state|create_time|supersede_time|update_time|delete_time|purge_time|provenance|etag|access_count|last_access_time|usefulness)\b.*@update"
    r"|^memory\.(entity\.discovered|episode\.follows)@update"
)


@dataclass(frozen=True, slots=True)
class Case:
    """One bad request. `must_refuse`: anything but INVALID_FIELD naming `field` is a failure."""

    method: str
    field: str
    kind: str
    must_refuse: bool
    data: bytes
    descriptor: MethodDescriptor

    def __str__(self) -> str:
        return f"{self.method} {self.field} {self.kind}"


def methods() -> Iterator[MethodDescriptor]:
    for module in (
        memory_service_pb2,
        knowledge_service_pb2,
        job_service_pb2,
        recall_service_pb2,
        generation_service_pb2,
        session_service_pb2,
        info_service_pb2,
    ):
        for service in module.DESCRIPTOR.services_by_name.values():
            yield from service.methods


def _made(message_type: Any, **fields: Any) -> Any:
    return message_type(**fields)


def valid(descriptor: Any) -> Any:
    return GetMessageClass(descriptor)(**VALID.get(descriptor.name, {}))


def cases(method: MethodDescriptor) -> Iterator[Case]:
    """Every bad value for every field of the method's request. Of a stream: of each of its events."""
    full = f"/{method.containing_service.full_name}/{method.name}"
    if method.client_streaming:
        wrapper = GetMessageClass(method.input_type)()
        for name, fields in EVENTS[method.name].items():
            event: Any = wrapper.DESCRIPTOR.fields_by_name[name].message_type
            message = GetMessageClass(event)(**fields)
            for path, kind, refuse, data in _walk(message, (), wrapper, name):
                yield Case(full, path, kind, refuse, data, method)
        return
    for path, kind, refuse, data in _walk(valid(method.input_type), (), None, ""):
        yield Case(full, path, kind, refuse, data, method)


def _walk(
    root: Message, path: tuple[tuple[str, int | None], ...], wrapper: Any, wrapped_as: str
) -> Iterator[tuple[str, str, bool, bytes]]:
    """(field path, kind of badness, whether it must be refused, the request's bytes)."""
    descriptor = _at(_copy(root), path).DESCRIPTOR
    for field in descriptor.fields:
        name = ".".join(n if i is None else f"{n}[{i}]" for n, i in (*path, (field.name, None)))
        name = f"{wrapped_as}.{name}" if wrapped_as else name
        for kind, refuse, value in _bad(field, name, root):
            request = _copy(root)
            if not _put(_at(request, path), field, value):
                continue
            if wrapper is not None:
                outer = _copy(wrapper)
                getattr(outer, wrapped_as).CopyFrom(request)
                request = outer
            data = request.SerializeToString()
            yield name, kind, refuse, data.replace(_MARK.encode(), _SURROGATE)
        inner = field.message_type
        known = inner is not None and (inner.full_name.startswith("memsidecar.") and not _is_map(field))
        if known and len(path) < 6:
            step = (field.name, 0 if field.is_repeated else None)
            yield from _walk(root, (*path, step), wrapper, wrapped_as)


def _bad(field: FieldDescriptor, name: str, root: Message) -> Iterator[tuple[str, bool, Any]]:
    update = isinstance(root, memory_service_pb2.UpdateMemoryRequest)
    ignored = bool(_IGNORED.search(name) or (update and _IGNORED.search(name + "@update")))
    kind: Any = field.message_type.full_name if field.message_type is not None else ""
    entry: Any = field.message_type
    if _is_map(field) and entry.fields_by_name["value"].cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
        yield "many weights", True, {str(i): 1.0 for i in range(70)}
        yield "unknown weight", True, {"k": 1.0}
        for weight in (float("nan"), float("inf"), -1.0, 1e38):
            yield f"weight {weight}", True, {"keyword": weight}
    elif _is_map(field):
        yield "many labels", True, {str(i): "v" for i in range(70)}
        yield "huge label", True, {"k": _HUGE}
        yield "NUL label", True, {"k\0": "v"}
        yield "surrogate label", True, {"k": _MARK}
    elif field.type == FieldDescriptor.TYPE_STRING:
        yield "empty", False, ""
        yield "huge", not ignored, _HUGE
        yield "NUL", not ignored, "a\0b"
        yield "surrogate", True, _MARK
        yield "foreign", not ignored and bool(_REFERENCES.search(name)), FOREIGN
        yield "wrong collection", not ignored and bool(_REFERENCES.search(name)), SESSION
    elif field.enum_type is not None:
        yield "unknown", not ignored, 9999
        yield "negative", not ignored, -1
    elif field.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        for bad in ("nan", "inf", "-inf"):
            yield bad, not ignored, float(bad)
        yield "enormous", not ignored and field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE, 1e38
        if field.is_repeated:
            yield "zero", True, 0.0
            yield "too many numbers", True, [1.0] * 100_000
    elif field.cpp_type in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64):
        top = 2**31 - 1 if field.cpp_type == FieldDescriptor.CPPTYPE_INT32 else 2**63 - 1
        yield "negative", not ignored, -1
        yield "lowest", not ignored, -top - 1
        yield "enormous", False, top
    elif kind == "google.protobuf.Timestamp":
        for time in ({"seconds": 2**62}, {"seconds": -(2**62)}, {"nanos": -1}, {"nanos": 2**31 - 1}):
            yield f"time {time}", not ignored, time
        yield "before 1970", False, {"seconds": -1, "nanos": 1}
    elif kind == "google.protobuf.Duration":
        for length in ({"seconds": 2**62}, {"seconds": -1}, {"nanos": 0}, {"seconds": 1, "nanos": -1}):
            yield f"duration {length}", not ignored, length
    elif kind in ("google.protobuf.Struct", "google.protobuf.Value"):
        yield from _bad_json(kind)
    elif kind == "google.protobuf.FieldMask":
        for path in ("nonsense", "", "a\0", "memory..", "*.x"):
            yield f"mask {path!r}", True, {"paths": [path]}
    if field.is_repeated and not _is_map(field) and field.cpp_type != FieldDescriptor.CPPTYPE_FLOAT:
        yield "too many", not ignored, [_one(field)] * 3000


def _bad_json(kind: str) -> Iterator[tuple[str, bool, Any]]:
    deep: dict[str, Any] = {"number_value": 1}
    for _ in range(30):
        deep = {"list_value": {"values": [deep]}}
    values = {
        "huge text": {"string_value": _HUGE},
        "NUL text": {"string_value": "a\0b"},
        "surrogate text": {"string_value": _MARK},
        "NaN": {"number_value": float("nan")},
        "nothing": {},
        "deep": deep,
    }
    for name, value in values.items():
        yield name, True, value if kind.endswith("Value") else {"fields": {"k": value}}
    yield (
        "NUL key",
        True,
        (
            {"struct_value": {"fields": {"a\0": {"bool_value": True}}}}
            if kind.endswith("Value")
            else {"fields": {"a\0": {"bool_value": True}}}
        ),
    )


def _one(field: FieldDescriptor) -> Any:
    if field.message_type is not None:
        return valid(field.message_type)
    return {"names": MEMORY}.get(field.name, "k") if field.type == FieldDescriptor.TYPE_STRING else 1


def _put(message: Any, field: FieldDescriptor, value: Any) -> bool:
    """Set the field; False where that would be no change worth sending."""
    if _is_map(field):
        getattr(message, field.name).update(value)
    elif field.is_repeated:
        target = getattr(message, field.name)
        del target[:]
        if field.message_type is not None:
            if not isinstance(value, list):
                return False
            for each in value:
                target.add().CopyFrom(each)
        else:
            target.extend(value if isinstance(value, list) else [value])
    elif field.message_type is not None:
        message.ClearField(field.name)
        _fill(getattr(message, field.name), value)
    else:
        setattr(message, field.name, value)
    return True


def _fill(message: Any, value: dict[str, Any]) -> None:
    message.SetInParent()
    for name, each in value.items():
        target = getattr(message, name)
        if name == "fields":
            for key, item in each.items():
                _fill(target[key], item)
        elif isinstance(each, dict):
            _fill(target, each)
        elif isinstance(each, list):
            for item in each:
                if isinstance(item, dict):
                    _fill(target.add(), item)
                else:
                    target.append(item)
        else:
            setattr(message, name, each)


def _at(message: Any, path: tuple[tuple[str, int | None], ...]) -> Any:
    """The message at a path, made valid where it was not there."""
    for name, index in path:
        field = message.DESCRIPTOR.fields_by_name[name]
        if index is None:
            if not message.HasField(name):
                getattr(message, name).CopyFrom(valid(field.message_type))
            message = getattr(message, name)
        else:
            items = getattr(message, name)
            if not items:
                items.add().CopyFrom(valid(field.message_type))
            message = items[index]
    return message


def _copy(message: Any) -> Any:
    made = type(message)()
    made.CopyFrom(message)
    return made


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


@dataclass(frozen=True, slots=True)
class Answer:
    """How a case was answered: `refusal` is None for a success, `item_errors` are those inside one."""

    refusal: Refusal | None
    item_errors: tuple[str, ...] = ()

    def names(self, field: str) -> bool:
        wanted = re.sub(r"\[\d+\]", "", field)
        if self.refusal is not None:
            return any(re.sub(r"\[\d+\]", "", path).startswith(wanted) for path in self.refusal.fields)
        return any(wanted in re.sub(r"\[\d+\]", "", message) for message in self.item_errors)


async def attack(channel: grpc.aio.Channel, case: Case) -> Answer:
    """What the server answers. When gRPC could not send a message, because the call had ended, it may put a status of
    its own in the place of the server's: then it is asked again."""
    for _ in range(10):
        answer = await _attacked(channel, case)
        if answer.refusal is None or not not_sent(answer.refusal.code, answer.refusal.message):
            break
    return answer


async def _attacked(channel: grpc.aio.Channel, case: Case) -> Answer:
    output: Any = GetMessageClass(case.descriptor.output_type).FromString
    call: Any
    try:
        if case.descriptor.client_streaming and case.descriptor.server_streaming:
            call = channel.stream_stream(case.method, None, output)()
            with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                async for message in _stream(case):
                    await call.write(message)
                await call.done_writing()
            try:
                while await call.read() is not grpc.aio.EOF:
                    pass
            finally:
                let_go(call)
            return Answer(None)
        if case.descriptor.client_streaming:
            call = channel.stream_unary(case.method, None, output)()
            # The server may refuse before it has everything: its reason comes with the answer, not from `write`.
            with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                async for message in _stream(case):
                    await call.write(message)
                await call.done_writing()
            response = await call
            return Answer(None, tuple(failure.error.message for failure in response.failures))
        if case.descriptor.server_streaming:
            streaming: Any = channel.unary_stream(case.method, None, output)
            call = streaming(case.data)
            async for _ in call:
                if case.descriptor.name == "WatchMemories":
                    # It would go on for ever.
                    break
            call.cancel()
            return Answer(None)
        call = channel.unary_unary(case.method, None, output)
        response = await call(case.data)
        results = getattr(response, "results", ())
        return Answer(None, tuple(result.error.message for result in results if result.HasField("error")))
    except grpc.aio.AioRpcError as error:
        return Answer(taken_apart(error))


async def _stream(case: Case) -> AsyncIterator[bytes]:
    """The case among events that are well."""
    request: Any = GetMessageClass(case.descriptor.input_type)
    (first, fields), *_ = EVENTS[case.descriptor.name].items()
    if not case.field.startswith(first):
        yield request(**{first: fields}).SerializeToString()
    yield case.data
    if not case.field.startswith("finish"):
        yield request(finish={}).SerializeToString()
