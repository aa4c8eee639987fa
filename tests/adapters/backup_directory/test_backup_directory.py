"""A backup is whole, or it is none; and nothing in it can change without being noticed."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from memsidecar.adapters.backup_directory import FORMAT, BackupWriter, Manifest, StoredFile, copy_out, read_manifest
from memsidecar.adapters.backup_directory.manifest import StoredPartition, StoredVectors, write_manifest
from memsidecar.domain.errors import BackupUnusable
from tests.forked import killed_at

MANIFEST = Manifest(
    memsidecar="1.2.3",
    created="2026-11-30T10:00:00.000000Z",
    seconds=0.5,
    data_directory_format=1,
    ledger_format=1,
    entries=3,
    oldest="2026-11-29T10:00:00.000000Z",
    newest="2026-11-30T09:00:00.000000Z",
    embedding="use",
    graph_engine="kuzu",
    sessions="included",
    vectors=(StoredVectors("m", 384, 3),),
    partitions=(StoredPartition("default", "北京", 3, "ab"),),
    files=(),
)
FILES = {"ledger.db": b"ledger" * 1000, "sessions/a/data": b"sessions" * 100}


def _write(target: Path) -> Manifest:
    with BackupWriter.begin(target) as backup:
        for name, content in FILES.items():
            (backup.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (backup.folder / name).write_bytes(content)
        manifest = replace(MANIFEST, files=backup.stored())
        backup.finish(manifest)
    return manifest


def _read(source: Path, target: Path) -> Manifest:
    manifest = read_manifest(source)
    copy_out(source, manifest.files, target, lambda done, total: None)
    return manifest


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    written = _write(tmp_path / "b")
    assert _read(tmp_path / "b", tmp_path / "out") == written
    assert {name: (tmp_path / "out" / name).read_bytes() for name in FILES} == FILES
    assert [path.name for path in tmp_path.iterdir() if "b" in path.name] == ["b"]


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[random.Random(path.name).randrange(len(content))] ^= 1
    path.write_bytes(content)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _extend(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n ")


@pytest.mark.parametrize(
    ("name", "damage"),
    # White space behind JSON is none of a manifest's content.
    [
        *((name, damage) for name in FILES for damage in (_flip, _truncate, _extend, Path.unlink)),
        *(("manifest.json", damage) for damage in (_flip, _truncate, Path.unlink)),
    ],
)
def test_a_changed_file_is_refused_by_its_name(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    _write(tmp_path / "b")
    damage(tmp_path / "b" / name)
    with pytest.raises(BackupUnusable, match=name):
        _read(tmp_path / "b", tmp_path / "out")


def test_every_byte_of_the_manifest_counts(tmp_path: Path) -> None:
    _write(tmp_path / "b")
    path = tmp_path / "b" / "manifest.json"
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(BackupUnusable):
            read_manifest(tmp_path / "b")


@pytest.mark.parametrize("change", [{"entries": 4}, {"files": []}, {"created": ""}, {"sha256": "0" * 64}])
def test_an_edited_manifest_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    _write(tmp_path / "b")
    path = tmp_path / "b" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(BackupUnusable, match=r"manifest\.json is not what was written"):
        read_manifest(tmp_path / "b")


def test_a_backup_of_a_later_release_says_so(tmp_path: Path) -> None:
    write_manifest(tmp_path, replace(MANIFEST, format=FORMAT + 1))
    with pytest.raises(BackupUnusable, match="was written by a later release"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside", "a/../../b"])
def test_no_file_of_a_backup_is_outside_of_it(tmp_path: Path, path: str) -> None:
    write_manifest(tmp_path, replace(MANIFEST, files=(StoredFile(path, 1, "0"),)))
    with pytest.raises(BackupUnusable, match="is damaged"):
        read_manifest(tmp_path)


def test_what_is_there_is_not_written_over_and_a_missing_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(BackupUnusable, match="exists"):
        _write(tmp_path / "b")
    with pytest.raises(BackupUnusable, match="nowhere does not exist"):
        _write(tmp_path / "nowhere" / "b")
    assert [path.name for path in tmp_path.rglob("*")] == ["b"]


def test_two_backups_do_not_write_to_one_target(tmp_path: Path) -> None:
    with BackupWriter.begin(tmp_path / "b") as backup:
        with pytest.raises(BackupUnusable, match="being written by another"):
            _write(tmp_path / "b")
        assert backup.folder.is_dir()


def _leave_half(folder: Path) -> None:
    (folder / "ledger.db").write_bytes(b"half")
    raise ZeroDivisionError


def test_whatever_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), BackupWriter.begin(tmp_path / "b") as backup:
        _leave_half(backup.folder)
    refused = pytest.raises(BackupUnusable, match=r"cannot be written: .*nothing was left there")
    with refused, BackupWriter.begin(tmp_path / "b") as backup:
        (backup.folder / "missing" / "file").write_bytes(b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_kill_at_any_moment_leaves_a_whole_backup_or_none(tmp_path: Path, call: str) -> None:
    target, moment = tmp_path / "b", 1
    while killed_at(call, moment, lambda: _write(target)):
        if target.exists():
            break
        with pytest.raises(BackupUnusable, match="is not there"):
            read_manifest(target)
        moment += 1
    _read(target, tmp_path / "out")
    assert (tmp_path / "b.incomplete").exists() is False


def test_two_backups_of_one_name_exclude_each_other_where_only_files_are_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = fcntl.flock

    def as_nfs_does(handle: int, operation: int) -> None:
        if not fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_RDWR:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(handle, operation)

    monkeypatch.setattr(fcntl, "flock", as_nfs_does)
    target = tmp_path / "b"
    with BackupWriter.begin(target) as backup:
        (backup.folder / "ledger.db").write_bytes(b"ledger")
        with pytest.raises(BackupUnusable, match="by another backup"):
            _write(target)
        backup.finish(replace(MANIFEST, files=backup.stored()))
    assert {path.name for path in target.iterdir()} == {"ledger.db", "manifest.json"}


def test_a_backup_is_made_where_there_are_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    assert _write(tmp_path / "b") == _read(tmp_path / "b", tmp_path / "out")


def test_a_lock_of_a_backup_that_came_to_its_end_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, target = fcntl.flock, tmp_path / "b"

    def while_the_other_ends(handle: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        (tmp_path / "b.incomplete").rename(target)
        (target / "ledger.db").write_bytes(b"whole")
        (tmp_path / "b.incomplete").mkdir()
        (tmp_path / "b.incomplete" / "third").write_bytes(b"another")
        real(handle, operation)

    monkeypatch.setattr(fcntl, "flock", while_the_other_ends)
    with pytest.raises(BackupUnusable, match="by another backup"):
        _write(target)
    assert (target / "ledger.db").read_bytes() == b"whole"
    assert (tmp_path / "b.incomplete" / "third").exists()
