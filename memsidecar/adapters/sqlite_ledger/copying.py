"""A copy of the ledger as of one commit, made while others write; and what a copy holds.

The copy is read in one transaction, so it is of one moment, and in steps, which hold nobody up: in WAL mode writers
never wait for a reader. What they write meanwhile stays in the log until the copy is done.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from memsidecar.adapters.sqlite_ledger.failures import NewerFormat, not_opened, translated
from memsidecar.adapters.sqlite_ledger.lookups import history_id
from memsidecar.adapters.sqlite_ledger.schema import FILE_NAME, FORMAT, begin_history, open_copy, open_for_reading
from memsidecar.adapters.sqlite_ledger.verification import verify
from memsidecar.domain.errors import StoreUnusable
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Damage, EventCodec, Head

# 4 MiB. Written through to the disk in steps, too: a ledger's commit on the same disk would otherwise wait, at the end,
# for everything that the system has put off.
_PAGES = 256

Progress = Callable[[int, int], None]
"""Called with the bytes that are done and the bytes in all."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a copy of the ledger holds. Times are microseconds; None when nothing is recorded.

    `vectors` are (model, dimensions, number of memories).
    """

    format: int
    entries: int
    oldest: int | None
    newest: int | None
    heads: tuple[tuple[Partition, Head], ...]
    vectors: tuple[tuple[str, int, int], ...]
    history: int = 0


def copy_ledger(directory: Path, target: Path, progress: Progress) -> None:
    """The ledger of a data directory as of its newest commit, as one file that needs no other beside it.

    Raises OSError when the target cannot be written; StoreUnusable (damaged, or of a later release), StoreUnavailable
    when the ledger cannot be read.
    """
    path = directory / FILE_NAME
    if not path.is_file():
        raise StoreUnusable("ledger", f"is not there: {directory} has no {FILE_NAME}")
    try:
        with closing(open_for_reading(path)) as source, closing(sqlite3.connect(target, isolation_level=None)) as copy:
            # Whole or nothing is the caller's to see to, and a file of its own needs no way back.
            copy.execute("PRAGMA journal_mode = OFF")
            copy.execute("PRAGMA synchronous = OFF")
            source.execute("BEGIN")
            _check_format(source)
            (page,) = source.execute("PRAGMA page_size").fetchone()
            with target.open("rb+") as file:

                def step(_: int, left: int, pages: int) -> None:
                    os.fdatasync(file.fileno())
                    progress((pages - left) * page, pages * page)

                source.backup(copy, pages=_PAGES, progress=step)
                copy.close()
                os.fsync(file.fileno())
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") in ("SQLITE_FULL", "SQLITE_IOERR_WRITE"):
            # Only the copy is written.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise not_opened(error, path) from error


def renew_history(copy: Path) -> None:
    """Begins a history of its own in a copy that is to be written to. Raises StoreUnusable, StoreUnavailable,
    StoreFull."""
    try:
        begin_history(copy)
    except sqlite3.Error as error:
        raise translated(error) from error


def contents(copy: Path) -> Contents:
    """What a copy holds. Raises StoreUnusable, StoreUnavailable."""
    try:
        with closing(open_copy(copy)) as db:
            (oldest, newest, entries) = db.execute(
                "SELECT min(recorded_at), max(recorded_at), count(*) FROM event"
            ).fetchone()
            heads = db.execute(
                "SELECT p.namespace, p.user, e.revision, e.chain FROM partition p JOIN event e ON e.partition = p.id "
                "AND e.revision = (SELECT max(revision) FROM event WHERE partition = p.id) ORDER BY p.namespace, p.user"
            )
            vectors = db.execute(
                "SELECT model, dimensions, count(*) FROM embedding WHERE count > 0 GROUP BY model, dimensions"
            )
            return Contents(
                _check_format(db),
                entries,
                oldest,
                newest,
                tuple((Partition(n, u), Head(revision, link)) for n, u, revision, link in heads),
                tuple(vectors),
                history_id(db),
            )
    except sqlite3.Error as error:
        raise translated(error) from error


def check_copy(copy: Path, codec: EventCodec, progress: Progress) -> list[Damage]:
    """Every page of a copy, and every entry and vector against the hash chain. Empty when it is what was written.

    Raises StoreUnusable when the file itself is damaged, StoreUnavailable.
    """
    try:
        with closing(open_copy(copy)) as db:
            _check_format(db)
            if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                raise StoreUnusable("ledger", "is damaged inside")
            names = db.execute("SELECT namespace, user FROM partition ORDER BY namespace, user").fetchall()
            found: list[Damage] = []
            for number, (namespace, user) in enumerate(names, 1):
                found += verify(db, codec, Partition(namespace, user))
                progress(number, len(names))
            return found
    except sqlite3.Error as error:
        raise translated(error) from error


def _check_format(db: sqlite3.Connection) -> int:
    (found,) = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    if found > FORMAT:
        raise NewerFormat(found, FORMAT)
    return int(found)
