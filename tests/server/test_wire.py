from __future__ import annotations

import grpc
import pytest
from google.protobuf.message import Message

from memsidecar.server.wire import Unreadable, reader
from memsidecar.v1 import memory_service_pb2 as pb
from memsidecar.v1.session_service_pb2 import SetScratchRequest
from tests.server.api import refused

LONE_SURROGATE = b"\xed\xa0\x80"


def broken(message: Message) -> bytes:
    """The message with "???" replaced by bytes that are not UTF-8."""
    data = message.SerializeToString()
    assert b"???" in data
    return data.replace(b"???", LONE_SURROGATE)


def with_key(key: str) -> SetScratchRequest:
    request = SetScratchRequest()
    entry = request.entries.add()
    entry.value.struct_value.update({"a": {"b": [1, key]}})
    return request


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (pb.RememberRequest(request_id="a???b"), "request_id"),
        (pb.RememberRequest(item={"memory": {"fact": {"statement": "???"}}}), "item.memory.fact.statement"),
        (pb.BatchRememberRequest(items=[{"text": "x"}, {"entities": ["a", "b???"]}]), "items[1].entities[1]"),
        (pb.RememberRequest(options={"labels": {"a": "???"}}), "options.labels"),
        (with_key("???"), "entries[0].value.struct_value.fields"),
    ],
)
def test_text_that_is_not_utf8_is_named(message: Message, field: str) -> None:
    read = reader(type(message))
    assert read(broken(message)) == Unreadable(field, "is not valid UTF-8")
    assert read(message.SerializeToString()) == message


@pytest.mark.parametrize(
    "data", [b"\x0a", b"\xff" * 20, b"\x0a\x05ab", b"\x0b", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"]
)
def test_bytes_that_are_no_message_are_refused_as_such(data: bytes) -> None:
    assert reader(pb.RememberRequest)(data) == Unreadable("", "is not a valid RememberRequest")


@pytest.mark.parametrize(("data", "field"), [(broken(pb.GetMemoryRequest(name="???")), "name"), (b"\xff" * 20, "")])
async def test_unreadable_request_is_an_invalid_field(channel: grpc.aio.Channel, data: bytes, field: str) -> None:
    refusal = await refused(channel.unary_unary("/memsidecar.v1.MemoryService/GetMemory")(data))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert set(refusal.fields) == {field}
