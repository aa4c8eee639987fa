"""The only thread that writes: it takes all batches that wait and commits them in one transaction."""

from __future__ import annotations

import asyncio
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from memsidecar.adapters.sqlite_ledger.counts import LedgerCounts
from memsidecar.adapters.sqlite_ledger.deletions import ensure_table
from memsidecar.adapters.sqlite_ledger.delivery import Outcome, deliver
from memsidecar.adapters.sqlite_ledger.failures import is_about_the_store, not_opened, translated
from memsidecar.adapters.sqlite_ledger.group import Group
from memsidecar.adapters.sqlite_ledger.heads import Heads
from memsidecar.adapters.sqlite_ledger.requests import RequestPruning
from memsidecar.adapters.sqlite_ledger.schema import open_for_writing
from memsidecar.adapters.sqlite_ledger.wal import WriteAheadLog
from memsidecar.domain.errors import SidecarError
from memsidecar.domain.events import Entry
from memsidecar.ports.ledger import Append, EventCodec

_logger = logging.getLogger(__name__)

_Waiting: TypeAlias = tuple[Append, "asyncio.Future[Sequence[Entry]]"]

# Bounds how long the first batch of a group waits for the others and how much a transaction holds in memory.
_GROUP_EVENTS = 2048
_ERASE_RETRY_SECONDS = 0.25


class Writer:
    """Owned by the event loop that starts it; `append` and `close` are called from there only."""

    def __init__(self, path: Path, codec: EventCodec) -> None:
        self._path = path
        self._codec = codec
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="ledger-writer", daemon=True)
        self._connection: sqlite3.Connection
        self._heads: Heads
        self._pruning = RequestPruning()
        self._wal: WriteAheadLog
        self.counts = LedgerCounts()

    @property
    def waiting(self) -> int:
        """Batches that have not been begun with."""
        return self._queue.qsize()

    async def start(self) -> None:
        """Returns when the file is open. Raises NewerFormat, StoreFull, StoreUnavailable."""
        self._thread.start()
        try:
            await asyncio.shield(self._opened)
        except BaseException:
            # Refused, or nobody waits any more: no thread may stay behind.
            await self.close()
            raise

    def append(self, batch: Append) -> asyncio.Future[Sequence[Entry]]:
        """The future answer. Cancelling it only means that nobody listens: the batch is committed all the same."""
        future: asyncio.Future[Sequence[Entry]] = self._loop.create_future()
        self._queue.put((batch, future))
        return future

    async def close(self) -> None:
        """Returns when everything appended before is answered, the file is closed and the thread has ended."""
        self._queue.put(None)
        await asyncio.shield(self._ended)
        self._thread.join()

    def _run(self) -> None:
        try:
            with closing(open_for_writing(self._path)) as self._connection:
                ensure_table(self._connection, self._codec)
                self._heads = Heads(self._connection)
                self.counts.position = self._heads.position
                self._wal = WriteAheadLog(self._connection)
                self._wal.erase()  # After a crash the log may still hold what was purged just before.
                deliver(self._loop, [(self._opened, None)])
                self._serve()
                self._wal.truncate()
        except SidecarError as error:
            deliver(self._loop, [(self._opened, error)])
        except sqlite3.Error as error:
            failure = not_opened(error, self._path)
            failure.__cause__ = error
            deliver(self._loop, [(self._opened, failure)])
        finally:
            deliver(self._loop, [(self._ended, None)])

    def _serve(self) -> None:
        last = False
        while not last:
            try:
                waiting = self._queue.get(timeout=_ERASE_RETRY_SECONDS if self._wal.holds_erased else None)
            except queue.Empty:
                self._wal.truncate()
                continue
            group: list[_Waiting] = []
            size = 0
            while waiting is not None:
                group.append(waiting)
                size += len(waiting[0].events)
                if size >= _GROUP_EVENTS:
                    break
                try:
                    waiting = self._queue.get_nowait()
                except queue.Empty:
                    break
            last = waiting is None
            if group:
                deliver(self._loop, self._commit(group))
                self._heads.trim()
                self._wal.grew(size, len(group))

    def _commit(self, waiting: Sequence[_Waiting]) -> list[Outcome]:
        """What each batch of a group came to: its entries, or its error. Never raises."""
        outcomes: list[Outcome] = []
        began = time.perf_counter()
        try:
            group = Group(self._connection, self._codec, self._heads)
            self._connection.execute("BEGIN IMMEDIATE")
            for batch, future in waiting:
                outcomes.append((future, self._added(group, batch)))
            group.write()
            self._pruning.step(self._connection, group.requests, waiting[-1][0].recorded_at)
            self._commit_now(began, group.events)
        except Exception as error:
            self._roll_back()
            self.counts.failures += 1
            if len(waiting) > 1 and not is_about_the_store(error):
                # One batch holds something that SQLite refuses; its neighbours need not fail with it.
                return [outcome for alone in waiting for outcome in self._commit([alone])]
            return [(future, _failure(error)) for _, future in waiting]
        if group.erases:
            # Before the answer, so that an acknowledged purge has left the log file too.
            self._wal.erase()
        return outcomes

    def _commit_now(self, began: float, events: int) -> None:
        """The last step of a transaction that has begun then."""
        ready = time.perf_counter()
        self._connection.execute("COMMIT")
        done = time.perf_counter()
        counts = self.counts
        counts.syncs.observe(done - ready)
        counts.commits.observe(done - began)
        counts.events += events
        counts.position = self._heads.position

    def _added(self, group: Group, batch: Append) -> Sequence[Entry] | Exception:
        """The batch's entries, or the error that is its own. Raises sqlite3.Error, which is the whole group's."""
        try:
            return group.add(batch)
        except sqlite3.Error:
            raise
        except Exception as error:
            return error

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._heads.forget(self._connection)
        except sqlite3.Error:
            _logger.exception("the ledger could not roll back")


def _failure(error: Exception) -> Exception:
    if not isinstance(error, sqlite3.Error):
        return error
    failure = translated(error)
    failure.__cause__ = error
    return failure
