"""What is not this release's ledger is refused by name and left as it is."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import NewerFormat, SqliteLedger
from memsidecar.domain.errors import StoreUnavailable, StoreUnusable
from memsidecar.domain.events import Change, MemoryRecorded
from memsidecar.domain.memory import State
from memsidecar.ports.ledger import DuePurge
from tests.adapters.sqlite_ledger.conftest import Tamper
from tests.contracts.ledger_samples import ANN, batch, fill, recorded


async def test_a_file_of_a_later_release_is_refused(tmp_path: Path, tamper: Tamper) -> None:
    ledger = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    await fill(ledger, 1)
    await ledger.close()
    tamper("UPDATE meta SET value = 99 WHERE key = 'format'")
    before, threads = (tmp_path / "ledger.db").read_bytes(), set(threading.enumerate())

    with pytest.raises(NewerFormat, match="format 99"):
        await SqliteLedger.open(tmp_path, ProtobufEventCodec())

    assert (tmp_path / "ledger.db").read_bytes() == before
    assert set(threading.enumerate()) == threads


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    content = b"a diary, not a ledger\n" * 1000
    (tmp_path / "ledger.db").write_bytes(content)

    with pytest.raises(StoreUnusable) as refused:
        await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    for said in (str(tmp_path / "ledger.db"), "was left as it is", "newest backup"):
        assert said in str(refused.value)

    assert (tmp_path / "ledger.db").read_bytes() == content


async def test_a_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        await SqliteLedger.open(tmp_path / "missing", ProtobufEventCodec())


async def test_an_opening_that_was_given_up_leaves_no_thread(tmp_path: Path) -> None:
    threads = set(threading.enumerate())
    opening = asyncio.create_task(SqliteLedger.open(tmp_path, ProtobufEventCodec()))
    await asyncio.sleep(0)
    opening.cancel()

    with pytest.raises(asyncio.CancelledError):
        await opening

    assert set(threading.enumerate()) == threads


async def test_a_file_that_is_damaged_inside_is_refused_with_its_path(tmp_path: Path) -> None:
    ledger = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    await fill(ledger, 3)
    await ledger.close()
    path = tmp_path / "ledger.db"
    content = bytearray(path.read_bytes())
    for page in range(1, len(content) // 16_384):
        content[page * 16_384 : page * 16_384 + 2_000] = b"\xff" * 2_000
    path.write_bytes(content)

    with pytest.raises(StoreUnusable, match="is damaged inside") as refused:
        await SqliteLedger.open(tmp_path, ProtobufEventCodec())

    assert str(path) in str(refused.value)
    assert path.read_bytes() == bytes(content)


async def test_a_file_without_the_table_of_deletions_gets_it_from_its_events(tmp_path: Path, tamper: Tamper) -> None:
    ledger = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    await fill(ledger, 3)
    gone = [
        MemoryRecorded(Change.DELETED, replace(recorded(i).memory, state=State.DELETED, purge_at=10), None)
        for i in ("m0", "m1")
    ]
    back = MemoryRecorded(Change.UNDELETED, recorded("m1").memory, None)
    await ledger.append(batch(3, *gone, back))
    await ledger.close()
    tamper("DROP TABLE deletion")
    ledger = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    assert await ledger.due_purges(10, None, 10) == [DuePurge(ANN, "m0")]
    await ledger.close()
