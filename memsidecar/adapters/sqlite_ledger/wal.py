"""Keeping the write-ahead log short, and free of what was erased."""

from __future__ import annotations

import logging
import sqlite3

_logger = logging.getLogger(__name__)

# Roughly 16 MiB of log: a batch touches some six pages of 16 KiB, further events share them.
_CHECKPOINT_AFTER = 16 << 20
_BATCH_BYTES = 96 << 10
_EVENT_BYTES = 4 << 10
# How long an erasing commit waits for readers of older pages before it leaves the log to the next try. A try holds up
# other writes, so that it waits hardly at all: a reader that is still there may be a backup, and stay for long.
_READERS_WAIT_MS = 250
_READERS_WAIT_AGAIN_MS = 10


class WriteAheadLog:
    """Checkpoints through the writer's connection. A failed one is no failed write: the log just stays longer."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._estimate = 0
        self.holds_erased = False
        (self._lock_wait_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()

    def grew(self, events: int, batches: int) -> None:
        """Account for a committed group; moves the log into the file when it has become long."""
        self._estimate += events * _EVENT_BYTES + batches * _BATCH_BYTES
        if self._estimate < _CHECKPOINT_AFTER:
            return
        if self.holds_erased:
            self.truncate()
        else:
            self._checkpoint("PASSIVE")

    def erase(self) -> None:
        """Take erased bytes out of the log now, or at the first retry that no reader is in the way of."""
        wait_ms = _READERS_WAIT_AGAIN_MS if self.holds_erased else _READERS_WAIT_MS
        self.holds_erased = True
        self.truncate(wait_ms)

    def truncate(self, wait_ms: int = _READERS_WAIT_AGAIN_MS) -> None:
        """Empty the log, if no reader still needs it."""
        if self._checkpoint("TRUNCATE", wait_ms):
            self.holds_erased = False

    def _checkpoint(self, mode: str, wait_ms: int = 0) -> bool:
        self._estimate = 0
        try:
            self._connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
            (busy, _, _) = self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            self._connection.execute(f"PRAGMA busy_timeout = {self._lock_wait_ms}")
        except sqlite3.Error as error:
            _logger.warning("the ledger's log could not be checkpointed: %s", error)
            return False
        return not busy
