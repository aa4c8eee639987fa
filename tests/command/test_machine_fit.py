"""What a start would stumble over on this machine, told before it begins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memsidecar.command import main
from memsidecar.command.machine_fit import misfits
from memsidecar.command.settings import load
from memsidecar.domain.errors import InvalidField
from tests.command.conftest import FakeBootstrap

Output = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("listen.socket", "{tmp}/none/s", "the directory of {tmp}/none/s does not exist"),
        ("listen.socket", "{tmp}/file", "{tmp}/file exists and is not a socket"),
        ("listen.socket", "{tmp}", "{tmp} exists and is not a socket"),
        ("listen.socket-group", "no such group", "there is no group no such group"),
        ("redis.ca-file", "{tmp}/none", "{tmp}/none cannot be read: No such file or directory"),
        ("redis.ca-file", "{tmp}/file", "{tmp}/file holds no certificate in PEM form"),
    ],
)
def test_it_is_one_line_with_its_setting_and_nothing_was_loaded(
    key: str, value: str, message: str, bootstrap: FakeBootstrap, tmp_path: Path, capsys: Output
) -> None:
    (tmp_path / "file").write_text("precious")
    flags = [f"--data-dir={tmp_path / 'data'}", f"--{key}={value.format(tmp=tmp_path)}"]
    assert main(["serve", *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"memsidecar: {key.replace('-', '_')}: {message.format(tmp=tmp_path)}")
    assert line.endswith(f"(flag --{key})")
    assert bootstrap.calls == []
    assert (tmp_path / "file").read_text() == "precious"
    # A pod's configuration can be looked at where it will not run.
    assert main(["config", *flags]) == 0


def test_a_directory_that_cannot_be_written_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # root may write everywhere
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    config = load({"listen.socket": str(tmp_path / "s"), "data_dir": "/d"}, {}).config
    ((key, problem),) = misfits(config)
    assert (key, "not writable" in problem) == ("listen.socket", True)


def test_a_data_directory_that_is_still_to_be_made_is_none(tmp_path: Path) -> None:
    assert not list(misfits(load({"data_dir": str(tmp_path / "data")}, {}).config))


def test_a_setting_that_only_a_library_finds_wrong_is_one_of_configuration(
    bootstrap: FakeBootstrap, capsys: Output
) -> None:
    def fail() -> None:
        raise InvalidField("redis.url", "is not a valid address (host h)")

    bootstrap.before_return = fail
    assert main(["serve", "--redis.url=redis://h?what=1"]) == 2
    assert capsys.readouterr().err == "memsidecar: redis.url: is not a valid address (host h) (flag --redis.url)\n"


def test_what_is_wrong_with_a_request_is_not_one_of_configuration(bootstrap: FakeBootstrap) -> None:
    def fail() -> None:
        raise InvalidField("at", "is before the first entry")

    bootstrap.before_return = fail
    assert main(["serve"]) == 1
