"""What the words of backup and restore mean, and what is said of wrong ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memsidecar.command import main
from memsidecar.domain.point_in_time import AtRevision, AtTime, Cut, PointInTime
from memsidecar.domain.revision import revision_token
from memsidecar.domain.scope import Partition
from tests.command.conftest import FakeBootstrap

Output = pytest.CaptureFixture[str]
ANN = Partition("acme", "ann@example.com")
NAME = "--partition=namespaces/acme/users/ann@example.com"
NOON = 1_796_040_000_000_000  # 2026-11-30T12:00:00Z


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMSIDECAR_DATA_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "until"),
    [
        ([], None),
        (["--at=2026-11-30T12:00:00Z"], AtTime(NOON)),
        (["--at", "2026-11-30T20:00:00.5+08:00"], AtTime(NOON + 500_000)),
        (["--to-revision=12", NAME], AtRevision(ANN, 12)),
        (["--to-revision", revision_token(ANN, 7), NAME], AtRevision(ANN, 7, 0)),
        (["--to-revision", revision_token(ANN, 7, 5), NAME], AtRevision(ANN, 7, 5)),
        (["--to-revision=3", "--partition=namespaces/acme"], AtRevision(Partition("acme"), 3)),
    ],
)
def test_a_restore_goes_to_the_point_in_time_that_was_named(
    bootstrap: FakeBootstrap, words: list[str], until: PointInTime | None
) -> None:
    assert main(["restore", "/b", *words]) == 0
    assert bootstrap.asked == (Path("/b"), until, False)
    assert main(["restore", "/b", *words, "--set-aside"]) == 0
    assert bootstrap.asked == (Path("/b"), until, True)


@pytest.mark.parametrize(("command", "operand"), [("backup", "TARGET"), ("restore", "SOURCE")])
def test_the_usage_shows_what_is_named(command: str, operand: str, capsys: Output) -> None:
    assert main([command, "--help"]) == 0
    assert f"memsidecar {command} {operand} [-h]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["backup"], "name the directory to make"),
        (["restore"], "name the backup"),
        (["restore", "/b", "--at=yesterday"], "must be a time such as 2026-11-30T10:00:00Z"),
        (["restore", "/b", "--at=2026-11-30T10:00:00"], "must say its time zone"),
        (["restore", "/b", "--at=2026-11-30T10:00:00Z", "--to-revision=3"], "leave out --to-revision"),
        (["restore", "/b", "--to-revision=3"], "belong together"),
        (["restore", "/b", NAME], "belong together"),
        (["restore", "/b", "--to-revision=3", "--partition=ann"], "must be namespaces/NAMESPACE"),
        (["restore", "/b", "--to-revision=3", "--partition=namespaces/acme/users/"], "must be namespaces/NAMESPACE"),
        (["restore", "/b", "--to-revision=-3", NAME], "must be a number, or a token of namespaces/acme/users/ann"),
        (["restore", "/b", f"--to-revision={revision_token(Partition('acme'), 7)}", NAME], "or a token of"),
        (["restore", "/b", f"--to-revision={'9' * 5000}", NAME], "must be a number, or a token of"),
        (["restore", "/b", "--to-revison=3"], "did you mean --to-revision?"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_happens(
    bootstrap: FakeBootstrap, capsys: Output, words: list[str], problem: str
) -> None:
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert problem in line
    assert bootstrap.calls == []


def test_a_backup_of_a_directory_that_is_not_there_is_a_usage_error(
    bootstrap: FakeBootstrap, data: Path, capsys: Output
) -> None:
    assert main(["backup", "/b", f"--data-dir={data / 'typo'}"]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert bootstrap.calls == []


def test_a_home_that_nobody_has_is_a_name(bootstrap: FakeBootstrap) -> None:
    assert main(["backup", "~nobody.here/b"]) == 0
    assert main(["restore", "~nobody.here/b"]) == 0
    assert bootstrap.asked == (Path("~nobody.here/b").absolute(), None, False)


def test_it_says_what_has_come_of_it(bootstrap: FakeBootstrap, data: Path, capsys: Output) -> None:
    bootstrap.cuts = (Cut(ANN, 4, 3, ("m1",), ("m2", "m3")),)
    bootstrap.aside = data / "before-restore-1"
    assert main(["restore", "/b", "--at=2026-11-30T12:00:00Z"]) == 0
    said = capsys.readouterr().out
    for part in (
        "3 later entries of 1 partitions were left out",
        "1 memories that were purged later stay purged",
        "the vectors of 2 memories",
        f"what was there before is in {data}/before-restore-1",
        "sessions are left out",
        "has come back",
    ):
        assert part in said
    assert main(["restore", "/b", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["cuts"]
    assert row == {"partition": ANN.name, "revision": 4, "removed": 3, "purged": 1, "without_vectors": 2}
    assert main(["backup", "/b"]) == 0
    assert "they are in the server of redis.url" in capsys.readouterr().out
