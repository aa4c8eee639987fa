from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from memsidecar.adapters.partition_snapshots import SnapshotFiles
from memsidecar.domain.errors import StoreFull, StoreUnavailable
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Head
from memsidecar.ports.snapshots import Arrays

ANN, BEN = Partition("acme", "ann"), Partition("acme", "x" * 256)
ARRAYS: Arrays = {"a": np.arange(5), "b": np.zeros(0, np.float32), "c.d": np.frombuffer(b"text", np.uint8)}
HEAD = Head(7, b"\x01\x02")


@pytest.fixture
def snapshots(tmp_path: Path) -> SnapshotFiles:
    return SnapshotFiles(tmp_path / "resident")


def records(tmp_path: Path) -> Path:
    (path,) = tmp_path.rglob("records")
    return path


async def test_what_is_saved_is_loaded(snapshots: SnapshotFiles) -> None:
    for who in (ANN, BEN):
        assert await snapshots.load(who) is None
        await snapshots.save(who, HEAD, ARRAYS)
        found = await snapshots.load(who)
        assert found is not None
        assert found[0] == HEAD
        assert {name: array.tolist() for name, array in found[1].items()} == {n: a.tolist() for n, a in ARRAYS.items()}


async def test_the_newest_replaces_the_one_before(snapshots: SnapshotFiles, tmp_path: Path) -> None:
    await snapshots.save(ANN, HEAD, ARRAYS)
    await snapshots.save(ANN, Head(8, b"\x03"), {"a": np.arange(2)})
    found = await snapshots.load(ANN)
    assert found is not None
    assert (found[0].revision, list(found[1])) == (8, ["a"])
    assert [path.name for path in records(tmp_path).parent.iterdir()] == ["records"]


async def test_one_that_is_not_intact_is_not_used(snapshots: SnapshotFiles, tmp_path: Path) -> None:
    await snapshots.save(ANN, HEAD, ARRAYS)
    path = records(tmp_path)
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        assert await snapshots.load(ANN) is None, position
    for end in (0, 1, 20, len(whole) - 1):
        path.write_bytes(whole[:end])
        assert await snapshots.load(ANN) is None


async def test_another_partitions_file_is_not_used(snapshots: SnapshotFiles, tmp_path: Path) -> None:
    await snapshots.save(ANN, HEAD, ARRAYS)
    path = records(tmp_path)
    target = snapshots.vectors_folder(BEN).parent
    target.mkdir()
    path.rename(target / "records")
    assert await snapshots.load(BEN) is None


async def test_dropping_takes_the_vectors_along(snapshots: SnapshotFiles) -> None:
    await snapshots.save(ANN, HEAD, ARRAYS)
    folder = snapshots.vectors_folder(ANN)
    folder.mkdir()
    (folder / "file").write_text("x")
    await snapshots.drop(ANN)
    assert not folder.exists()
    assert await snapshots.load(ANN) is None
    await snapshots.drop(ANN)


@pytest.mark.parametrize(("number", "error"), [(errno.ENOSPC, StoreFull), (errno.EIO, StoreUnavailable)])
async def test_a_disk_that_fails_keeps_the_one_before(
    snapshots: SnapshotFiles, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception]
) -> None:
    await snapshots.save(ANN, HEAD, ARRAYS)

    def fails(_: int) -> None:
        raise OSError(number, "the disk")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(error):
        await snapshots.save(ANN, Head(9, b""), ARRAYS)
    monkeypatch.undo()
    found = await snapshots.load(ANN)
    assert found is not None
    assert found[0] == HEAD
