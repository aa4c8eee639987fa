"""The port's face: what runs in the writer, and what in a reader."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from memsidecar.adapters.sqlite_ledger import deletions, jobs, lookups, reading, verification
from memsidecar.adapters.sqlite_ledger.counts import LedgerCounts
from memsidecar.adapters.sqlite_ledger.failures import closed
from memsidecar.adapters.sqlite_ledger.readers import Readers
from memsidecar.adapters.sqlite_ledger.schema import FILE_NAME
from memsidecar.adapters.sqlite_ledger.writer import Writer
from memsidecar.domain.events import Entry
from memsidecar.domain.job import DueItem, ItemState, StoredJob
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Append, Damage, DuePurge, EventCodec, Head, Request, StoredVectors

_T = TypeVar("_T")


class SqliteLedger:
    """Ledger and JobStore in `<directory>/ledger.db`. Belongs to the event loop that opened it.

    Whoever opens it holds the data directory's lock; a second writer would only be refused by chance.
    """

    def __init__(self, codec: EventCodec, writer: Writer, readers: Readers) -> None:
        self._codec = codec
        self._writer = writer
        self._readers = readers
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, directory: Path, codec: EventCodec) -> SqliteLedger:
        """The ledger of a directory, which must exist; an empty one is made when there is none.

        Raises NewerFormat for a file of a later release, StoreFull, StoreUnavailable. The file is left as it is then.
        """
        path = directory / FILE_NAME
        writer = Writer(path, codec)
        await writer.start()
        return cls(codec, writer, Readers(path))

    @property
    def counts(self) -> LedgerCounts:
        return self._writer.counts

    @property
    def waiting(self) -> int:
        """Batches that wait for the writer. May be asked in any thread."""
        return self._writer.waiting

    async def append(self, batch: Append) -> Sequence[Entry]:
        self._check_open()
        return await self._writer.append(batch)

    async def find_request(self, partition: Partition, request_id: str) -> Request | None:
        return await self._read(lambda db: lookups.find_request(db, partition, request_id))

    async def head(self, partition: Partition) -> Head:
        return await self._read(lambda db: reading.head(db, partition))

    async def read(self, partition: Partition, after: int, limit: int, chain: bytes | None = None) -> Sequence[Entry]:
        return await self._read(lambda db: reading.read(db, self._codec, partition, after, limit, chain))

    async def history(self, partition: Partition, memory_id: str, before: int, limit: int) -> Sequence[Entry]:
        return await self._read(lambda db: reading.history(db, self._codec, partition, memory_id, before, limit))

    async def tail(self, after: int, limit: int) -> Sequence[Entry]:
        return await self._read(lambda db: reading.tail(db, self._codec, after, limit))

    async def history_id(self) -> int:
        """Of which history its revisions are (`domain.revision`); 0 in a file of an early release."""
        return await self._read(lookups.history_id)

    async def position(self) -> int:
        return await self._read(lookups.position)

    async def vectors(self, partition: Partition, model: str) -> Sequence[StoredVectors]:
        return await self._read(lambda db: lookups.vectors(db, partition, model))

    async def vectors_of(self, partition: Partition, memory_ids: Sequence[str], model: str) -> Sequence[StoredVectors]:
        return await self._read(lambda db: lookups.vectors_of(db, partition, memory_ids, model))

    async def due_purges(self, at: int, after: DuePurge | None, limit: int) -> Sequence[DuePurge]:
        return await self._read(lambda db: deletions.due_purges(db, at, after, limit))

    async def due_items(self, each: int, limit: int) -> Sequence[DueItem]:
        return await self._read(lambda db: jobs.due_items(db, each, limit))

    async def count_items(self) -> Mapping[ItemState, int]:
        return await self._read(jobs.count_items)

    async def find_job(self, partition: Partition, job_id: str) -> StoredJob | None:
        return await self._read(lambda db: jobs.find_job(db, partition, job_id))

    async def list_jobs(self, partition: Partition, before: tuple[int, str] | None, limit: int) -> Sequence[StoredJob]:
        return await self._read(lambda db: jobs.list_jobs(db, partition, before, limit))

    async def dimensions(self, model: str) -> int | None:
        return await self._read(lambda db: lookups.dimensions(db, model))

    async def partitions(self, after: Partition | None, limit: int) -> Sequence[Partition]:
        return await self._read(lambda db: lookups.partitions(db, after, limit))

    async def verify(self, partition: Partition) -> Sequence[Damage]:
        return await self._read(lambda db: verification.verify(db, self._codec, partition))

    async def check(self) -> None:
        await self._read(lookups.check)

    async def close(self) -> None:
        """Finishes what was asked for, empties the log into the file, and ends the threads. May be called again."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        # Readers first: the writer empties the log only when nobody reads it.
        await self._readers.close()
        await self._writer.close()

    async def _read(self, read: Callable[[sqlite3.Connection], _T]) -> _T:
        self._check_open()
        return await self._readers.run(read)

    def _check_open(self) -> None:
        if self._closing is not None:
            raise closed()
