from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from memsidecar.adapters.opentelemetry_tracing import OpenTelemetryTracer, TracingSettings
from memsidecar.adapters.opentelemetry_tracing.export import BATCH, QUEUE
from tests.doubles.trace_collector import TraceCollector, trace_collector


class Hanging(SpanExporter):
    """Takes a batch and does not come back until it is shut down."""

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.asked, self.over = threading.Event(), threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.taken.append(len(spans))
        self.asked.set()
        self.over.wait()
        return SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self.over.set()


@pytest.fixture
def collector() -> Iterator[TraceCollector]:
    with trace_collector() as collector:
        yield collector


def make(tracer: OpenTelemetryTracer, count: int) -> None:
    for _ in range(count):
        with tracer.span("work"):
            pass


async def test_what_is_left_is_sent_at_the_end(collector: TraceCollector) -> None:
    settings = TracingSettings(
        f"{collector.endpoint}/v1/traces", {"authorization": "Bearer k"}, resource={"service.name": "mine"}
    )
    tracer = OpenTelemetryTracer(settings)
    make(tracer, BATCH + 3)
    await tracer.close(5.0)
    assert (len(collector.spans), tracer.dropped) == (BATCH + 3, 0)
    assert {span.resource["service.name"] for span in collector.spans} == {"mine"}
    assert {headers["authorization"] for headers in collector.headers} == {"Bearer k"}


@pytest.mark.parametrize("is_there", [True, False])
async def test_what_could_not_be_sent_does_not_wait_for_the_garbage_collector(
    collector: TraceCollector, is_there: bool
) -> None:
    collector.status = 400
    tracer = OpenTelemetryTracer(TracingSettings(collector.endpoint if is_there else "http://127.0.0.1:1", timeout=0.3))
    gc.collect()
    gc.disable()
    try:
        make(tracer, 10)
        await tracer.close(5.0)
        assert [each for each in gc.get_objects() if type(each) is ReadableSpan] == []
        assert tracer.dropped == 10
    finally:
        gc.enable()


async def test_while_the_collector_hangs_nobody_waits_and_what_does_not_fit_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    exporter = Hanging()
    tracer = OpenTelemetryTracer(TracingSettings("http://nowhere"), exporter)
    make(tracer, BATCH)
    assert exporter.asked.wait(10)
    make(tracer, QUEUE + 7)
    assert tracer.dropped == 7
    began = time.monotonic()
    with caplog.at_level(logging.WARNING):
        await tracer.close(0.2)
    assert time.monotonic() - began < 2.0
    assert exporter.taken[0] == BATCH
    assert "spans were not sent" in caplog.text


async def test_a_collector_that_refuses_is_told_of_once_and_asked_again(
    collector: TraceCollector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.status = 400
    tracer = OpenTelemetryTracer(TracingSettings(f"{collector.endpoint}/v1/traces"))
    with caplog.at_level(logging.WARNING):
        for sent in range(2):
            make(tracer, 1)
            await asyncio.to_thread(collector.wait_for_requests, sent + 1)
        collector.status = 200
        make(tracer, 1)
        await tracer.close(5.0)
    assert (len(collector.spans), tracer.dropped) == (1, 2)
    complaints = [record.message for record in caplog.records]
    assert complaints.count("the collector of traces does not take them") == 1
    assert all(record.name.startswith("memsidecar.") for record in caplog.records), complaints
