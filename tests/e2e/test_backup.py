"""Backups of a sidecar that is written to without a pause, and what is restored from them."""

from __future__ import annotations

import json
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from memsidecar_client import Fact, Filter, MemoryState, Memsidecar, Message, Role

from memsidecar.adapters.backup_directory import Manifest, read_manifest
from memsidecar.adapters.data_directory import DataDirectory
from memsidecar.domain.errors import BackupUnusable, DataDirectoryBusy, DataDirectoryUnusable, StoreUnusable
from memsidecar.domain.point_in_time import AtTime
from tests.e2e.backing_up import back_up, findings, restore
from tests.e2e.damage import ALTERATIONS, flip_bits, ledger_of
from tests.e2e.process import Launch, flags, run
from tests.e2e.story import tell, vector
from tests.e2e.volume import small_volume
from tests.forked import killed_at
from tests.sidecar import Sidecar


class Writer:
    """Writes memories and messages of its user, one after the other, until told to stop."""

    def __init__(self, sidecar: Sidecar, user: str) -> None:
        self.user = user
        self.facts: list[str] = []
        self.messages: list[str] = []
        self._target, self._stop = sidecar.target, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with Memsidecar(self._target, user=self.user) as client:
            session = client.session("s")
            session.create()
            number = 0
            while not self._stop.is_set():
                text = f"{self.user} fact {number}"
                made = client.remember(Fact(text), embedding=vector(text)).memories[0]
                self.facts.append(text)
                session.append([Message(Role.USER, text)])
                self.messages.append(text)
                if number % 7 == 3:
                    passing = client.remember(Fact(f"{text} passing")).memories[0]
                    client.delete_memory(passing.name, purge=True)
                    client.delete_memory(made.name)
                    client.undelete_memory(made.name)
                number += 1


def test_each_backup_made_while_others_write_is_a_prefix_with_all_that_was_acknowledged(
    launch: Launch, tmp_path: Path
) -> None:
    sidecar = launch()
    writers = [Writer(sidecar, user) for user in ("ann", "ben", "北京")]
    made: list[tuple[Manifest, Path, dict[str, tuple[int, int]]]] = []
    try:
        for number in range(4):
            enough = [len(writer.facts) + 15 for writer in writers]
            while any(len(writer.facts) < least for writer, least in zip(writers, enough, strict=True)):
                threading.Event().wait(0.01)
            before = {writer.user: (len(writer.facts), len(writer.messages)) for writer in writers}
            target = tmp_path / f"backup-{number}"
            made.append((back_up(sidecar.data_dir, target), target, before))
    finally:
        for writer in writers:
            writer.stop()
    assert sidecar.stop() == 0
    with ledger_of(sidecar.data_dir) as ledger:
        for manifest, _, _ in made:
            assert len(manifest.partitions) == 3
            for there in manifest.partitions:
                query = (
                    "SELECT hex(chain) FROM event JOIN partition p ON p.id = partition WHERE user = ? AND revision = ?"
                )
                (link,) = ledger.execute(query, (there.user, there.revision)).fetchone()
                assert link.lower() == there.head, "the chain proves all that came before"
    for _, target, before in made[1:2]:
        data = tmp_path / f"{target.name}-restored"
        restore(target, data)
        restored = launch(data=data)
        for writer in writers:
            with Memsidecar(restored.target, user=writer.user) as client:
                # Also the one that was deleted just then, and about to come back.
                any_state = Filter(states=(MemoryState.ACTIVE, MemoryState.DELETED))
                listed = client.list_memories(any_state, page_size=1000)
                texts = [m.text for m in listed if not m.text.endswith("passing")]
                assert texts == writer.facts[: len(texts)]
                messages = [message.text for message in client.session("s").messages(page_size=1000)]
                assert messages == writer.messages[: len(messages)]
                acknowledged = before[writer.user]
                assert (len(texts), len(messages)) >= acknowledged
                client.remember("It goes on", embedding=vector("on"))
                client.session("s").append([Message(Role.USER, "and on")])
        assert restored.stop() == 0
        assert findings(data) == []


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data directory of a sidecar that has ended."""
    folder = tmp_path_factory.mktemp("stopped")
    launched = Launch(folder)
    sidecar = launched()
    with Memsidecar(sidecar.target, user="ann") as client:
        tell(client)
        client.session("s").create()
    assert sidecar.stop() == 0
    yield sidecar.data_dir
    launched.close()


@contextmanager
def _refused(problem: str) -> Iterator[None]:
    with pytest.raises((BackupUnusable, DataDirectoryUnusable, StoreUnusable), match=problem):
        yield


def test_the_commands_say_what_they_did_and_refuse_what_would_do_harm(stopped: Path, tmp_path: Path) -> None:
    data, target = tmp_path / "data", tmp_path / "backup"
    shutil.copytree(stopped, data, ignore=shutil.ignore_patterns("*.sock"))
    ran = run("backup", str(target), "--json", f"--data-dir={data}", *flags())
    assert ran.code == 0, ran.err
    said = json.loads(ran.out)
    assert (said["path"], said["sessions"], said["embedding"], said["graph_engine"]) == (
        (str(target), "included", "client", "kuzu")
    )
    assert [row["user"] for row in said["partitions"]] == ["ann"]
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    inside = data / "graph" / "backup"
    for where, problem in (
        (target, "exists"),
        (Path("/"), "exists"),
        (loop, "exists"),
        (loop / "b", "symbolic links"),
        (inside, "is in the data directory"),
    ):
        with _refused(problem):
            back_up(data, where)
    for where in (target, target / "data"):
        with _refused("is in the backup itself"):
            restore(target, where, set_aside=True)
    with DataDirectory.open(data), pytest.raises(DataDirectoryBusy, match="is in use by process"):
        restore(target, data, set_aside=True)
    with _refused("is not empty"):
        restore(target, data)
    # Over a directory that was in use: only when what is there is kept.
    ran = run("restore", str(target), "--set-aside", f"--data-dir={data}", *flags())
    assert ran.code == 0, ran.err
    assert "sessions are restored" in ran.out
    (aside,) = data.glob("before-restore-*")
    assert str(aside) in ran.out
    assert {path.name for path in aside.iterdir()} >= {"ledger.db", "graph", "sessions"}
    assert findings(data) == []


@pytest.mark.parametrize("call", ["fsync", "fdatasync", "rename"])
def test_a_backup_that_is_killed_is_whole_or_is_not_there(stopped: Path, tmp_path: Path, call: str) -> None:
    target, moment = tmp_path / "backup", 1
    while killed_at(call, moment, lambda: back_up(stopped, target)) and not target.exists():
        with _refused("is not there"):
            restore(target, tmp_path / "data")
        moment += 1
    assert moment > 1
    assert not (tmp_path / "data").exists()
    restore(target, tmp_path / "data")
    assert not list(tmp_path.glob("*.incomplete"))


def test_a_restore_that_is_killed_is_whole_or_has_not_happened(stopped: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    manifest = back_up(stopped, backup)
    names = {file.path for file in manifest.files}
    outcomes = []
    for call in ("fsync", "rename"):
        for moment in range(1, 100):
            data = tmp_path / f"{call}-{moment}"
            killed = killed_at(call, moment, lambda data=data: restore(backup, data))  # type: ignore[misc]
            there = {name for name in names if (data / name).exists()}
            if not killed:
                assert there == names
                break
            # Done again: refused when it is whole, which opening it sees to, and else it succeeds.
            try:
                restore(backup, data)
            except DataDirectoryUnusable:
                outcomes.append(True)
            else:
                outcomes.append(False)
            assert all((data / name).exists() for name in names)
            assert not list(data.glob("restore-*"))
    assert set(outcomes) == {False, True}
    assert findings(data) == []


def test_a_restore_can_be_interrupted(stopped: Path, tmp_path: Path) -> None:
    back_up(stopped, tmp_path / "backup")
    # A worker of a test run in parallel ignores it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            restore(tmp_path / "backup", tmp_path / "data", progress=lambda *_: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    assert {path.name for path in (tmp_path / "data").iterdir()} == {"LOCK"}


def test_a_damaged_backup_is_refused_by_the_name_of_what_is_damaged(stopped: Path, tmp_path: Path) -> None:
    backup, data, dice = tmp_path / "backup", tmp_path / "data", random.Random(3)
    names = [file.path for file in back_up(stopped, backup).files]
    assert {"ledger.db", "accesses.db", "sessions/appendonlydir/appendonly.aof.manifest"} <= set(names)
    for name in (*names, "manifest.json"):
        copy = tmp_path / "copy"
        shutil.copytree(backup, copy)
        flip_bits(copy / name, dice)
        with _refused(name):
            restore(copy, data)
        shutil.rmtree(copy)
        # Not a trace but the lock, so that the next one may have the directory.
        assert {path.name for path in data.glob("*")} <= {"LOCK", "FORMAT"}
    restore(backup, data)


def test_a_damaged_ledger_is_not_backed_up(stopped: Path, tmp_path: Path) -> None:
    data, empty = tmp_path / "data", tmp_path / "empty"
    shutil.copytree(stopped, data)
    empty.mkdir()
    with ledger_of(data) as ledger:
        ALTERATIONS["payload"](ledger, "ann", 4)
    with _refused(r"is damaged in 1 places, the first at revision 4 of namespaces/default/users/ann"):
        back_up(data, tmp_path / "backup")
    with _refused("has no ledger.db"):
        back_up(empty, tmp_path / "backup")
    assert {path.name for path in tmp_path.iterdir()} == {"data", "empty"}
    assert not list(empty.iterdir())


def test_half_a_restore_is_not_backed_up(stopped: Path, tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup"
    back_up(stopped, backup)
    # Two renames decide, the third puts the first file in its place.
    assert killed_at("rename", 4, lambda: restore(backup, data))
    assert list(data.glob("restore-*"))
    with _refused("holds a restore that was interrupted"):
        back_up(data, tmp_path / "again")
    DataDirectory.open(data).close()
    assert back_up(data, tmp_path / "again").sessions == "included"


def test_a_format_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "data" / "FORMAT").mkdir(parents=True)
    with _refused("cannot be used: is a directory"):
        back_up(tmp_path / "data", tmp_path / "backup")


def test_sessions_of_another_server_are_not_included_and_that_is_said(stopped: Path, tmp_path: Path) -> None:
    manifest = back_up(stopped, tmp_path / "backup", url="redis://elsewhere:6379/0")
    assert manifest.sessions == "external"
    assert not (tmp_path / "backup" / "sessions").exists()


@pytest.mark.parametrize("step", ["backup", "restore", "to a moment"])
def test_a_full_disk_leaves_nothing_behind_and_is_named(stopped: Path, tmp_path: Path, step: str) -> None:
    back_up(stopped, tmp_path / "whole")
    size = sum(path.stat().st_size for path in (tmp_path / "whole").rglob("*") if path.is_file())
    with small_volume(tmp_path / "small", 16) as volume:
        work: Callable[[], object] = lambda: back_up(stopped, volume.path / "new")  # noqa: E731
        if step != "backup":
            until = AtTime(int(time.time() * 1e6)) if step == "to a moment" else None
            work = lambda: restore(tmp_path / "whole", volume.path / "new", until)  # noqa: E731
        for left in (0, size // 2, size):
            volume.fill(leave=left)
            with _refused("no space left on device"):
                work()
            assert {path.name for path in volume.path.rglob("*")} <= {"filler", "new", "LOCK", "FORMAT", "FORMAT.new"}
            assert not (volume.path / "new" / "ledger.db").exists()
            shutil.rmtree(volume.path / "new", ignore_errors=True)
            volume.free()
        work()


def test_a_read_only_copy_can_be_restored(stopped: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    back_up(stopped, backup)
    before = {path: path.stat().st_mtime_ns for path in backup.rglob("*")}
    restore(backup, tmp_path / "data")
    assert {path: path.stat().st_mtime_ns for path in backup.rglob("*")} == before
    assert read_manifest(backup).entries > 0
