"""`memsidecar probe` against a health server that says what the test wants."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from memsidecar.command import main

Output = pytest.CaptureFixture[str]
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
def servicer() -> health.HealthServicer:
    return health.HealthServicer()


@pytest.fixture
def port(servicer: health.HealthServicer) -> Iterator[int]:
    server = grpc.server(ThreadPoolExecutor(2))
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    number = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield number
    server.stop(None).wait()


def test_a_sidecar_that_serves_is_0(servicer: health.HealthServicer, port: int, capsys: Output) -> None:
    servicer.set("readiness", SERVING)
    assert main(["probe", f"--health.port={port}"]) == 0
    assert capsys.readouterr().out == "SERVING\n"


def test_a_sidecar_that_does_not_serve_is_1(servicer: health.HealthServicer, port: int, capsys: Output) -> None:
    servicer.set("readiness", NOT_SERVING)
    servicer.set("liveness", SERVING)
    assert main(["probe", f"--health.port={port}"]) == 1
    assert capsys.readouterr().out == "NOT_SERVING\n"
    assert main(["probe", "--service=liveness", f"--health.port={port}"]) == 0


def test_a_service_that_there_is_not_is_a_usage_error(port: int, capsys: Output) -> None:
    assert main(["probe", "--service=livenes", f"--health.port={port}"]) == 2
    assert capsys.readouterr().err == "memsidecar: there is no service 'livenes'\n"


def test_the_port_comes_from_the_same_variable_as_the_sidecars(
    servicer: health.HealthServicer, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    servicer.set("readiness", SERVING)
    monkeypatch.setenv("MEMSIDECAR_HEALTH_PORT", str(port))
    monkeypatch.setenv("MEMSIDECAR_HEALTH_HOST", "127.0.0.1")
    assert main(["probe"]) == 0


def test_a_proxy_of_the_environment_is_not_asked(
    servicer: health.HealthServicer, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    servicer.set("readiness", SERVING)
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert main(["probe", f"--health.port={port}"]) == 0


def test_nobody_there_is_75(capsys: Output) -> None:
    assert main(["probe", "--health.port=1"]) == 75
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "memsidecar: no answer at 127.0.0.1:1\n")


def test_an_address_of_ipv6_is_asked_there(capsys: Output) -> None:
    assert main(["probe", "--health.port=1", "--health.host=::"]) == 75
    assert "no answer at [::1]:1" in capsys.readouterr().err


def test_without_a_health_port_there_is_nothing_to_ask(capsys: Output) -> None:
    assert main(["probe", "--health.port=0"]) == 2
    assert "health.port is 0" in capsys.readouterr().err
