"""Counts of recalls in a small SQLite file of their own."""

from memsidecar.adapters.sqlite_accesses.store import FILE_NAME, SqliteAccesses

__all__ = ["FILE_NAME", "SqliteAccesses"]
