"""How the writer shares commits, and what happens when one fails."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import SqliteLedger, schema, writer
from memsidecar.domain.errors import StoreFull, StoreUnavailable
from memsidecar.domain.events import Event
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Request, StaleRevision
from tests.contracts.ledger_samples import ANN, BEN, NOW, batch, fill, recorded

HOUR = 3600 * 1_000_000


@dataclass
class Watched:
    """A ledger with a view of its writer's connection."""

    ledger: SqliteLedger
    connection: sqlite3.Connection
    statements: list[str] = field(default_factory=list)

    @property
    def commits(self) -> int:
        return self.statements.count("COMMIT")


@pytest.fixture
async def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watched]:
    connections: list[sqlite3.Connection] = []
    statements: list[str] = []
    connect = sqlite3.connect

    def shared(*args: object, **kwargs: object) -> sqlite3.Connection:
        return connect(*args, **kwargs, check_same_thread=False)  # type: ignore[call-overload,no-any-return]

    def open_watched(path: Path) -> sqlite3.Connection:
        with monkeypatch.context() as patched:
            patched.setattr(sqlite3, "connect", shared)
            connections.append(schema.open_for_writing(path))
        connections[0].set_trace_callback(statements.append)
        return connections[0]

    monkeypatch.setattr(writer, "open_for_writing", open_watched)
    ledger = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    yield Watched(ledger, connections[0], statements)
    await ledger.close()


async def test_all_that_wait_share_one_commit(watched: Watched, tmp_path: Path) -> None:
    partitions = [Partition("acme", f"user-{number}") for number in range(20)]
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # The writer waits with the first group; the rest queues up behind it.
    appends = [
        asyncio.create_task(_append(watched.ledger, recorded("m", partition=partition), partition))
        for partition in partitions
    ]
    await asyncio.sleep(0)
    other.execute("ROLLBACK")
    other.close()
    await asyncio.gather(*appends)

    assert watched.commits <= 2
    assert len(await watched.ledger.tail(0, 100)) == 20


async def _append(ledger: SqliteLedger, event: Event, partition: Partition) -> None:
    await ledger.append(batch(0, event, partition=partition))


async def test_a_stale_batch_does_not_fail_its_neighbours(watched: Watched) -> None:
    await fill(watched.ledger, 1)

    stale, new, older = await asyncio.gather(
        watched.ledger.append(batch(0, recorded("late"))),
        watched.ledger.append(batch(0, recorded("b", partition=BEN), partition=BEN)),
        watched.ledger.append(batch(1, recorded("c"))),
        return_exceptions=True,
    )

    assert isinstance(stale, StaleRevision)
    assert not isinstance(new, BaseException)
    assert not isinstance(older, BaseException)
    assert [entry.subject for entry in await watched.ledger.read(ANN, 0, 10)] == ["m0", "c"]


async def test_a_batch_that_sqlite_refuses_does_not_fail_its_neighbours(watched: Watched) -> None:
    refused = Request("r", b"d", "not bytes")  # type: ignore[arg-type]

    bad, good = await asyncio.gather(
        watched.ledger.append(batch(0, recorded("a"), requests=[refused])),
        watched.ledger.append(batch(0, recorded("b", partition=BEN), partition=BEN)),
        return_exceptions=True,
    )

    assert isinstance(bad, StoreUnavailable)
    assert not isinstance(good, BaseException)
    assert (await watched.ledger.head(ANN)).revision == 0
    assert [entry.position for entry in await watched.ledger.tail(0, 10)] == [1]


async def test_a_full_disk_is_reported_and_the_ledger_goes_on_once_there_is_space(watched: Watched) -> None:
    await fill(watched.ledger, 3)
    (pages,) = watched.connection.execute("PRAGMA page_count").fetchone()
    watched.connection.execute(f"PRAGMA max_page_count = {pages}")
    big = recorded("big", "x" * 100_000)

    results = await asyncio.gather(
        watched.ledger.append(batch(3, big)),
        watched.ledger.append(batch(0, recorded("b", partition=BEN), partition=BEN)),
        return_exceptions=True,
    )

    assert isinstance(results[0], StoreFull)
    assert (await watched.ledger.head(ANN)).revision == 3
    assert [entry.subject for entry in await watched.ledger.read(ANN, 0, 10)] == ["m0", "m1", "m2"]

    watched.connection.execute("PRAGMA max_page_count = 1000000")
    (entry,) = await watched.ledger.append(batch(3, big))
    assert entry.revision == 4
    assert list(await watched.ledger.verify(ANN)) == []


async def test_a_lock_that_does_not_go_away_is_unavailable(watched: Watched, tmp_path: Path) -> None:
    watched.connection.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreUnavailable, match="locked by another program"):
        await watched.ledger.append(batch(0, recorded("a")))
    other.execute("ROLLBACK")
    other.close()

    assert len(await watched.ledger.append(batch(0, recorded("a")))) == 1


async def test_requests_are_forgotten_after_a_day_and_not_before(watched: Watched) -> None:
    def requests(prefix: str, count: int) -> list[Request]:
        return [Request(f"{prefix}{number:04}", b"d", b"a") for number in range(count)]

    await watched.ledger.append(batch(0, requests=requests("old", 500)))
    await watched.ledger.append(batch(0, requests=requests("day", 10), recorded_at=NOW + 2 * HOUR))
    await watched.ledger.append(batch(0, requests=requests("new", 900), recorded_at=NOW + 26 * HOUR - 1))

    (left,) = watched.connection.execute("SELECT count(*) FROM request WHERE request_id LIKE 'old%'").fetchone()
    assert left == 0
    assert await watched.ledger.find_request(ANN, "day0003") is not None
    assert await watched.ledger.find_request(ANN, "new0003") is not None


async def test_the_log_does_not_grow_without_end(watched: Watched, tmp_path: Path) -> None:
    text = "x" * 20_000
    for number in range(400):
        await watched.ledger.append(batch(number, recorded(f"m{number}", text)))

    assert (tmp_path / "ledger.db-wal").stat().st_size < 40 << 20


async def test_closing_ends_the_threads_and_empties_the_log(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    ledger = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    await fill(ledger, 3)
    assert len(set(threading.enumerate()) - before) == 3

    await ledger.close()

    assert set(threading.enumerate()) == before
    assert files(tmp_path) == ["ledger.db"]


def files(directory: Path) -> list[str]:
    return [file.name for file in directory.iterdir()]
