"""The session store: working memory that expires. Implemented on a Redis-protocol server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from memsidecar.domain.scope import Partition
from memsidecar.domain.session import Message, ScratchEntry, ScratchWrite, Session


@dataclass(frozen=True, slots=True)
class SessionKey:
    partition: Partition
    session_id: str


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append did. `seqs` are those of the messages given, also when a retry finds them stored already."""

    seqs: tuple[int, ...]
    token_count: int
    session: Session


@dataclass(frozen=True, slots=True)
class SessionChange:
    """Fields to change; None leaves one as it is. `expected_version` None changes in any case."""

    labels: Mapping[str, str] | None = None
    ttl: int | None = None
    sliding: bool | None = None
    expected_version: int | None = None


class SessionStore(Protocol):
    """Every write is one atomic step on the server; every method raises StoreUnavailable when the server is away.

    `request_id` (may be empty) makes a write harmless to repeat for as long as the session lives: the same id with the
    same `digest` gives the first result again, with another digest RequestIdReused.
    Keys hold any character. Nothing is found by prefix or pattern of keys on the server.
    """

    async def create(self, session: Session, request_id: str, digest: bytes) -> Session:
        """Raises AlreadyExists (unless the same request created it). The first session of a key starts at seq 0."""
        ...

    async def get(self, key: SessionKey) -> Session:
        """Raises NotFound, also once it has expired."""
        ...

    async def list(self, partition: Partition, after: str, limit: int) -> Sequence[Session]:
        """Live sessions of the partition in the order of their ids, after the given id."""
        ...

    async def update(self, key: SessionKey, change: SessionChange, now: int, request_id: str, digest: bytes) -> Session:
        """Raises NotFound, EtagMismatch, RequestIdReused."""
        ...

    async def end(self, key: SessionKey, now: int, request_id: str, digest: bytes) -> Session:
        """Closed for appends and scratch writes from now on; readable until it expires. Ending twice is harmless."""
        ...

    async def delete(self, key: SessionKey) -> bool:
        """Removes the session and everything in it; False when there was none."""
        ...

    async def append(
        self,
        key: SessionKey,
        messages: Sequence[Message],
        now: int,
        expected_last_seq: int | None,
        request_id: str,
        digest: bytes,
    ) -> Appended:
        """Adds all messages in order with consecutive seqs, or none; cost does not grow with the session's length.

        A session that does not exist is NotFound. The transcript keeps the newest `max_messages` (configuration).
        Pinned and system messages stay beyond that; more of them than the limit are refused with InvalidField.
        Raises NotFound, SequenceMismatch, SessionEnded, RequestIdReused, InvalidField (no messages, no Unicode).
        """
        ...

    async def messages(self, key: SessionKey, after_seq: int, limit: int) -> Sequence[Message]:
        """Messages with seq > after_seq, oldest first. Raises NotFound."""
        ...

    async def newest(self, key: SessionKey, limit: int) -> Sequence[Message]:
        """The newest messages, oldest first. Raises NotFound."""
        ...

    async def pinned(self, key: SessionKey) -> Sequence[Message]:
        """The messages a window never drops (pinned ones and those with the system role), oldest first. NotFound."""
        ...

    async def set_scratch(
        self, key: SessionKey, writes: Sequence[ScratchWrite], now: int, request_id: str, digest: bytes
    ) -> Sequence[ScratchEntry]:
        """All or none. InvalidField when the session's scratch would grow beyond its limits, or a key comes twice.

        Raises NotFound, SessionEnded, EtagMismatch (naming the key), RequestIdReused. Versions never come again in one
        session, also not after a key was deleted.
        """
        ...

    async def scratch(self, key: SessionKey, keys: Sequence[str], now: int) -> Sequence[ScratchEntry]:
        """The entries of those keys that exist and have not expired, in the order of `keys`. Raises NotFound."""
        ...

    async def list_scratch(
        self, key: SessionKey, prefix: str, after: str, limit: int, now: int
    ) -> Sequence[ScratchEntry]:
        """Live entries whose key starts with the literal `prefix`, in key order, after the given key. NotFound."""
        ...

    async def delete_scratch(
        self, key: SessionKey, keys: Sequence[str], now: int, request_id: str, digest: bytes
    ) -> int:
        """How many existed. Raises NotFound, SessionEnded, RequestIdReused."""
        ...

    async def check(self) -> None:
        """Raises StoreUnavailable when the server does not answer now."""
        ...

    async def close(self) -> None: ...
