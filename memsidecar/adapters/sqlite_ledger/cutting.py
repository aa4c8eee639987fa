"""Taking a ledger that nobody uses back to a point in time.

Its last entries are deleted, and with them what was kept beside them: answers to requests, jobs, vectors, dates of
purges. What a purge or a new text has overwritten since cannot come back: the caller is told, and has it recorded.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from memsidecar.adapters.sqlite_ledger.deletions import ensure_table, purge_at, write_deletions
from memsidecar.adapters.sqlite_ledger.failures import translated
from memsidecar.adapters.sqlite_ledger.schema import open_for_writing
from memsidecar.domain.errors import InvalidField, StoreUnusable
from memsidecar.domain.events import MemoryPurged, MemoryRecorded
from memsidecar.domain.point_in_time import AtRevision, AtTime, Cut, PointInTime
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import EventCodec

_PARTITIONS = "SELECT id, namespace, user FROM partition"
_FIRST_LATER = "SELECT partition, min(revision) - 1 FROM event WHERE recorded_at > ? GROUP BY partition"
_EARLIER = """
SELECT erased, payload FROM event WHERE partition = ? AND subject = ? AND revision <= ? ORDER BY revision DESC
"""
_LATER_SUBJECTS = "SELECT DISTINCT subject FROM event WHERE partition = ? AND revision > ?"
_VECTORS = "SELECT revision, slot FROM embedding WHERE partition = ? AND memory = ?"
# A request is answered again as long as it is recorded: not one whose events are gone.
_FORGET_REQUESTS = """
DELETE FROM request WHERE partition = ?1 AND (recorded_at > ?3 OR recorded_at IN (
    SELECT recorded_at FROM event WHERE partition = ?1 AND revision > ?2))
"""
_FORGET_ITEMS = """
DELETE FROM job_item WHERE partition = ?1 AND (
    job IN (SELECT id FROM job WHERE partition = ?1 AND created_at > ?2)
    OR NOT EXISTS (SELECT 1 FROM event e WHERE e.partition = ?1 AND e.subject = job_item.memory))
"""
_FORGET_JOBS = "DELETE FROM job WHERE partition = ?1 AND id NOT IN (SELECT job FROM job_item WHERE partition = ?1)"
# What was read out of a text later is gone, so that it is to be read again; what somebody has called off stays so.
_DUE_AGAIN = """
UPDATE job_item SET state = 1, problem = '', told = '[]' WHERE partition = ?1 AND state IN (2, 3)
AND job IN (SELECT id FROM job WHERE partition = ?1 AND updated_at > ?2)
"""
_FORGET_PARTITIONS = """
DELETE FROM partition WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.partition = partition.id)
AND NOT EXISTS (SELECT 1 FROM request r WHERE r.partition = partition.id)
"""
_SET_BACK = "UPDATE job SET updated_at = max(created_at, ?2) WHERE partition = ?1 AND updated_at > ?2"


@dataclass(frozen=True, slots=True)
class _Then:
    """A memory, or a conflict, as of the cut. `purge_at`: when it was to be purged, if it was deleted."""

    erased: bool = False
    vectors: bool = False
    purge_at: int | None = None


def cut_ledger(path: Path, codec: EventCodec, until: PointInTime) -> Sequence[Cut]:
    """Takes the file back; the partitions that have lost entries. The file is made anew, without what was deleted.

    The ledger is not valid before what the cuts name has been recorded: purges, and vectors that are due. Raises
    InvalidField for a point that is none, StoreUnusable, StoreUnavailable, StoreFull.
    """
    try:
        with closing(open_for_writing(path)) as db:
            ensure_table(db, codec)
            names = {
                number: Partition(n, u) for number, n, u in db.execute("SELECT id, namespace, user FROM partition")
            }
            match until:
                case AtTime(recorded_by=moment):
                    ends = dict(db.execute(_FIRST_LATER, (moment,)).fetchall())
                    _check_that_something_is_left(db, moment)
                    moments = dict.fromkeys(names, moment)
                case AtRevision(partition=partition, revision=revision):
                    number, moment = _moment_of(db, names, partition, revision)
                    ends, moments = {number: revision}, {number: moment}
            db.execute("BEGIN IMMEDIATE")
            cuts = [
                cut
                for number, moment in moments.items()
                if (cut := _cut(db, codec, (number, names[number]), ends.get(number), moment)).removed
            ]
            db.execute(_FORGET_PARTITIONS)
            db.execute("COMMIT")
            # Deleting moves neighbours and leaves copies behind that a later purge would not reach; schema.py says why.
            fresh = path.with_name(f"{path.name}.new")
            db.execute("VACUUM INTO ?", (str(fresh),))
        fresh.replace(path)
        return cuts
    except sqlite3.Error as error:
        raise translated(error) from error


def _check_that_something_is_left(db: sqlite3.Connection, moment: int) -> None:
    if db.execute("SELECT 1 FROM event WHERE recorded_at <= ? LIMIT 1", (moment,)).fetchone() is None:
        raise InvalidField("at", "is before the first entry: nothing was recorded by then")


def _moment_of(
    db: sqlite3.Connection, names: Mapping[int, Partition], partition: Partition, revision: int
) -> tuple[int, int]:
    """The partition's number, and by when all up to the revision was recorded."""
    number = next((number for number, each in names.items() if each == partition), None)
    if number is None:
        raise InvalidField("partition", f"{partition.name} is not in this backup")
    # A partition may have requests only, which led to nothing.
    (last,) = db.execute("SELECT ifnull(max(revision), 0) FROM event WHERE partition = ?", (number,)).fetchone()
    if not 1 <= revision <= last:
        raise InvalidField("to-revision", f"is {revision}; this backup has revisions 1 to {last} of {partition.name}")
    rows = "SELECT revision, recorded_at FROM event WHERE partition = ? AND revision >= ? ORDER BY revision LIMIT 2"
    found = db.execute(rows, (number, revision)).fetchall()
    at = int(found[0][1])
    if len(found) == 2 and found[1][1] == at:
        # What is decided together is recorded at one time, and must not be torn apart.
        edges = "SELECT min(revision), max(revision) FROM event WHERE partition = ? AND recorded_at = ?"
        first, last = db.execute(edges, (number, at)).fetchone()
        before = f"{first - 1} or " if first > 1 else ""
        raise InvalidField(
            "to-revision", f"is {revision}, inside one write (revisions {first} to {last}); take {before}{last}"
        )
    # Not `at`: a clock that stepped back makes what came before it later, and that stays with its requests and jobs.
    newest = "SELECT max(recorded_at) FROM event WHERE partition = ? AND revision <= ?"
    return number, int(db.execute(newest, (number, revision)).fetchone()[0])


def _cut(db: sqlite3.Connection, codec: EventCodec, owner: tuple[int, Partition], end: int | None, moment: int) -> Cut:
    number, partition = owner
    last = end if end is not None else 1 << 62
    purged, without_vectors = [], []
    for (subject,) in db.execute(_LATER_SUBJECTS, (number, last)).fetchall():
        then = _as_of(db, codec, owner, subject, last)
        stored = db.execute(_VECTORS, (number, subject)).fetchone()
        if then.erased:
            purged.append(subject)
        elif stored is not None and stored[0] > last:
            if then.vectors:
                without_vectors.append(subject)
            else:
                db.execute("DELETE FROM embedding WHERE partition = ? AND memory = ?", (number, subject))
                db.execute("DELETE FROM vector WHERE slot = ?", (stored[1],))
        write_deletions(db, {(number, subject): then.purge_at})
    db.execute(_FORGET_REQUESTS, (number, last, moment))
    removed = db.execute("DELETE FROM event WHERE partition = ? AND revision > ?", (number, last)).rowcount
    db.execute(_FORGET_ITEMS, (number, moment))
    db.execute(_FORGET_JOBS, (number,))
    db.execute(_DUE_AGAIN, (number, moment))
    db.execute(_SET_BACK, (number, moment))
    return Cut(partition, last, removed, tuple(purged), tuple(without_vectors))


def _as_of(db: sqlite3.Connection, codec: EventCodec, owner: tuple[int, Partition], subject: str, last: int) -> _Then:
    """From its newest entry back: until it is known whether a purge explains what is erased, and what it was."""
    number, partition = owner
    recorded: MemoryRecorded | None = None
    vectors = False
    for erased, payload in db.execute(_EARLIER, (number, subject, last)):
        if erased:
            return _Then(erased=True)
        try:
            event = codec.decode(payload, partition)
        except ValueError as error:
            raise StoreUnusable("ledger", f"holds an entry of {partition.name} that is no event") from error
        if isinstance(event, MemoryPurged):
            break
        if recorded is None and isinstance(event, MemoryRecorded):
            recorded = event
        vectors = vectors or codec.vector_ref(payload) is not None
    return _Then(vectors=vectors, purge_at=None if recorded is None else purge_at(recorded))
