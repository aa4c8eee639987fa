"""Forgetting recorded requests, a few at a time."""

from __future__ import annotations

import sqlite3

# The promise is 24 hours; the rest is for clocks that differ.
_KEPT_MICROSECONDS = 25 * 3600 * 1_000_000
# A step each time so many requests were recorded, looking at four times as many: the table stays within a quarter of
# what it must hold, and no step is long.
_STEP_AFTER = 64
_STEP_ROWS = 4 * _STEP_AFTER


class RequestPruning:
    """Walks through the table in key order, round and round."""

    def __init__(self) -> None:
        self._recorded = 0
        self._after: tuple[int, str] = (0, "")

    def step(self, connection: sqlite3.Connection, recorded: int, now: int) -> None:
        """Account for newly recorded requests; sometimes delete old ones. In the caller's transaction."""
        self._recorded += recorded
        while self._recorded >= _STEP_AFTER:
            self._recorded -= _STEP_AFTER
            rows = connection.execute(
                "SELECT partition, request_id, recorded_at FROM request WHERE (partition, request_id) > (?, ?) "
                "ORDER BY partition, request_id LIMIT ?",
                (*self._after, _STEP_ROWS),
            ).fetchall()
            old = [row[:2] for row in rows if row[2] < now - _KEPT_MICROSECONDS]
            connection.executemany("DELETE FROM request WHERE partition = ? AND request_id = ?", old)
            self._after = rows[-1][:2] if len(rows) == _STEP_ROWS else (0, "")
