"""One table, one thread, one commit a batch.

A file of its own, because a commit to the ledger's would wait for the disk: these need no fsync (`synchronous=NORMAL`
loses the newest commits when the machine fails, and never the file).
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from memsidecar.domain.errors import SidecarError, StoreFull, StoreUnavailable
from memsidecar.domain.scope import Partition
from memsidecar.domain.usage import Access
from memsidecar.ports.accesses import Counted

FILE_NAME = "accesses.db"
FORMAT = 1

# Loading a partition waits for what is under way here: a program that holds a lock must not hold up recalls.
_LOCK_SECONDS = 0.25
_STORE = "accesses"
_T = TypeVar("_T")

_TABLES = """
CREATE TABLE IF NOT EXISTS partition (
    id INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    user TEXT NOT NULL,
    UNIQUE (namespace, user)
) STRICT;
CREATE TABLE IF NOT EXISTS access (
    partition INTEGER NOT NULL,
    memory TEXT NOT NULL,
    count INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (partition, memory)
) STRICT, WITHOUT ROWID;
"""
_ID = "(SELECT id FROM partition WHERE namespace = ? AND user = ?)"
_ADD = """
INSERT INTO access (partition, memory, count, last) VALUES (?, ?, ?, ?)
ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last)
"""
_LOAD = f"SELECT memory, count, last FROM access WHERE partition = {_ID}"
_FORGET = f"DELETE FROM access WHERE partition = {_ID} AND memory IN (SELECT value FROM json_each(?))"
_NEW = "INSERT OR IGNORE INTO partition (namespace, user) VALUES (?, ?)"


class SqliteAccesses:
    """AccessStore in `<directory>/accesses.db`."""

    def __init__(self, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self._connection, self._thread = connection, thread
        self._closed = False

    @classmethod
    async def open(cls, directory: Path) -> SqliteAccesses:
        """Raises StoreFull, StoreUnavailable (also for a damaged file, or one of a later release); it is left alone."""
        thread = ThreadPoolExecutor(1, thread_name_prefix="accesses")
        try:
            connection = await asyncio.get_running_loop().run_in_executor(thread, _open, directory / FILE_NAME)
        except BaseException:
            thread.shutdown()
            raise
        return cls(connection, thread)

    async def load(self, partition: Partition) -> Mapping[str, Access]:
        def load(connection: sqlite3.Connection) -> dict[str, Access]:
            rows = connection.execute(_LOAD, (partition.namespace, partition.user))
            return {memory: Access(count, last) for memory, count, last in rows}

        return await self._run(load)

    async def add(self, counted: Counted) -> None:
        def add(connection: sqlite3.Connection) -> None:
            for partition, accesses in counted.items():
                key = (partition.namespace, partition.user)
                connection.execute(_NEW, key)
                (owner,) = connection.execute(f"SELECT {_ID}", key).fetchone()
                connection.executemany(_ADD, [(owner, memory, *access) for memory, access in accesses.items()])

        await self._run(add)

    async def forget(self, partition: Partition, memory_ids: Sequence[str]) -> None:
        def forget(connection: sqlite3.Connection) -> None:
            connection.execute(_FORGET, (partition.namespace, partition.user, json.dumps(list(memory_ids))))

        await self._run(forget, erases=True)

    async def erase(self, partition: Partition) -> None:
        def erase(connection: sqlite3.Connection) -> None:
            key = (partition.namespace, partition.user)
            connection.execute(f"DELETE FROM access WHERE partition = {_ID}", key)
            connection.execute("DELETE FROM partition WHERE namespace = ? AND user = ?", key)

        await self._run(erase, erases=True)

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.close)
            self._thread.shutdown()

    async def _run(self, work: Callable[[sqlite3.Connection], _T], erases: bool = False) -> _T:
        """Do the work in a transaction, in the thread."""
        if self._closed:
            raise StoreUnavailable(_STORE, "is closed")
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, _in_transaction, self._connection, work, erases
        )


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA cache_size = -2048")
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found > FORMAT:
            raise StoreUnavailable(_STORE, f"was written by a later release (format {found})")
        connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {FORMAT}; COMMIT")
        # Damage should show now, when the file can still be set aside.
        connection.execute("SELECT count(*) FROM partition").fetchone()
    except sqlite3.Error as error:
        connection.close()
        raise translated(error) from error
    except SidecarError:
        connection.close()
        raise
    return connection


def _in_transaction(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], _T], erases: bool) -> _T:
    try:
        connection.execute("BEGIN")
        try:
            result = work(connection)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        if erases:
            # What was erased must not stay readable in the log.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise translated(error) from error
    return result


def translated(error: sqlite3.Error) -> SidecarError:
    """The typed error to raise `from` a driver error."""
    name = getattr(error, "sqlite_errorname", "")
    if name in ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"):
        return StoreFull(_STORE)
    if name.startswith("SQLITE_CORRUPT") or name == "SQLITE_NOTADB":
        return StoreUnavailable(_STORE, "is damaged")
    return StoreUnavailable(_STORE)
