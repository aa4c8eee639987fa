"""The file: its tables, its settings, and the connections to it."""

from __future__ import annotations

import secrets
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

from memsidecar.adapters.sqlite_ledger.failures import NewerFormat

FILE_NAME = "ledger.db"
FORMAT = 1

# Another program that looks into the file (a backup, a shell) may hold a lock for a moment.
_LOCK_SECONDS = 5.0

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE partition (
    id INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    user TEXT NOT NULL,
    UNIQUE (namespace, user)
) STRICT;

-- Erasing writes zeros over a payload or a vector in its place and never changes a row's size: SQLite moves the
-- neighbours of a row that shrinks to other pages, and leaves copies of them behind (secure_delete or not) that a later
-- purge of those neighbours would not reach. So no row of `event` and `vector` is ever deleted or resized. `erased` is
-- 0 or 1, which take no room in a row. Payloads stand last: reading the rest never touches their overflow pages.
CREATE TABLE event (
    position INTEGER PRIMARY KEY,
    partition INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    subject TEXT NOT NULL,
    request_id TEXT NOT NULL,
    codec INTEGER NOT NULL,
    payload_sha256 BLOB NOT NULL,
    chain BLOB NOT NULL,
    erased INTEGER NOT NULL DEFAULT 0,
    payload BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_by_revision ON event (partition, revision);
CREATE INDEX event_by_subject ON event (partition, subject, revision);

CREATE TABLE request (
    partition INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    digest BLOB NOT NULL,
    answer BLOB NOT NULL,
    PRIMARY KEY (partition, request_id)
) STRICT, WITHOUT ROWID;

-- Which vectors a memory has now.
CREATE TABLE embedding (
    partition INTEGER NOT NULL,
    memory TEXT NOT NULL,
    revision INTEGER NOT NULL,
    model TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    count INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    PRIMARY KEY (partition, memory)
) STRICT, WITHOUT ROWID;

-- All chunks of one memory in one blob of little-endian float32; zeros once nothing refers to it.
CREATE TABLE vector (slot INTEGER PRIMARY KEY, numbers BLOB NOT NULL) STRICT;
"""

# Made in a file of an earlier release, too.
_JOB_TABLES = """
CREATE TABLE IF NOT EXISTS job (
    partition INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind INTEGER NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (partition, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS job_by_time ON job (partition, created_at, id);
CREATE INDEX IF NOT EXISTS job_by_change ON job (updated_at);
-- An item's memory is not its text: a purge leaves nothing here that it should take along.
CREATE TABLE IF NOT EXISTS job_item (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    partition INTEGER NOT NULL,
    job TEXT NOT NULL,
    memory TEXT NOT NULL,
    parts TEXT NOT NULL,
    state INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    problem TEXT NOT NULL DEFAULT '',
    told TEXT NOT NULL DEFAULT '[]'
) STRICT;
CREATE INDEX IF NOT EXISTS job_item_by_job ON job_item (partition, job, position);
CREATE INDEX IF NOT EXISTS job_item_due ON job_item (partition, position) WHERE state = 1
"""


# Revisions of one history mean nothing in another one. A file of an early release has none.
_SET_HISTORY = "INSERT INTO meta VALUES ('history', ?) ON CONFLICT DO UPDATE SET value = excluded.value"


def new_history() -> int:
    """Never 0."""
    return secrets.randbits(62) + 1


def begin_history(path: Path) -> None:
    """Makes the revisions of a file that nobody uses those of a new history. Raises as `open_for_writing`."""
    with closing(open_for_writing(path)) as connection:
        connection.execute(_SET_HISTORY, (new_history(),))


def open_for_writing(path: Path) -> sqlite3.Connection:
    """The writer's connection; the file is made when it is not there.

    Raises NewerFormat, sqlite3.Error. The caller's thread owns the connection.
    """
    connection = sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None)
    try:
        # Settings that only take effect before the first table come first.
        connection.execute("PRAGMA page_size = 16384")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # What SQLite itself sets free, such as overwritten requests, must not stay readable either.
        connection.execute("PRAGMA secure_delete = ON")
        # A rollback's copies of pages would otherwise go to the system's temporary directory.
        connection.execute("PRAGMA temp_store = MEMORY")
        # The writer checkpoints by itself, after it has answered.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        connection.execute("PRAGMA cache_size = -16384")
        _ensure_tables(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A read-only connection to a file that is open for writing elsewhere. Raises sqlite3.Error."""
    return _open_to_read(path, "mode=ro")


def open_copy(path: Path) -> sqlite3.Connection:
    """A connection to a file that nobody writes, such as one in a backup; nothing is made beside it, as a log would be.

    Raises sqlite3.Error.
    """
    return _open_to_read(path, "immutable=1")


def _open_to_read(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", timeout=_LOCK_SECONDS, isolation_level=None, uri=True
    )
    # A damaged name must come out as a name that fails its hash, not as an error that hides which row it is in.
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -8192")
    return connection


def _ensure_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").fetchone() is None:
            for statement in _TABLES.split(";\n"):
                connection.execute(statement)
            connection.execute("INSERT INTO meta VALUES ('format', ?)", (FORMAT,))
            connection.execute(_SET_HISTORY, (new_history(),))
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'job_item_due'").fetchone() is None:
            for statement in _JOB_TABLES.split(";\n"):
                connection.execute(statement)
        (found,) = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
        if found > FORMAT:
            raise NewerFormat(found, FORMAT)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
