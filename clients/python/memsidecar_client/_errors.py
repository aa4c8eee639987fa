"""Every way a call can fail, as types.

MemsidecarError           any other code: UNKNOWN, UNIMPLEMENTED, or one this client has not heard of
├── InvalidArgument       the request is wrong; `violations` names the fields
├── NotFound              no such resource in that partition
├── AlreadyExists         the id is taken
├── Conflict              the resource or the session has moved on (ABORTED): read again and retry
├── FailedPrecondition    not in this state: an ended session, another embedding model, an unknown revision; or the
│                         conflict policy refuses a contradiction, or a later conflict must be undone first
├── ResourceExhausted     overloaded, or out of disk space; `retry_after` says when to come back
├── Unavailable           the sidecar, or a store behind it, does not answer; retried before it is raised
├── DeadlineExceeded      no answer within the timeout; a write may have happened, repeat it with its request_id
├── Cancelled             the call was cancelled by the server, or by closing the client
├── DataLoss              stored data fails its checksum
├── Internal              a defect of the server; its log has the cause under `request_id`
├── Unauthenticated       the token is missing or wrong
└── PermissionDenied      the token does not allow this
"""

from __future__ import annotations

from collections.abc import Mapping

from memsidecar_client._status_details import StatusDetails, Violation
from memsidecar_client.v1 import error_reason_pb2

_REASONS: Mapping[int, str] = {number: name for name, number in error_reason_pb2.ErrorReason.items()}


def reason_name(reason: int) -> str:
    """The name of an ErrorReason without its prefix; empty for none, the number of one that is not known here."""
    name = _REASONS.get(reason, str(reason)).removeprefix("ERROR_REASON_")
    return "" if name == "UNSPECIFIED" else name


class MemsidecarError(Exception):
    """A call failed. `str(error)` is the server's message.

    `code` is the name of the gRPC status, `reason` that of the ErrorReason without its prefix, or empty; both are
    plain strings, so that those of newer servers survive. `metadata` holds what the reason documents. `retry_after` is
    in seconds, None when the server names no time. `request_id` is the id under which the server logged the call, or
    empty.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: tuple[Violation, ...] = (),
        retry_after: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.metadata: Mapping[str, str] = dict(metadata or {})
        self.violations = violations
        self.retry_after = retry_after
        self.request_id = request_id


class InvalidArgument(MemsidecarError):
    """The request is wrong; `violations` names the fields. Of what no message can be made, the client raises it with
    the name of the argument, and nothing was sent."""


class NotFound(MemsidecarError):
    """No such resource in that partition."""


class AlreadyExists(MemsidecarError):
    """The id is taken."""


class Conflict(MemsidecarError):
    """The resource or the session has changed since it was read: read it again and retry."""


class FailedPrecondition(MemsidecarError):
    """The system is not in the state the call needs."""


class ResourceExhausted(MemsidecarError):
    """Overloaded, or out of disk space."""


class Unavailable(MemsidecarError):
    """The sidecar, or a store or model behind it, does not answer."""


class DeadlineExceeded(MemsidecarError):
    """No answer within the timeout. A write may have happened: repeat it with the same request_id."""


class Cancelled(MemsidecarError):
    """The server cancelled the call, or the client was closed during it."""


class DataLoss(MemsidecarError):
    """Stored data fails its checksum."""


class Internal(MemsidecarError):
    """A defect of the server."""


class Unauthenticated(MemsidecarError):
    """The token is missing or wrong."""


class PermissionDenied(MemsidecarError):
    """The token does not allow this."""


_BY_CODE: Mapping[str, type[MemsidecarError]] = {
    "INVALID_ARGUMENT": InvalidArgument,
    "NOT_FOUND": NotFound,
    "ALREADY_EXISTS": AlreadyExists,
    "ABORTED": Conflict,
    "FAILED_PRECONDITION": FailedPrecondition,
    "RESOURCE_EXHAUSTED": ResourceExhausted,
    "UNAVAILABLE": Unavailable,
    "DEADLINE_EXCEEDED": DeadlineExceeded,
    "CANCELLED": Cancelled,
    "DATA_LOSS": DataLoss,
    "INTERNAL": Internal,
    "UNAUTHENTICATED": Unauthenticated,
    "PERMISSION_DENIED": PermissionDenied,
}


def make_error(code: str, message: str, details: StatusDetails, request_id: str = "") -> MemsidecarError:
    """The error of the type that `code` calls for."""
    return _BY_CODE.get(code, MemsidecarError)(
        message,
        code=code,
        reason=details.reason,
        metadata=details.metadata,
        violations=details.violations,
        retry_after=details.retry_after,
        request_id=request_id or details.metadata.get("request", ""),
    )
