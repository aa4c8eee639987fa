"""The one place that turns an error into a gRPC status.

A status carries google.rpc.ErrorInfo always, BadRequest for a wrong field, RetryInfo where trying again may help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from memsidecar.domain import errors
from memsidecar.server.mapping.values import set_seconds
from memsidecar.v1.error_reason_pb2 import ErrorReason

DOMAIN: Final = "memsidecar"
DETAILS_KEY: Final = "grpc-status-details-bin"

# Trailers are refused by clients above 8 KiB, and they hold the message and the details.
_MAX_MESSAGE = 600
_MAX_METADATA = 300
_MAX_DETAILS = 3000

_Code = grpc.StatusCode
# An error of a more special type has the status of the nearest one here.
_CODES: dict[type[errors.SidecarError], tuple[grpc.StatusCode, str]] = {
    errors.InvalidField: (_Code.INVALID_ARGUMENT, "INVALID_FIELD"),
    errors.NotFound: (_Code.NOT_FOUND, "RESOURCE_NOT_FOUND"),
    errors.AlreadyExists: (_Code.ALREADY_EXISTS, "RESOURCE_EXISTS"),
    errors.EtagMismatch: (_Code.ABORTED, "ETAG_MISMATCH"),
    errors.SequenceMismatch: (_Code.ABORTED, "SEQUENCE_MISMATCH"),
    errors.SessionEnded: (_Code.FAILED_PRECONDITION, "SESSION_ENDED"),
    errors.RequestIdReused: (_Code.INVALID_ARGUMENT, "REQUEST_ID_REUSED"),
    errors.ProtocolViolation: (_Code.INVALID_ARGUMENT, "PROTOCOL_VIOLATION"),
    errors.StreamIdle: (_Code.ABORTED, "STREAM_IDLE"),
    errors.TokenInvalid: (_Code.UNAUTHENTICATED, "TOKEN_INVALID"),
    errors.RevisionUnknown: (_Code.FAILED_PRECONDITION, "REVISION_UNKNOWN"),
    errors.DimensionMismatch: (_Code.FAILED_PRECONDITION, "EMBEDDING_DIMENSION_MISMATCH"),
    errors.TokenizerUnknown: (_Code.INVALID_ARGUMENT, "TOKENIZER_UNKNOWN"),
    errors.Overloaded: (_Code.RESOURCE_EXHAUSTED, "OVERLOADED"),
    errors.Draining: (_Code.UNAVAILABLE, "DRAINING"),
    errors.StoreUnavailable: (_Code.UNAVAILABLE, "STORE_UNAVAILABLE"),
    errors.StoreFull: (_Code.RESOURCE_EXHAUSTED, "STORE_FULL"),
    errors.ModelUnavailable: (_Code.UNAVAILABLE, "MODEL_UNAVAILABLE"),
    errors.ConflictRejected: (_Code.FAILED_PRECONDITION, "CONFLICT_REJECTED"),
    errors.ConflictBlocked: (_Code.FAILED_PRECONDITION, "CONFLICT_BLOCKED"),
    errors.LedgerDamaged: (_Code.DATA_LOSS, "LEDGER_DAMAGED"),
    # Only a start or a command can fail with it, before there is a server.
    errors.DataDirectoryBusy: (_Code.INTERNAL, "INTERNAL"),
    errors.DataDirectoryUnusable: (_Code.INTERNAL, "INTERNAL"),
    errors.BackupUnusable: (_Code.INTERNAL, "INTERNAL"),
    errors.SidecarError: (_Code.INTERNAL, "INTERNAL"),
}


@dataclass(frozen=True, slots=True)
class Failure:
    """A status, ready to be sent. `reason` is that of its ErrorInfo."""

    code: grpc.StatusCode
    reason: str
    message: str
    details: bytes


def failure_of(error: errors.SidecarError) -> Failure:
    code, reason = code_of(error)
    details: list[Any] = [_info(reason, error.metadata)]
    if isinstance(error, errors.InvalidField):
        details.append(_bad_request(error))
    if error.retry_after is not None:
        retry = RetryInfo()
        set_seconds(retry.retry_delay, error.retry_after)
        details.append(retry)
    return _failure(code, reason, str(error), details)


def internal(request_id: str) -> Failure:
    """The answer to a defect: says nothing but where to look."""
    info = _info("INTERNAL", {"request": request_id})
    return _failure(_Code.INTERNAL, "INTERNAL", "internal error; the server's log has its cause", [info])


def code_of(error: errors.SidecarError) -> tuple[grpc.StatusCode, str]:
    """The status code and the reason (without the prefix ERROR_REASON_) of an error."""
    return next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)


def item_error(error: errors.SidecarError) -> tuple[int, ErrorReason.ValueType, str]:
    """The same for one item of a call that succeeds: (google.rpc.Code, reason, message)."""
    code, reason = code_of(error)
    return code.value[0], ErrorReason.Value(f"ERROR_REASON_{reason}"), _cut(str(error), _MAX_MESSAGE)


def _failure(code: grpc.StatusCode, reason: str, message: str, details: list[Any]) -> Failure:
    message = _cut(message, _MAX_MESSAGE)
    status = Status(code=code.value[0], message=message)
    for detail in details:
        packed = AnyMessage()
        packed.Pack(detail)
        status.details.append(packed)
    return Failure(code, reason, message, status.SerializeToString())


def _info(reason: str, metadata: Any) -> ErrorInfo:
    return ErrorInfo(reason=reason, domain=DOMAIN, metadata={k: _cut(v, _MAX_METADATA) for k, v in metadata.items()})


def _bad_request(error: errors.InvalidField) -> BadRequest:
    request = BadRequest()
    for path, problem in error.violations:
        violation = request.field_violations.add(field=_cut(path, 200), description=_cut(problem, 400))
        if request.ByteSize() > _MAX_DETAILS:
            left = len(error.violations) - len(request.field_violations) + 1
            violation.description = f"and {left} violations in all from here on"
            break
    return request


def _cut(text: str, limit: int) -> str:
    """At most `limit` bytes of UTF-8."""
    data = text.encode()
    return text if len(data) <= limit else data[: limit - 3].decode(errors="ignore") + "…"
