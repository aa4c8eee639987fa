"""Every way a request can fail, as types. The one place that turns them into a gRPC status is server/status.py.

SidecarError            (base, never raised itself)
├── InvalidField        the caller's input is wrong; names the field
├── NotFound            no such resource in that partition
├── AlreadyExists       the id is taken
├── EtagMismatch        the resource has changed since it was read
├── SequenceMismatch    the session has moved on
├── SessionEnded        no more appends
├── RequestIdReused     same request_id, other content
├── ProtocolViolation   a stream message out of turn
├── StreamIdle          a client that sends nothing for too long
├── TokenInvalid        no bearer token, or a wrong one
├── RevisionUnknown     a revision this store has not reached, or of before a restore
├── DimensionMismatch   a vector of another model or size
├── TokenizerUnknown
├── Overloaded          refused early; try again after `retry_after`
├── Draining            the process is going away
├── StoreUnavailable    a store does not answer
│   └── StoreUnusable   and will not without somebody's help: damaged, or of a later release
├── StoreFull           the disk is full; nothing was acknowledged
├── ModelUnavailable    the embedder does not answer
├── ConflictRejected    the policy refuses what contradicts what is stored
├── ConflictBlocked     a later conflict must be undone first
├── LedgerDamaged       a row fails its chain: reported, never served
├── DataDirectoryBusy   another process owns the data directory
├── DataDirectoryUnusable   it cannot be created, or a newer release has written it
└── BackupUnusable      a backup cannot be written there, or is not one to restore
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class SidecarError(Exception):
    """Base of all typed errors. `str(error)` is safe to show to a caller; a cause is for the log only."""

    def __init__(
        self, message: str, metadata: Mapping[str, str] | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.metadata: Mapping[str, str] = dict(metadata or {})
        self.retry_after = retry_after


class InvalidField(SidecarError):
    """The request is wrong. `violations` are (field path, what is wrong and what is accepted)."""

    def __init__(self, field: str, problem: str, *more: tuple[str, str]) -> None:
        self.violations: tuple[tuple[str, str], ...] = ((field, problem), *more)
        super().__init__("; ".join(f"{path}: {text}" for path, text in self.violations))


class NotFound(SidecarError):
    """No such resource. Also the answer for one that another tenant owns."""

    def __init__(self, resource: str) -> None:
        super().__init__(f"{resource} does not exist", {"resource": resource})


class AlreadyExists(SidecarError):
    def __init__(self, resource: str) -> None:
        super().__init__(f"{resource} exists already", {"resource": resource})


class EtagMismatch(SidecarError):
    def __init__(self, resource: str, current_etag: str) -> None:
        super().__init__(
            f"{resource} has changed: its etag is now {current_etag}; read it again and retry",
            {"resource": resource, "current_etag": current_etag},
        )


class SequenceMismatch(SidecarError):
    def __init__(self, session: str, expected: int, last: int) -> None:
        super().__init__(
            f"{session} ends at message {last}, not {expected}; list the newer messages and retry",
            {"session": session, "expected_last_seq": str(expected), "last_seq": str(last)},
        )


class SessionEnded(SidecarError):
    def __init__(self, session: str) -> None:
        super().__init__(f"{session} has ended; create another session", {"session": session})


class RequestIdReused(SidecarError):
    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"request_id {request_id} was used for another request; use a new UUID for each request",
            {"request_id": request_id},
        )


class ProtocolViolation(SidecarError):
    def __init__(self, expected: str, received: str) -> None:
        super().__init__(f"expected {expected}, received {received}", {"expected": expected, "received": received})


class StreamIdle(SidecarError):
    def __init__(self, limit: float) -> None:
        super().__init__(
            f"nothing came for {limit:g} s; what was committed stays; open another stream for the rest",
            {"idle_seconds": f"{limit:g}"},
        )


class TokenInvalid(SidecarError):
    def __init__(self) -> None:
        super().__init__("this server wants the token of its operator as `authorization: Bearer ...`")


class RevisionUnknown(SidecarError):
    def __init__(self, revision: str, field: str = "min_revision") -> None:
        super().__init__(
            f"{field} is no revision of this store; it is ahead of it, from another store, or from before a restore",
            {"min_revision": revision},
        )


class DimensionMismatch(SidecarError):
    """A vector does not fit the namespace's embedding space; the message says what does."""

    def __init__(self, expected_model: str, expected: int, received_model: str, received: int) -> None:
        super().__init__(
            f"the vector has {received} dimensions ({received_model or 'client'}), but this store is configured for "
            f"{expected} ({expected_model}); send {expected} dimensions, or set embedding.dimensions and start with "
            "an empty data directory",
            {
                "expected_dimension": str(expected),
                "received_dimension": str(received),
                "expected_model": expected_model,
                "received_model": received_model,
            },
        )


class TokenizerUnknown(SidecarError):
    def __init__(self, tokenizer: str, known: tuple[str, ...]) -> None:
        super().__init__(f"unknown tokenizer {tokenizer!r}; known: {', '.join(known)}", {"tokenizer": tokenizer})


class Overloaded(SidecarError):
    def __init__(self, limit: str, retry_after: float = 0.5) -> None:
        super().__init__(f"refused: {limit} is reached; retry later", {"limit": limit}, retry_after)


class Draining(SidecarError):
    def __init__(self) -> None:
        super().__init__("the sidecar is shutting down", None, 1.0)


class StoreUnavailable(SidecarError):
    """`store` is one of ledger, graph, sessions, vectors, accesses. `reason` says more, and is for the log only."""

    def __init__(
        self, store: str, problem: str = "does not answer", retry_after: float = 1.0, *, reason: str = ""
    ) -> None:
        super().__init__(f"the {store} store {problem}", {"store": store}, retry_after)
        self.reason = reason


class StoreUnusable(StoreUnavailable):
    """Trying again does not help; the message says what does."""


class StoreFull(SidecarError):
    def __init__(self, store: str) -> None:
        super().__init__(
            f"the {store} store is out of disk space; nothing was stored; free space and retry", {"store": store}, 5.0
        )


class ModelUnavailable(SidecarError):
    def __init__(self, provider: str, problem: str = "does not answer", retry_after: float = 1.0) -> None:
        super().__init__(f"the model provider {provider} {problem}", {"provider": provider}, retry_after)


class ConflictRejected(SidecarError):
    """The policy refuses what contradicts these memories (resource names); nothing was stored."""

    def __init__(self, memories: Sequence[str]) -> None:
        super().__init__(
            "refused: it contradicts what is stored, and the conflict policy is REJECT; read the memories in the "
            "metadata, or send another policy",
            {"memories": ",".join(memories)},
        )


class ConflictBlocked(SidecarError):
    """A later conflict (resource name) has changed a memory of this one."""

    def __init__(self, conflict: str) -> None:
        super().__init__(f"a later conflict has changed its memories; undo {conflict} first", {"conflict": conflict})


class LedgerDamaged(SidecarError):
    def __init__(self, partition: str, revision: int) -> None:
        super().__init__(
            f"the ledger of {partition} fails its checksum at revision {revision}; run `memsidecar verify`",
            {"partition": partition, "revision": str(revision)},
        )


class DataDirectoryBusy(SidecarError):
    def __init__(self, path: str, owner: str) -> None:
        super().__init__(f"{path} is in use by {owner}; stop it, or choose another data directory", {"path": path})


class DataDirectoryUnusable(SidecarError):
    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path} {problem}", {"path": path})


class BackupUnusable(SidecarError):
    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path} {problem}", {"path": path})
