"""Failures become types, with everything the server said."""

from __future__ import annotations

import pickle
import re

import grpc
import memsidecar_client
import pytest
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from memsidecar_client import AsyncMemsidecar, Conflict, MemsidecarError, ResourceExhausted, Violation, _errors
from memsidecar_client._status_details import StatusDetails, parse

from tests.clients.python.fake_sidecar import Failure, FakeSidecar

TYPES = {
    "INVALID_ARGUMENT": "InvalidArgument",
    "NOT_FOUND": "NotFound",
    "ALREADY_EXISTS": "AlreadyExists",
    "ABORTED": "Conflict",
    "FAILED_PRECONDITION": "FailedPrecondition",
    "RESOURCE_EXHAUSTED": "ResourceExhausted",
    "UNAVAILABLE": "Unavailable",
    "DEADLINE_EXCEEDED": "DeadlineExceeded",
    "CANCELLED": "Cancelled",
    "DATA_LOSS": "DataLoss",
    "INTERNAL": "Internal",
    "UNAUTHENTICATED": "Unauthenticated",
    "PERMISSION_DENIED": "PermissionDenied",
    "UNKNOWN": "MemsidecarError",
    "OUT_OF_RANGE": "MemsidecarError",
    "UNIMPLEMENTED": "MemsidecarError",
}


def details(code: int, *parts: Message) -> bytes:
    """What a server sends, made with Google's own classes, which thereby share this process with the client's."""
    packed = []
    for part in parts:
        packed.append(Packed())
        packed[-1].Pack(part)
    serialized: bytes = status_pb2.Status(code=code, message="m", details=packed).SerializeToString()
    return serialized


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
async def test_every_code_has_its_type(client: AsyncMemsidecar, fake: FakeSidecar, code: grpc.StatusCode) -> None:
    fake.failures["GetMemory"].extend([Failure(code, "no")] * 4)
    with pytest.raises(MemsidecarError, match="no") as caught:
        await client.get_memory("n")
    assert type(caught.value).__name__ == TYPES[code.name]
    assert caught.value.code == code.name
    assert isinstance(caught.value.__cause__, grpc.aio.AioRpcError)


async def test_details_of_the_server_arrive(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    serialized = details(
        10,
        error_details_pb2.Help(),
        error_details_pb2.ErrorInfo(reason="ETAG_MISMATCH", domain="memsidecar", metadata={"current_etag": "4"}),
        error_details_pb2.BadRequest(field_violations=[{"field": "memory.etag", "description": "stale"}]),
        error_details_pb2.RetryInfo(retry_delay=Duration(seconds=1, nanos=500_000_000)),
    )
    trailing = (("grpc-status-details-bin", serialized), ("x-request-id", "r-1"))
    fake.failures["DeleteMemory"].append(Failure(grpc.StatusCode.ABORTED, "changed", trailing))
    with pytest.raises(Conflict) as caught:
        await client.delete_memory("n", etag="3")
    error = caught.value
    assert error.reason == "ETAG_MISMATCH"
    assert error.metadata == {"current_etag": "4"}
    assert error.violations == (Violation("memory.etag", "stale"),)
    assert error.retry_after == 1.5
    assert error.request_id == "r-1"


async def test_reason_of_a_newer_server_survives(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    serialized = details(8, error_details_pb2.ErrorInfo(reason="MOON_PHASE"))
    trailing = (("grpc-status-details-bin", serialized),)
    fake.failures["Remember"].append(Failure(grpc.StatusCode.RESOURCE_EXHAUSTED, "later", trailing))
    with pytest.raises(ResourceExhausted) as caught:
        await client.remember("tea")
    assert caught.value.reason == "MOON_PHASE"
    assert caught.value.retry_after is None


async def test_request_id_is_the_one_sent_when_the_server_names_none(fake: FakeSidecar) -> None:
    fake.failures["GetMemory"].append(Failure(grpc.StatusCode.NOT_FOUND))
    async with AsyncMemsidecar(fake.target, correlation_id=lambda: "trace-7") as client:
        with pytest.raises(MemsidecarError) as caught:
            await client.get_memory("n")
    assert caught.value.request_id == "trace-7"


def test_errors_travel_between_processes() -> None:
    details = StatusDetails("ETAG_MISMATCH", {"a": "b"}, (Violation("f", "d"),), 1.5)
    error = pickle.loads(pickle.dumps(_errors.make_error("ABORTED", "m", details, "r")))
    assert type(error) is Conflict
    assert (str(error), error.code, error.reason, error.retry_after) == ("m", "ABORTED", "ETAG_MISMATCH", 1.5)
    assert error.violations == (Violation("f", "d"),)


def test_unreadable_details_are_no_details() -> None:
    assert parse(b"\xff\xff\xff") == StatusDetails()
    assert parse(b"") == StatusDetails()


def test_internal_error_names_the_request_in_the_server_log() -> None:
    error = _errors.make_error("INTERNAL", "m", StatusDetails("INTERNAL", {"request": "r-9"}))
    assert error.request_id == "r-9"


def test_the_drawn_tree_is_the_tree() -> None:
    assert _errors.__doc__ is not None
    drawn = set(re.findall(r"── (\w+)", _errors.__doc__))
    assert drawn == {error.__name__ for error in MemsidecarError.__subclasses__()}
    assert drawn <= set(memsidecar_client.__all__)
