from __future__ import annotations

import logging

import grpc
import pytest

from memsidecar.domain import errors
from memsidecar.server.status import code_of, failure_of, item_error
from memsidecar.v1.error_reason_pb2 import ErrorReason
from memsidecar.v1.memory_service_pb2 import GetMemoryRequest
from tests.server.api import Api, refused
from tests.server.fakes import World

M1 = "namespaces/home/users/ann/memories/m1"
# An example of each; the values are (code, reason, has RetryInfo).
EXAMPLES: dict[errors.SidecarError, tuple[str, str, bool]] = {
    errors.InvalidField("a.b", "is wrong", ("c", "is, too")): ("INVALID_ARGUMENT", "INVALID_FIELD", False),
    errors.NotFound("r"): ("NOT_FOUND", "RESOURCE_NOT_FOUND", False),
    errors.AlreadyExists("r"): ("ALREADY_EXISTS", "RESOURCE_EXISTS", False),
    errors.EtagMismatch("r", "7"): ("ABORTED", "ETAG_MISMATCH", False),
    errors.SequenceMismatch("s", 1, 2): ("ABORTED", "SEQUENCE_MISMATCH", False),
    errors.SessionEnded("s"): ("FAILED_PRECONDITION", "SESSION_ENDED", False),
    errors.RequestIdReused("i"): ("INVALID_ARGUMENT", "REQUEST_ID_REUSED", False),
    errors.ProtocolViolation("start", "finish"): ("INVALID_ARGUMENT", "PROTOCOL_VIOLATION", False),
    errors.TokenInvalid(): ("UNAUTHENTICATED", "TOKEN_INVALID", False),
    errors.RevisionUnknown("t"): ("FAILED_PRECONDITION", "REVISION_UNKNOWN", False),
    errors.DimensionMismatch("m", 4, "", 3): ("FAILED_PRECONDITION", "EMBEDDING_DIMENSION_MISMATCH", False),
    errors.TokenizerUnknown("t", ("a",)): ("INVALID_ARGUMENT", "TOKENIZER_UNKNOWN", False),
    errors.Overloaded("max_streams"): ("RESOURCE_EXHAUSTED", "OVERLOADED", True),
    errors.Draining(): ("UNAVAILABLE", "DRAINING", True),
    errors.StoreUnavailable("graph"): ("UNAVAILABLE", "STORE_UNAVAILABLE", True),
    errors.StoreFull("ledger"): ("RESOURCE_EXHAUSTED", "STORE_FULL", True),
    errors.StreamIdle(300.0): ("ABORTED", "STREAM_IDLE", False),
    errors.ModelUnavailable("openai"): ("UNAVAILABLE", "MODEL_UNAVAILABLE", True),
    errors.ConflictRejected(["r"]): ("FAILED_PRECONDITION", "CONFLICT_REJECTED", False),
    errors.ConflictBlocked("r"): ("FAILED_PRECONDITION", "CONFLICT_BLOCKED", False),
    errors.LedgerDamaged("p", 3): ("DATA_LOSS", "LEDGER_DAMAGED", False),
    errors.DataDirectoryBusy("/d", "1"): ("INTERNAL", "INTERNAL", False),
    errors.DataDirectoryUnusable("/d", "is a file"): ("INTERNAL", "INTERNAL", False),
    errors.BackupUnusable("/b", "exists"): ("INTERNAL", "INTERNAL", False),
}


def test_every_error_has_a_status_and_every_reason_an_error() -> None:
    assert {type(error) for error in EXAMPLES} == {
        kind for kind in errors.SidecarError.__subclasses__() if kind.__module__ == errors.__name__
    }
    reasons = {f"ERROR_REASON_{code_of(error)[1]}" for error in EXAMPLES}
    assert reasons == set(ErrorReason.keys()) - {"ERROR_REASON_UNSPECIFIED"}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
async def test_error_arrives_with_its_details(api: Api, world: World, error: errors.SidecarError) -> None:
    world.failures["memories"] = error
    refusal = await refused(api.memory.GetMemory(GetMemoryRequest(name=M1)))
    code, reason, has_retry = EXAMPLES[error]
    assert (refusal.code.name, refusal.reason) == (code, reason)
    assert refusal.message == str(error)
    assert refusal.metadata == dict(error.metadata)
    assert refusal.retry_after == error.retry_after
    assert (refusal.retry_after is not None) == has_retry
    if isinstance(error, errors.InvalidField):
        assert refusal.fields == {"a.b": "is wrong", "c": "is, too"}


async def test_defect_says_nothing_but_the_request_id(api: Api, world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.failures["memories"] = KeyError("what the user said")
    call = api.memory.GetMemory(GetMemoryRequest(name=M1), metadata=(("x-request-id", "req-1"),))
    refusal = await refused(call)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert refusal.metadata == {"request": "req-1"}
    assert "KeyError" not in refusal.message
    [record] = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert "req-1" in record.getMessage()
    assert "builtins.KeyError" in record.getMessage()
    assert "fakes.py" in record.getMessage()
    assert "what the user said" not in caplog.text


async def test_cause_of_a_typed_error_is_logged_and_not_sent(
    api: Api, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    error = errors.StoreUnavailable("graph")
    error.__cause__ = OSError("driver says /secret/path")
    world.failures["memories"] = error
    refusal = await refused(api.memory.GetMemory(GetMemoryRequest(name=M1)))
    assert "secret" not in refusal.message
    assert "builtins.OSError" in caplog.text
    assert "secret" not in caplog.text


async def test_huge_error_still_fits_the_trailers(api: Api, world: World) -> None:
    many = [(f"f{i}." + "x" * 500, "界" * 500) for i in range(1000)]
    world.failures["memories"] = errors.InvalidField(*many[0], *many[1:])
    refusal = await refused(api.memory.GetMemory(GetMemoryRequest(name=M1)))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.fields


def test_item_error_has_the_numbers_of_the_protocol() -> None:
    assert item_error(errors.NotFound("r")) == (
        5,
        ErrorReason.Value("ERROR_REASON_RESOURCE_NOT_FOUND"),
        "r does not exist",
    )


def test_special_error_has_the_status_of_its_kind() -> None:
    class Timeout(errors.StoreUnavailable):
        pass

    assert code_of(Timeout("graph"))[1] == "STORE_UNAVAILABLE"
    assert code_of(errors.SidecarError("x"))[1] == "INTERNAL"


def test_message_is_cut_between_characters() -> None:
    message = failure_of(errors.NotFound("界" * 1000)).message
    assert len(message.encode()) <= 600
    assert message.endswith("…")
