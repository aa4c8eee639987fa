"""A directory that is being restored has all of the new content, or all of what was there before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memsidecar.adapters.data_directory import DataDirectory, Restoring
from memsidecar.domain.errors import DataDirectoryUnusable
from tests.forked import killed_at


def _fill(restoring: Restoring) -> None:
    (restoring.folder / "sessions").mkdir()
    (restoring.folder / "sessions" / "data").write_text("new")
    (restoring.folder / "ledger.db").write_text("new")
    (restoring.folder / "FORMAT").write_text("1\n")


def _restore(path: Path, set_aside: bool = False) -> Path | None:
    with DataDirectory.open(path, replace=True):
        restoring = Restoring.begin(path, set_aside)
        try:
            _fill(restoring)
            return restoring.commit()
        except BaseException:
            restoring.give_up()
            raise


def _contents(path: Path) -> dict[str, str]:
    return {
        file.relative_to(path).as_posix(): file.read_text()
        for file in path.rglob("*")
        if file.is_file() and file.name not in ("LOCK", "FORMAT")
    }


NEW = {"sessions/data": "new", "ledger.db": "new"}
OLD = {"ledger.db": "old", "ledger.db-wal": "old", "graph/graph.kuzu": "old"}


def _used(path: Path) -> Path:
    for name, text in OLD.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


@pytest.mark.parametrize("there", [(), ("LOCK", "FORMAT"), ("lost+found/",)])
def test_an_empty_directory_is_filled(tmp_path: Path, there: tuple[str, ...]) -> None:
    data = tmp_path / "data"
    for name in there:
        (data / name).mkdir(parents=True) if name.endswith("/") else data.mkdir(exist_ok=True)
    with DataDirectory.open(data):
        pass
    assert _restore(data) is None
    assert _contents(data) == NEW


def test_a_directory_in_use_is_left_alone_unless_it_is_set_aside(tmp_path: Path) -> None:
    data = _used(tmp_path / "data")
    with pytest.raises(DataDirectoryUnusable, match=r"graph, ledger.db, ledger.db-wal.*--set-aside"):
        _restore(data)
    assert _contents(data) == OLD
    aside = _restore(data, set_aside=True)
    assert aside is not None
    assert _contents(aside) == OLD
    kept = {f"{aside.name}/{name}": text for name, text in OLD.items()}
    assert _contents(data) == NEW | kept
    # Once more: both are kept.
    again = _restore(data, set_aside=True)
    assert again is not None
    assert _contents(again) == NEW
    assert _contents(aside) == OLD


@pytest.mark.parametrize("what", ["rename", "fsync"])
@pytest.mark.parametrize("used", [False, True])
def test_a_kill_at_any_moment_leaves_all_or_nothing(tmp_path: Path, what: str, used: bool) -> None:
    outcomes = set()
    for moment in range(1, 100):
        data = tmp_path / f"data{moment}"
        if used:
            _used(data)
        killed = killed_at(what, moment, lambda data=data: _restore(data, used))  # type: ignore[misc]
        # Whoever opens it next may be killed as well.
        killed_at("rename", moment % 3 + 1, lambda data=data: DataDirectory.open(data).close())  # type: ignore[misc]
        with DataDirectory.open(data):
            found = {n: t for n, t in _contents(data).items() if not n.startswith(("before-restore-", "restore-"))}
            assert found in ({}, NEW) if not used else found in (OLD, NEW)
            if used and found == NEW:
                (aside,) = data.glob("before-restore-*")
                assert _contents(aside) == OLD
            outcomes.add(bool(found == NEW))
        if not killed:
            break
        _restore(data, set_aside=True)  # and it can be done again
    assert outcomes == {False, True}
    assert moment > 3


def test_a_disk_that_fails_at_any_moment_leaves_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, outcomes = os.rename, set()
    for moment in range(1, 100):
        data, left = _used(tmp_path / f"data{moment}"), [moment]

        def rename(source: Path, target: Path, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise OSError(5, "Input/output error")
            real(source, target)

        monkeypatch.setattr(os, "rename", rename)
        try:
            _restore(data, set_aside=True)
            failed = False
        except OSError:
            failed = True
        monkeypatch.setattr(os, "rename", real)
        with DataDirectory.open(data):
            found = {n: t for n, t in _contents(data).items() if not n.startswith("before-restore-")}
        assert found in (OLD, NEW)
        outcomes.add(found == NEW)
        if not failed:
            break
    assert outcomes == {False, True}


@pytest.mark.parametrize("text", ["99\n", "x"])
def test_what_a_newer_release_left_is_set_aside_with_its_format(tmp_path: Path, text: str) -> None:
    data = _used(tmp_path / "data")
    (data / "FORMAT").write_text(text)
    with pytest.raises(DataDirectoryUnusable):
        DataDirectory.open(data)
    aside = _restore(data, set_aside=True)
    assert aside is not None
    assert (_contents(aside), (aside / "FORMAT").read_text()) == (OLD, text)
    DataDirectory.open(data).close()
