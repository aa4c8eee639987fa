"""Counts of recalls in a small SQLite file of their own."""

from memsidecar.adapters.sqlite_accesses.copying import check_accesses, copy_accesses
from memsidecar.adapters.sqlite_accesses.store import FILE_NAME, SqliteAccesses

__all__ = ["FILE_NAME", "SqliteAccesses", "check_accesses", "copy_accesses"]
