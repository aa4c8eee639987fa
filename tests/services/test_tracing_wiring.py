"""Traces, as they are configured."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from memsidecar.bootstrap.shown import of_traces
from memsidecar.bootstrap.tracing import open_tracer, traced_extractor
from memsidecar.config import Config
from memsidecar.config.tracing import Tracing
from memsidecar.domain.errors import InvalidField, ModelUnavailable
from memsidecar.ports.extraction import Turn
from tests.doubles.scripted_extractor import ScriptedExtractor
from tests.doubles.trace_collector import trace_collector


async def test_without_an_endpoint_there_is_no_tracer() -> None:
    async with AsyncExitStack() as stack:
        assert open_tracer(Config(), stack) is None


async def test_without_the_libraries_the_endpoint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("memsidecar.adapters.opentelemetry_tracing")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(InvalidField, match=r"tracing.endpoint: needs .*pip install 'memsidecar\[tracing\]'"):
        open_tracer(Config(tracing=Tracing("http://localhost:4318")), AsyncExitStack())


async def test_a_variable_that_the_sdk_cannot_read_is_an_error_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    # With the SDK loaded already, which reads others of its variables then.
    async with AsyncExitStack() as stack:
        assert open_tracer(Config(tracing=Tracing("http://localhost:4318")), stack) is not None
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "many")
    with pytest.raises(InvalidField, match="OTEL_"):
        open_tracer(Config(tracing=Tracing("http://localhost:4318")), AsyncExitStack())


def test_a_variable_that_the_sdk_reads_when_it_is_loaded_is_one_too(tmp_path: Path) -> None:
    flags = [f"--data-dir={tmp_path}", f"--listen.socket={tmp_path}/s", "--tracing.endpoint=http://localhost:4318"]
    command = [sys.executable, "-m", "memsidecar", "serve", *flags]
    environment = {**os.environ, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "many"}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert "tracing.endpoint: one of the OTEL_* variables has a value that cannot be read" in told.stderr
    assert "Traceback" not in told.stderr
    assert told.returncode != 0


async def test_spans_that_were_lost_are_a_metric() -> None:
    with trace_collector() as collector:
        collector.status = 400
        async with AsyncExitStack() as stack:
            tracer = open_tracer(Config(tracing=Tracing(collector.endpoint)), stack)
            assert tracer is not None
            for _ in range(3):
                tracer.serve("a/B", (), "r").end("OK", "", "")
    lost = {metric.name: list(metric.read()) for metric in of_traces(tracer)}
    assert lost == {"memsidecar_spans_dropped_total": [((), 3)]}
    assert [list(metric.read()) for metric in of_traces(None)] == [[((), 0)]]


async def test_what_a_model_reads_in_the_background_is_a_trace_of_its_own() -> None:
    with trace_collector() as collector:
        async with AsyncExitStack() as stack:
            tracer = open_tracer(Config(tracing=Tracing(collector.endpoint)), stack)
            assert tracer is not None
            scripted = ScriptedExtractor()
            extractor = traced_extractor(scripted, tracer)
            assert extractor.model == scripted.model
            await extractor.extract([Turn("a"), Turn("b")])
            scripted.failure = ModelUnavailable("scripted", "is away")
            with pytest.raises(ModelUnavailable):
                await extractor.extract([Turn("c")])
        first, second = collector.spans
    assert (first.name, first.parent, first.kind, first.failed) == ("extraction.extract", "", 3, False)
    assert first.attributes["memsidecar.turns"] == 2
    assert first.trace != second.trace
    assert (second.failed, second.attributes["error.type"]) == (True, "ModelUnavailable")
