"""Whether a collector takes traces, against a real one and none."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from memsidecar.command.checks import traces
from memsidecar.command.checks.outcome import ok
from memsidecar.config import Config
from memsidecar.config.tracing import Tracing
from tests.doubles.trace_collector import TraceCollector, trace_collector


@pytest.fixture
def collector() -> Iterator[TraceCollector]:
    with trace_collector() as collector:
        yield collector


def asking(endpoint: str) -> Config:
    return Config(tracing=Tracing(endpoint=endpoint, headers="authorization=Bearer%20k", timeout=5.0))


def test_without_an_endpoint_nobody_is_asked() -> None:
    assert traces.collector(Config()) == ok("tracing.endpoint is empty: no traces")


def test_a_collector_is_asked_as_the_process_asks_it(collector: TraceCollector) -> None:
    assert traces.collector(asking(collector.endpoint)) == ok("the collector takes traces")
    assert collector.headers[0]["Authorization"] == "Bearer k"
    assert collector.spans == []


@pytest.mark.parametrize(("status", "fix"), [(401, "tracing.headers_file"), (404, "/v1/traces"), (500, "its log")])
def test_a_collector_that_refuses_is_a_warning(collector: TraceCollector, status: int, fix: str) -> None:
    collector.status = status
    outcome = traces.collector(asking(collector.endpoint))
    assert (outcome.status, outcome.found) == ("warn", f"the collector answers {status}")
    assert fix in outcome.fix


def test_a_collector_that_is_away_is_a_warning() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and not listening
        outcome = traces.collector(asking(f"http://127.0.0.1:{bound.getsockname()[1]}"))
    assert (outcome.status, outcome.found) == ("warn", "the collector does not answer (URLError)")
    assert "4318" in outcome.fix


def test_the_libraries_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "find_spec", lambda name: None)
    outcome = traces.collector(asking("http://localhost:4318"))
    assert (outcome.status, outcome.fix) == ("fail", "pip install 'memsidecar[tracing]'")


def test_an_address_with_a_path_is_used_as_it_is(collector: TraceCollector) -> None:
    config = asking(f"{collector.endpoint}/elsewhere")
    assert config.tracing.url.endswith("/elsewhere")
    assert traces.collector(config).status == "ok"
