"""After a purge is acknowledged, the text and the vectors are in none of the files."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import sqlite3
from pathlib import Path

import numpy as np

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.domain.events import Event, MemoryPurged, Vectors
from tests.contracts.ledger_samples import ANN, MODEL, batch, recorded, vectors


def on_disk(directory: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(directory.iterdir()) if file.is_file())


def marked(number: int, count: int, dimensions: int) -> Vectors:
    """Vectors whose bytes are a text that can be searched for."""
    size = 4 * count * dimensions
    text = (f"<vector-{number}>".encode() * size)[:size]
    return Vectors(MODEL, np.frombuffer(text, dtype=np.float32).reshape(count, dimensions))


async def test_a_purge_takes_the_bytes_out_of_the_file_and_its_log(ledger: SqliteLedger, tmp_path: Path) -> None:
    gone, stays = vectors(1, dimensions=384), vectors(2, dimensions=384)
    await ledger.append(batch(0, recorded("a", "the canary sings", gone), recorded("b", "the owl sleeps", stays)))
    assert b"the canary sings" in on_disk(tmp_path)
    assert gone.rows.tobytes() in on_disk(tmp_path)

    await ledger.append(batch(2, MemoryPurged("a")))

    content = on_disk(tmp_path)
    assert b"the canary sings" not in content
    assert gone.rows.tobytes()[:64] not in content
    assert b"the owl sleeps" in content
    assert stays.rows.tobytes() in content


async def test_vectors_that_were_replaced_go_with_the_purge(ledger: SqliteLedger, tmp_path: Path) -> None:
    old, new = vectors(1, count=9, dimensions=384), vectors(2, dimensions=384)
    await ledger.append(batch(0, recorded("a", brought=old)))
    await ledger.append(batch(1, recorded("a", brought=new)))
    await ledger.append(batch(2, MemoryPurged("a")))

    content = on_disk(tmp_path)
    assert all(row.tobytes()[:64] not in content for row in [*old.rows, *new.rows])


async def test_what_a_reader_kept_in_the_log_is_gone_after_the_next_start(ledger: SqliteLedger, tmp_path: Path) -> None:
    await ledger.append(batch(0, recorded("a", "the canary sings")))
    reader = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM event").fetchone() == (1,)

    await ledger.append(batch(1, MemoryPurged("a")))

    # As if the machine had stopped now.
    copy = shutil.copytree(tmp_path, tmp_path / "copy")
    reader.close()
    assert b"the canary sings" in on_disk(copy)
    again = await SqliteLedger.open(copy, ProtobufEventCodec())
    try:
        assert b"the canary sings" not in on_disk(copy)
        assert [entry.event for entry in await again.read(ANN, 0, 10)] == [None, MemoryPurged("a")]
    finally:
        await again.close()


async def test_what_a_reader_kept_in_the_log_is_gone_soon_after_it_ends(ledger: SqliteLedger, tmp_path: Path) -> None:
    await ledger.append(batch(0, recorded("a", "the canary sings")))
    reader = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM event").fetchone()
    await ledger.append(batch(1, MemoryPurged("a")))
    reader.close()

    async with asyncio.timeout(10):
        while b"the canary sings" in on_disk(tmp_path):  # noqa: ASYNC110 - a file tells nobody that it has changed
            await asyncio.sleep(0.02)


async def test_nothing_is_left_whatever_was_written_and_purged_before(ledger: SqliteLedger, tmp_path: Path) -> None:
    # Rows that shrink make SQLite move their neighbours to other pages; no copy may stay behind.
    choice = random.Random(6)
    revision = 0
    live: set[int] = set()
    for _ in range(100):
        events: list[Event] = []
        if choice.random() < 0.6 or not live:
            for number in choice.sample(range(400), choice.randrange(1, 20)):
                # In the page and on overflow pages; sometimes of the same size as before, sometimes not.
                text = f"<secret-{number}>" * choice.choice([1, 5, 50, 400, 3000])
                brought = marked(number, choice.randrange(1, 6), choice.choice([16, 384]))
                events.append(recorded(f"m{number}", text, brought if choice.random() < 0.7 else None))
                live.add(number)
        else:
            for number in choice.sample(sorted(live), min(len(live), choice.choice([1, 3, 10]))):
                events.append(MemoryPurged(f"m{number}"))
                live.remove(number)
        await ledger.append(batch(revision, *events))
        revision += len(events)
        if isinstance(events[0], MemoryPurged):
            found = re.findall(rb"<(?:secret|vector)-(\d+)>", on_disk(tmp_path))
            assert {int(number) for number in found} == live

    assert list(await ledger.verify(ANN)) == []


async def test_a_reader_that_stays_holds_up_the_first_purge_only(ledger: SqliteLedger, tmp_path: Path) -> None:
    """Such as a backup: each try to empty the log stops all writes for as long as it waits."""
    await ledger.append(batch(0, *(recorded(f"m{number}") for number in range(20))))
    reader = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM event").fetchone() == (20,)
    began = asyncio.get_running_loop().time()
    for number in range(20):
        await ledger.append(batch(20 + number, MemoryPurged(f"m{number}")))
    took = asyncio.get_running_loop().time() - began
    reader.close()
    assert took < 20 * 0.25 / 2
