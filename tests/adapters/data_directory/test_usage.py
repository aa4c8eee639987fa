from __future__ import annotations

from pathlib import Path

import pytest

from memsidecar.adapters.data_directory import DiskUsage
from memsidecar.adapters.data_directory import usage as module

PARTS = {"ledger.db": "ledger", "graph": "graph"}


def test_files_are_added_up_by_what_they_are_part_of(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes(b"x" * 100)
    (tmp_path / "ledger.db-wal").write_bytes(b"x" * 10)
    (tmp_path / "graph" / "deep").mkdir(parents=True)
    (tmp_path / "graph" / "deep" / "file").write_bytes(b"x" * 7)
    (tmp_path / "format").write_bytes(b"x")
    # What a link leads to is not in the directory.
    (tmp_path / "loop").symlink_to(tmp_path)
    usage = DiskUsage(tmp_path, PARTS)
    link = (tmp_path / "loop").lstat().st_size
    assert usage.parts() == {"ledger": 110, "graph": 7, "other": 1 + link}
    assert 0 < usage.free() <= usage.size()


def test_the_files_are_looked_at_once_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = DiskUsage(tmp_path, PARTS)
    assert usage.parts()["ledger"] == 0
    (tmp_path / "ledger.db").write_bytes(b"x")
    assert usage.parts()["ledger"] == 0
    monkeypatch.setattr(module, "LOOK_EVERY", 0.0)
    assert usage.parts()["ledger"] == 1


def test_a_directory_that_has_gone_is_no_error(tmp_path: Path) -> None:
    usage = DiskUsage(tmp_path / "gone", PARTS)
    assert (usage.parts()["ledger"], usage.free(), usage.size()) == (0, 0, 0)
