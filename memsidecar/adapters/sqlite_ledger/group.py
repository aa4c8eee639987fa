"""One group of batches on its way into the file: who comes where, and the rows that say so."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, TypeAlias

from memsidecar.adapters.sqlite_ledger import chain
from memsidecar.adapters.sqlite_ledger.deletions import deletions_of, write_deletions
from memsidecar.adapters.sqlite_ledger.heads import Heads, Place
from memsidecar.adapters.sqlite_ledger.jobs import write_jobs
from memsidecar.adapters.sqlite_ledger.vectors import NewVectors, Owner, vectors_of, write_vectors
from memsidecar.domain.events import Entry, MemoryPurged, subject_of
from memsidecar.domain.job import JobChange
from memsidecar.ports.ledger import Append, EventCodec, Head, Request, RequestKnown, StaleRevision

_Row: TypeAlias = tuple[Any, ...]

_INSERT_EVENT = """
INSERT INTO event
    (position, partition, revision, recorded_at, subject, request_id, codec, payload_sha256, chain, payload)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_INSERT_REQUEST = "INSERT INTO request (partition, request_id, recorded_at, digest, answer) VALUES (?, ?, ?, ?, ?)"
_FIND_REQUEST = "SELECT digest, answer FROM request WHERE partition = ? AND request_id = ?"
# In place; schema.py says why.
_ERASE = """
UPDATE event SET erased = 1, payload = zeroblob(length(payload))
WHERE partition = ? AND subject = ? AND revision < ? AND NOT erased
"""


class Group:
    """Takes batches one by one with `add`, then writes them all with `write`, in the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection, codec: EventCodec, heads: Heads) -> None:
        self._connection = connection
        self._codec = codec
        self._heads = heads
        self._partitions: list[_Row] = []
        self._events: list[_Row] = []
        self._requests: list[_Row] = []
        self._purges: list[_Row] = []
        # The last word of the group counts.
        self._vectors: dict[Owner, NewVectors | None] = {}
        self._deletions: dict[Owner, int | None] = {}
        self._jobs: list[tuple[int, Sequence[JobChange], int]] = []

    @property
    def erases(self) -> bool:
        return bool(self._purges)

    @property
    def events(self) -> int:
        return len(self._events)

    @property
    def requests(self) -> int:
        return len(self._requests)

    def add(self, batch: Append) -> Sequence[Entry]:
        """The batch's entries at their places. When it raises, the group is as it was before.

        Raises RequestKnown, StaleRevision, sqlite3.Error, and whatever is wrong with the batch's own values.
        """
        before = self._heads.find(self._connection, batch.partition)
        if before.revision != batch.expected_revision:
            raise StaleRevision(Head(before.revision, before.chain))
        if batch.requests:
            self._refuse_known(before, batch)
        entries, events = self._placed(batch, before)
        requests = [
            _request_row(before.id, batch.recorded_at, r.request_id, r.digest, r.answer) for r in batch.requests
        ]
        vectors = vectors_of(before.id, entries)
        # From here on nothing can fail.
        self._requests += requests
        self._vectors.update(vectors)
        self._deletions.update(deletions_of(before.id, entries))
        self._events += events
        self._purges += [
            (before.id, entry.subject, entry.revision) for entry in entries if isinstance(entry.event, MemoryPurged)
        ]
        if batch.jobs:
            self._jobs.append((before.id, batch.jobs, batch.recorded_at))
        if events or requests or batch.jobs:
            if before.is_new:
                self._partitions.append((before.id, batch.partition.namespace, batch.partition.user))
            last = events[-1][8] if events else before.chain
            after = Place(before.id, before.revision + len(events), last, before.owner, is_new=False)
            self._heads.advance(batch.partition, after, len(events))
        return entries

    def write(self) -> None:
        """Every row of the group. Raises sqlite3.Error; the caller rolls back."""
        many = self._connection.executemany
        if self._partitions:
            many("INSERT INTO partition (id, namespace, user) VALUES (?, ?, ?)", self._partitions)
        if self._events:
            many(_INSERT_EVENT, self._events)
        if self._purges:
            # After the inserts: a purge also erases what came before it in this very group.
            many(_ERASE, self._purges)
        if self._vectors:
            write_vectors(self._connection, self._heads, self._vectors)
        if self._deletions:
            write_deletions(self._connection, self._deletions)
        if self._requests:
            many(_INSERT_REQUEST, self._requests)
        for partition, changes, now in self._jobs:
            write_jobs(self._connection, partition, changes, now)

    def _refuse_known(self, before: Place, batch: Append) -> None:
        known = [
            Request(request_id, digest, answer)
            for owner, request_id, _, digest, answer in self._requests
            if owner == before.id and any(r.request_id == request_id for r in batch.requests)
        ]
        if not before.is_new:
            for request in batch.requests:
                row = self._connection.execute(_FIND_REQUEST, (before.id, request.request_id)).fetchone()
                if row is not None:
                    known.append(Request(request.request_id, *row))
        if known:
            raise RequestKnown(known)

    def _placed(self, batch: Append, before: Place) -> tuple[list[Entry], list[_Row]]:
        encode, codec = self._codec.encode, self._codec.codec_id
        partition, recorded_at = batch.partition, batch.recorded_at
        # Which of several requests brought an event is not known here.
        request_id = batch.requests[0].request_id if len(batch.requests) == 1 else ""
        position, revision, link = self._heads.position, before.revision, before.chain
        entries: list[Entry] = []
        rows: list[_Row] = []
        for event in batch.events:
            position += 1
            revision += 1
            subject = subject_of(event)
            payload = encode(event)
            sha256 = chain.payload_hash(payload)
            link = chain.link(link, before.owner, revision, recorded_at, codec, subject, request_id, sha256)
            entries.append(Entry(position, partition, revision, recorded_at, subject, event, request_id))
            rows.append((position, before.id, revision, recorded_at, subject, request_id, codec, sha256, link, payload))
        return entries, rows


def _request_row(partition_id: int, recorded_at: int, request_id: str, digest: bytes, answer: bytes) -> _Row:
    request_id.encode()  # Text that is not Unicode fails its own batch here, not the group at the database.
    return (partition_id, request_id, recorded_at, digest, answer)
