"""The ledger: the only truth about long-term memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.events import Entry, Event, Matrix
from memsidecar.domain.job import JobChange
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition


@dataclass(frozen=True, slots=True)
class Request:
    """What makes a retry harmless: the id, a digest of the request's content, and the answer to give again."""

    request_id: str
    digest: bytes
    answer: bytes


@dataclass(frozen=True, slots=True)
class Append:
    """Events of one partition, to be committed together or not at all.

    `expected_revision` is the partition's revision that the events were decided on.
    """

    partition: Partition
    expected_revision: int
    events: Sequence[Event]
    recorded_at: int
    requests: Sequence[Request] = ()
    jobs: Sequence[JobChange] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """Where a partition stands. `chain` is the hash over everything up to `revision`; empty partition: 0 and b""."""

    revision: int
    chain: bytes


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Vectors of one memory: float32 (chunks, dimensions)."""

    memory_id: str
    rows: Matrix


@dataclass(frozen=True, slots=True)
class VectorRef:
    """What an event says about its vectors. `sha256` is over all numbers as little-endian float32, row after row."""

    model: str
    dimensions: int
    count: int
    sha256: bytes


@dataclass(frozen=True, slots=True)
class Damage:
    """A place where the ledger is not what was written."""

    partition: Partition
    revision: int
    problem: str


class StaleRevision(Exception):
    """Somebody else appended first: catch up from `head` and decide again. Never reaches a caller of the service."""

    def __init__(self, head: Head) -> None:
        super().__init__(f"the partition is at revision {head.revision}")
        self.head = head


class RequestKnown(Exception):
    """These request ids are recorded already: nothing was appended. Never reaches a caller of the service."""

    def __init__(self, known: Sequence[Request]) -> None:
        super().__init__(f"{len(known)} request ids are recorded already")
        self.known = known


@dataclass(frozen=True, slots=True)
class DuePurge:
    """A soft-deleted memory whose time has come."""

    partition: Partition
    memory_id: str


class Ledger(Protocol):
    """Ordered, checksummed, append-only, one order a partition. All methods may be called at the same time."""

    async def append(self, batch: Append) -> Sequence[Entry]:
        """Durable when it returns: one fsynced transaction, shared with whoever else waits at that moment.

        The entries carry revisions expected_revision+1 ... in the order of `events`; vectors are stored beside them,
        requests and changes of jobs (`JobStore`) with them. MemoryPurged erases the payloads and vectors of that
        memory's earlier entries in the same transaction, and the requests' answers stay.
        Raises RequestKnown when one of the request ids is recorded already, StaleRevision, StoreFull,
        StoreUnavailable; then nothing was stored.
        """
        ...

    async def find_request(self, partition: Partition, request_id: str) -> Request | None:
        """The recorded request, for at least 24 hours after it."""
        ...

    async def head(self, partition: Partition) -> Head: ...

    async def read(self, partition: Partition, after: int, limit: int, chain: bytes | None = None) -> Sequence[Entry]:
        """Entries after revision `after`, oldest first, at most `limit`, vectors left out.

        Each is checked against the hash chain, starting at `chain` (the head's hash at `after`) when it is given.
        An entry that is not what was written ends the answer before it; when it is the first one asked for,
        LedgerDamaged is raised. So nothing past damage is served, and a short answer is not the end, only an empty one.
        """
        ...

    async def history(self, partition: Partition, memory_id: str, before: int, limit: int) -> Sequence[Entry]:
        """Entries about one memory with a revision below `before`, newest first. Damage as in read."""
        ...

    async def tail(self, after: int, limit: int) -> Sequence[Entry]:
        """Entries of all partitions after ledger position `after`, oldest first, vectors left out.

        Damage as in read.
        """
        ...

    async def position(self) -> int:
        """The position of the newest entry; 0 when there is none."""
        ...

    async def vectors(self, partition: Partition, model: str) -> Sequence[StoredVectors]:
        """The current vectors of every memory of the partition that has some of that model."""
        ...

    async def vectors_of(self, partition: Partition, memory_ids: Sequence[str], model: str) -> Sequence[StoredVectors]:
        """The same for some memories; one without vectors of that model is left out."""
        ...

    async def due_purges(self, at: int, after: DuePurge | None, limit: int) -> Sequence[DuePurge]:
        """Soft-deleted memories whose purge is due by then, in the order of (namespace, user, id), after the given one.

        Costs what is deleted, not what is stored."""
        ...

    async def dimensions(self, model: str) -> int | None:
        """The size of the vectors of that model; None when none is stored."""
        ...

    async def partitions(self, after: Partition | None, limit: int) -> Sequence[Partition]:
        """Partitions in the order of (namespace, user), after the given one."""
        ...

    async def verify(self, partition: Partition) -> Sequence[Damage]:
        """Every entry against the chain and its payload hash, every vector against the hash in its event."""
        ...

    async def check(self) -> None:
        """Raises StoreUnavailable when the store cannot be read now. Cheap; for readiness."""
        ...

    async def close(self) -> None: ...


class EventCodec(Protocol):
    """Events to stored bytes and back. Bytes written by any release are read by every later one."""

    @property
    def codec_id(self) -> int: ...

    def encode(self, event: Event) -> bytes:
        """The event without the numbers of its vectors; their model, shape and SHA-256 are in it."""
        ...

    def decode(self, payload: bytes, partition: Partition) -> Event:
        """The event without its vectors: None in a MemoryRecorded, no rows in a VectorsRecorded.

        Raises ValueError when the bytes are not an event.
        """
        ...

    def vector_ref(self, payload: bytes) -> VectorRef | None:
        """What an encoded event says about its vectors; None when it brought none. Raises ValueError like decode."""
        ...

    def encode_memory(self, memory: Memory) -> bytes:
        """A memory alone, as a resident partition holds it."""
        ...

    def decode_memory(self, payload: bytes, partition: Partition) -> Memory:
        """Raises ValueError when the bytes are not a memory."""
        ...

    def encode_conflict(self, conflict: Conflict) -> bytes:
        """A conflict alone, as a resident partition's snapshot holds it."""
        ...

    def decode_conflict(self, payload: bytes) -> Conflict:
        """Raises ValueError when the bytes are not a conflict."""
        ...
