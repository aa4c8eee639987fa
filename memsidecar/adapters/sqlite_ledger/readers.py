"""Threads that read, each with a connection of its own."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from memsidecar.adapters.sqlite_ledger.delivery import deliver
from memsidecar.adapters.sqlite_ledger.failures import translated
from memsidecar.adapters.sqlite_ledger.schema import open_for_reading

_T = TypeVar("_T")
_Job: TypeAlias = tuple[Callable[[sqlite3.Connection], Any], "asyncio.Future[Any]"]

# One long read must not hold up the short ones.
_THREADS = 2


class Readers:
    """Owned by the event loop that makes it; `run` and `close` are called from there only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[tuple[threading.Thread, asyncio.Future[None]]] = []
        for number in range(_THREADS):
            ended: asyncio.Future[None] = self._loop.create_future()
            thread = threading.Thread(target=self._serve, args=(ended,), name=f"ledger-reader-{number}", daemon=True)
            self._threads.append((thread, ended))
            thread.start()

    def run(self, read: Callable[[sqlite3.Connection], _T]) -> asyncio.Future[_T]:
        """The future result of `read` in one of the threads, driver errors translated."""
        future: asyncio.Future[_T] = self._loop.create_future()
        self._queue.put((read, future))
        return future

    async def close(self) -> None:
        """Returns when the reads that were asked for are answered and the threads have ended."""
        for _ in self._threads:
            self._queue.put(None)
        for thread, ended in self._threads:
            await asyncio.shield(ended)
            thread.join()

    def _serve(self, ended: asyncio.Future[None]) -> None:
        connection: sqlite3.Connection | None = None
        while (job := self._queue.get()) is not None:
            read, future = job
            if future.cancelled():
                continue
            result: Any
            try:
                if connection is None:
                    connection = open_for_reading(self._path)
                result = read(connection)
            except sqlite3.Error as error:
                result = translated(error)
                result.__cause__ = error
            except Exception as error:
                result = error
            deliver(self._loop, [(future, result)])
            del job, read, future, result  # Else an idle thread keeps the last answer alive.
        if connection is not None:
            connection.close()
        deliver(self._loop, [(ended, None)])
