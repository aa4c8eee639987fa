"""What SQLite's errors mean to a caller. The driver's own words stay in the cause, for the log."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from memsidecar.domain.errors import SidecarError, StoreFull, StoreUnavailable, StoreUnusable

_STORE = "ledger"
# Growing the shared-memory file is the one write whose lack of space SQLite does not report as SQLITE_FULL.
_FULL = frozenset({"SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"})
_CORRUPT = frozenset({"SQLITE_CORRUPT", "SQLITE_CORRUPT_INDEX", "SQLITE_CORRUPT_SEQUENCE", "SQLITE_CORRUPT_VTAB"})


class NewerFormat(StoreUnusable):
    """The file was written by a later release."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            _STORE,
            f"was written by a later release (format {found}; this one reads formats up to {known}); "
            "start that release again, or restore a backup of this one",
        )


def closed() -> StoreUnavailable:
    return StoreUnavailable(_STORE, "is closed")


def unknown_codec(codec: int) -> StoreUnavailable:
    return StoreUnavailable(_STORE, f"holds an entry of codec {codec}, which is not configured here")


def is_corrupt(error: sqlite3.Error) -> bool:
    return _name(error) in _CORRUPT


def is_about_the_store(error: Exception) -> bool:
    """Whether the store failed, so that another batch in its place would have failed too."""
    return isinstance(error, sqlite3.OperationalError) or (isinstance(error, sqlite3.Error) and is_corrupt(error))


def translated(error: sqlite3.Error) -> SidecarError:
    """The typed error to raise `from` a driver error."""
    name = _name(error)
    if name in _FULL:
        return StoreFull(_STORE)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreUnavailable(_STORE, "is locked by another program")
    if name in _CORRUPT:
        return StoreUnusable(_STORE, "is damaged; run `memsidecar verify`")
    if name == "SQLITE_NOTADB":
        return StoreUnusable(_STORE, "is not a ledger file; it was left as it is")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StoreUnavailable(_STORE, "cannot be opened for writing; check the data directory's permissions")
    return StoreUnavailable(_STORE)


def not_opened(error: sqlite3.Error, path: Path) -> SidecarError:
    """The same for a file that cannot be opened: with its path and what to do about it."""
    name = _name(error)
    if name not in _CORRUPT and name != "SQLITE_NOTADB":
        return translated(error)
    what = "does not begin as a ledger does" if name == "SQLITE_NOTADB" else "is damaged inside"
    return StoreUnusable(
        _STORE,
        f"cannot be opened: {path} {what}, and was left as it is. It is the one copy of the memories and cannot be "
        "rebuilt: `memsidecar restore` the newest backup with --set-aside; without one, move the file away to begin "
        "with an empty memory, and keep it",
    )


def _name(error: sqlite3.Error) -> str:
    # Errors that Python's driver finds by itself carry no code.
    return getattr(error, "sqlite_errorname", "")
