"""A copy of the counts as of one commit, made while others write."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from memsidecar.adapters.sqlite_accesses.store import FILE_NAME, translated

_LOCK_SECONDS = 5.0


def copy_accesses(directory: Path, target: Path) -> bool:
    """Copies the counts of a data directory into a file that needs no other beside it; False when there are none.

    Raises OSError when the target cannot be written, StoreUnavailable when the counts cannot be read.
    """
    path = directory / FILE_NAME
    if not path.is_file():
        return False
    try:
        with (
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=_LOCK_SECONDS, uri=True)) as source,
            closing(sqlite3.connect(target, isolation_level=None)) as copy,
        ):
            copy.execute("PRAGMA journal_mode = OFF")
            copy.execute("PRAGMA synchronous = OFF")
            source.backup(copy)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorname", "") in ("SQLITE_FULL", "SQLITE_IOERR_WRITE"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise translated(error) from error
    with target.open("rb+") as file:
        os.fsync(file.fileno())
    return True


def check_accesses(copy: Path) -> bool:
    """Whether every page of a copy is sound."""
    try:
        with closing(sqlite3.connect(f"{copy.absolute().as_uri()}?immutable=1", uri=True)) as db:
            return bool(db.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",))
    except sqlite3.Error:
        return False
