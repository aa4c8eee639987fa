"""Proving a partition: every entry, every payload, every vector."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from memsidecar.adapters.sqlite_ledger import chain
from memsidecar.adapters.sqlite_ledger.entries import COLUMNS, EntryError, Row, intact, linked
from memsidecar.adapters.sqlite_ledger.failures import unknown_codec
from memsidecar.adapters.sqlite_ledger.reading import partition_id
from memsidecar.domain.events import MemoryPurged
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Damage, EventCodec, VectorRef

_EVENTS = f"SELECT {COLUMNS} FROM event e WHERE e.partition = ? ORDER BY e.revision"
_EMBEDDINGS = """
SELECT e.memory, e.revision, e.model, e.dimensions, e.count, v.numbers
FROM embedding e LEFT JOIN vector v ON v.slot = e.slot WHERE e.partition = ? ORDER BY e.memory
"""


def verify(connection: sqlite3.Connection, codec: EventCodec, partition: Partition) -> Sequence[Damage]:
    """All damage of a partition, by revision, as of one moment. Raises sqlite3.Error, StoreUnavailable."""
    owned_by = partition_id(connection, partition)
    if owned_by is None:
        return ()
    # Events and vectors must be seen as of the same commit.
    connection.execute("BEGIN")
    try:
        proof = _Proof(codec, partition)
        proof.follow_events(connection, owned_by)
        proof.compare_vectors(connection, owned_by)
    finally:
        connection.execute("ROLLBACK")
    return sorted(proof.damages, key=lambda damage: damage.revision)


class _Proof:
    def __init__(self, codec: EventCodec, partition: Partition) -> None:
        self._codec = codec
        self._partition = partition
        self._owner = chain.owner(partition)
        self.damages: list[Damage] = []
        # What the newest event with vectors says of each memory's; None when that cannot be known any more.
        self._refs: dict[str, tuple[int, VectorRef] | None] = {}
        self._erased: dict[str, list[int]] = {}

    def follow_events(self, connection: sqlite3.Connection, owned_by: int) -> None:
        # After a bad link either value may be the true one: the stored one, or the one that should be there.
        before: tuple[bytes, ...] = (chain.FIRST,)
        revision = 0
        try:
            for row in intact(connection.execute(_EVENTS, (owned_by,))):
                follows = row[1] == revision + 1
                if not follows:
                    self._report(revision + 1, f"entries up to {row[1] - 1} are missing")
                elif not any(linked(row, self._owner, link) for link in before):
                    follows = False
                    self._report(row[1], "the entry does not follow from the one before it")
                revision = row[1]
                before = (row[7], *(self._expected(row, link) for link in before))[:2]
                self._follow_payload(row, follows)
        except EntryError as broken:
            self._report(revision + 1, broken.problem)
        for revisions in self._erased.values():
            for missing in revisions:
                self._report(missing, "the payload is missing, and no purge explains it")

    def compare_vectors(self, connection: sqlite3.Connection, owned_by: int) -> None:
        expected = dict(self._refs)
        revision = 0
        try:
            for memory, revision, model, dimensions, count, blob in intact(
                connection.execute(_EMBEDDINGS, (owned_by,))
            ):
                if memory not in expected:
                    self._report(revision, "vectors that no event brought")
                    continue
                known = expected.pop(memory)
                if known is None:
                    continue
                at, ref = known
                if VectorRef(model, dimensions, count, hashlib.sha256(blob or b"").digest()) != ref:
                    self._report(at, "the vectors have changed")
        except EntryError as broken:
            self._report(revision, broken.problem)
            return
        for known in expected.values():
            if known is not None:
                self._report(known[0], "the vectors are missing")

    def _follow_payload(self, row: Row, follows: bool) -> None:
        _, revision, _, subject, _, codec_id, sha256, _, payload = row
        if payload is None:
            self._erased.setdefault(subject, []).append(revision)
            return
        if chain.payload_hash(payload) != sha256:
            self._report(revision, "the payload has changed")
            self._refs[subject] = None
            return
        if codec_id != self._codec.codec_id:
            if follows:
                raise unknown_codec(codec_id)
            self._refs[subject] = None  # The codec may be what was altered, and that is reported.
            return
        try:
            event = self._codec.decode(payload, self._partition)
            ref = self._codec.vector_ref(payload)
        except ValueError:
            self._report(revision, "the payload is not an event")
            self._refs[subject] = None
            return
        if isinstance(event, MemoryPurged):
            self._refs.pop(subject, None)
            self._erased.pop(subject, None)
        elif ref is not None:
            self._refs[subject] = (revision, ref)

    def _expected(self, row: Row, previous: bytes) -> bytes:
        _, revision, recorded_at, subject, request_id, codec, sha256, _, _ = row
        try:
            return chain.link(previous, self._owner, revision, recorded_at, codec, subject, request_id, sha256)
        except UnicodeEncodeError:
            return previous

    def _report(self, revision: int, problem: str) -> None:
        self.damages.append(Damage(self._partition, revision, problem))
