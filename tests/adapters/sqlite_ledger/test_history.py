"""Of which history the revisions of a file are."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import FILE_NAME, SqliteLedger, contents, copy_ledger, renew_history


async def history_of(directory: Path) -> int:
    ledger = await SqliteLedger.open(directory, ProtobufEventCodec())
    try:
        return await ledger.history_id()
    finally:
        await ledger.close()


def files_in(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir() if path.is_file()]


async def test_each_store_has_one_of_its_own_that_stays(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    first, second = [await history_of(folder) for folder in folders]
    assert 0 not in (first, second)
    assert first != second
    assert await history_of(folders[0]) == first


async def test_a_copy_is_of_the_same_one_until_it_begins_its_own(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    first = await history_of(tmp_path / "a")
    copy = tmp_path / "copy.db"
    copy_ledger(tmp_path / "a", copy, lambda done, total: None)
    assert contents(copy).history == first
    renew_history(copy)
    assert contents(copy).history not in (0, first)
    assert files_in(tmp_path) == ["copy.db"]


async def test_a_file_of_an_early_release_has_none_until_it_is_restored(tmp_path: Path) -> None:
    await history_of(tmp_path)
    path = tmp_path / FILE_NAME
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM meta WHERE key = 'history'")
    assert await history_of(tmp_path) == 0
    assert contents(path).history == 0
    renew_history(path)
    assert await history_of(tmp_path) != 0
