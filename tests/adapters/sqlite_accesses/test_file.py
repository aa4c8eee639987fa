from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from memsidecar.adapters.sqlite_accesses import FILE_NAME, SqliteAccesses
from memsidecar.domain.errors import StoreUnavailable
from memsidecar.domain.scope import Partition
from memsidecar.domain.usage import Access

ANN = Partition("acme", "ann-the-secret-user")


async def test_nothing_of_an_erased_partition_can_be_read(tmp_path: Path) -> None:
    store = await SqliteAccesses.open(tmp_path)
    await store.add({ANN: {"secret-memory": Access(1, 1)}})
    await store.erase(ANN)
    assert b"secret" not in _bytes_in(tmp_path)
    await store.close()


def _bytes_in(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in directory.iterdir())


async def test_a_batch_that_fails_changes_nothing(tmp_path: Path) -> None:
    store = await SqliteAccesses.open(tmp_path)
    await store.add({ANN: {"a": Access(1, 1)}})
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as other:
        other.execute(
            "CREATE TRIGGER no BEFORE INSERT ON access WHEN NEW.memory = 'b' BEGIN SELECT raise(ABORT, 'x'); END"
        )
        with pytest.raises(StoreUnavailable):
            await store.add({ANN: {"a": Access(1, 1), "b": Access(1, 1)}})
        other.execute("DROP TRIGGER no")
    assert await store.load(ANN) == {"a": Access(1, 1)}
    await store.add({ANN: {"b": Access(1, 1)}})
    await store.close()


async def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreUnavailable, match="damaged"):
        await SqliteAccesses.open(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == b"not a database" * 1000


async def test_a_file_of_a_later_release_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as later:
        later.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreUnavailable, match="later release"):
        await SqliteAccesses.open(tmp_path)
