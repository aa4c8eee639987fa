from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memsidecar.adapters.data_directory import FORMAT, DataDirectory, owner_of
from memsidecar.domain.errors import DataDirectoryBusy, DataDirectoryUnusable

OWNER = """
import sys
from pathlib import Path
from memsidecar.adapters.data_directory import DataDirectory
with DataDirectory.open(Path(sys.argv[1])):
    print("open", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that owns the directory until its standard input closes."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def test_a_missing_directory_is_created_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    with DataDirectory.open(path) as directory:
        assert directory.path == path
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert (path / "FORMAT").read_text() == f"{FORMAT}\n"


def test_a_second_process_is_refused_and_told_who_owns_it(tmp_path: Path) -> None:
    with another_process(tmp_path) as owner:
        with pytest.raises(DataDirectoryBusy, match=f"process {owner.pid} on .* running since 20"):
            DataDirectory.open(tmp_path)
        assert f"process {owner.pid} " in (owner_of(tmp_path) or "")


def test_a_refused_process_harms_nothing(tmp_path: Path) -> None:
    with another_process(tmp_path):
        before = (tmp_path / "LOCK").read_bytes()
        with pytest.raises(DataDirectoryBusy):
            DataDirectory.open(tmp_path)
        assert (tmp_path / "LOCK").read_bytes() == before
        with pytest.raises(DataDirectoryBusy):  # the first refusal did not free it
            DataDirectory.open(tmp_path)


def test_a_second_opening_in_the_same_process_is_refused(tmp_path: Path) -> None:
    with DataDirectory.open(tmp_path), pytest.raises(DataDirectoryBusy, match=f"process {os.getpid()} "):
        DataDirectory.open(tmp_path)


def test_closing_frees_it_and_may_be_repeated(tmp_path: Path) -> None:
    first = DataDirectory.open(tmp_path)
    first.close()
    first.close()
    with DataDirectory.open(tmp_path):
        assert owner_of(tmp_path) is not None
    assert owner_of(tmp_path) is None


def test_the_kernel_frees_it_when_the_owner_is_killed(tmp_path: Path) -> None:
    with another_process(tmp_path) as owner:
        owner.send_signal(signal.SIGKILL)
        assert owner.wait() == -signal.SIGKILL
        with DataDirectory.open(tmp_path):
            assert f"process {os.getpid()} " in (owner_of(tmp_path) or "")


def test_a_child_process_does_not_keep_it_after_its_parent_closed_it(tmp_path: Path) -> None:
    directory = DataDirectory.open(tmp_path)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False) as child:
        directory.close()
        with DataDirectory.open(tmp_path):
            pass
        child.kill()


def test_a_directory_of_a_newer_release_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text(f"{FORMAT + 1}\n")
    with pytest.raises(DataDirectoryUnusable, match=f"newer release \\(format {FORMAT + 1}; .* up to {FORMAT}\\)"):
        DataDirectory.open(tmp_path)
    assert (tmp_path / "FORMAT").read_text() == f"{FORMAT + 1}\n"
    assert owner_of(tmp_path) is None


@pytest.mark.parametrize("content", ["", "one", "-1", "²", "\x00"])
def test_a_damaged_format_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "FORMAT").write_text(content)
    with pytest.raises(DataDirectoryUnusable, match="damaged FORMAT file"):
        DataDirectory.open(tmp_path)


def test_a_place_that_cannot_be_written_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, reason in ((tmp_path / "file", "file exists"), (tmp_path / "file" / "x", "not a directory")):
        with pytest.raises(DataDirectoryUnusable, match=f"cannot be used: {reason}"):
            DataDirectory.open(path)


def test_a_lock_that_is_a_link_to_elsewhere_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("keep me")
    data = tmp_path / "data"
    data.mkdir()
    (data / "LOCK").symlink_to(target)
    with pytest.raises(DataDirectoryUnusable):
        DataDirectory.open(data)
    assert target.read_text() == "keep me"


def test_nobody_owns_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    assert owner_of(tmp_path / "none") is None
    assert list(tmp_path.iterdir()) == []
