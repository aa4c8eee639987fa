"""What the client tells of its calls to an application that traces, and that it costs others nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grpc
import pytest
from memsidecar_client import AsyncMemsidecar, Memsidecar, NotFound
from memsidecar_client.v1.memory_service_pb2 import RememberResponse
from memsidecar_client.v1.watch_pb2 import WatchMemoriesResponse
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags, use_span

from tests.clients.python.fake_sidecar import Failure, FakeSidecar, made

ROOT = Path(__file__).parents[3]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return kept


def header(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-{int(span.context.trace_flags):02x}"


def sent(fake: FakeSidecar, method: str) -> list[object]:
    return [call.metadata.get("traceparent") for call in fake.calls[method]]


async def test_a_call_is_a_span_below_the_current_one_and_the_server_is_told(
    fake: FakeSidecar, client: AsyncMemsidecar, spans: InMemorySpanExporter
) -> None:
    with trace.get_tracer("agent").start_as_current_span("agent") as around:
        await client.server_info()
    own, _ = spans.get_finished_spans()
    assert (own.name, own.kind) == ("memsidecar.v1.InfoService/GetServerInfo", SpanKind.CLIENT)
    assert own.attributes == {
        "rpc.system": "grpc",
        "rpc.service": "memsidecar.v1.InfoService",
        "rpc.method": "GetServerInfo",
        "rpc.grpc.status_code": 0,
    }
    assert own.parent is not None
    assert own.parent.span_id == around.get_span_context().span_id
    assert sent(fake, "GetServerInfo") == [header(own)]


async def test_a_failure_is_told_by_its_code_alone(
    fake: FakeSidecar, client: AsyncMemsidecar, spans: InMemorySpanExporter
) -> None:
    fake.failures["GetMemory"].append(Failure(grpc.StatusCode.NOT_FOUND, "what Ann said"))
    with pytest.raises(NotFound):
        await client.get_memory("m")
    (own,) = spans.get_finished_spans()
    assert own.status.status_code is StatusCode.ERROR
    assert (own.status.description, own.events) == (None, ())
    assert own.attributes is not None
    assert (own.attributes["rpc.grpc.status_code"], own.attributes["error.type"]) == (5, "NOT_FOUND")


async def test_a_retry_by_grpc_is_the_same_span(
    fake: FakeSidecar, client: AsyncMemsidecar, spans: InMemorySpanExporter
) -> None:
    fake.failures["Remember"].append(Failure(grpc.StatusCode.UNAVAILABLE))
    fake.answers["Remember"] = made(RememberResponse, outcomes=[{"memory": {"name": "m"}}])
    await client.remember("Ann moved to Porto.")
    (own,) = spans.get_finished_spans()
    assert sent(fake, "Remember") == [header(own)] * 2
    assert own.status.status_code is StatusCode.UNSET


async def test_each_stream_is_a_span_until_its_end(
    fake: FakeSidecar, client: AsyncMemsidecar, spans: InMemorySpanExporter
) -> None:
    with trace.get_tracer("agent").start_as_current_span("agent") as around:
        async with client.recall_stream("q") as events:
            assert [event async for event in events] == []
        async with client.remember_stream() as stream:
            await stream.send(["a"])
        async with client.generation() as generation:
            await generation.feed("One. ")
            assert len(spans.get_finished_spans()) == 2
            await generation.finish()
    *streams, _ = spans.get_finished_spans()
    names = ["Recall", "StreamRemember", "RecallDuring"]
    assert [span.name.rpartition("/")[2] for span in streams] == names
    assert [sent(fake, name) for name in names] == [[header(span)] for span in streams]
    trace_id = around.get_span_context().trace_id
    assert {span.context.trace_id for span in streams if span.context} == {trace_id}
    assert {span.status.status_code for span in streams} == {StatusCode.UNSET}


async def test_a_watch_that_goes_on_after_a_break_has_a_span_for_each_call(
    fake: FakeSidecar, client: AsyncMemsidecar, spans: InMemorySpanExporter
) -> None:
    begun = made(WatchMemoriesResponse, revision={"token": "r1"}, heartbeat={"caught_up": True})
    fake.watches.extend([[begun, Failure(grpc.StatusCode.UNAVAILABLE)], [begun]])
    with trace.get_tracer("agent").start_as_current_span("agent"):
        async with client.watch_memories() as changes:
            while len(fake.calls["WatchMemories"]) < 2:
                await anext(changes)
    *watches, _ = spans.get_finished_spans()
    assert sent(fake, "WatchMemories") == [header(span) for span in watches]
    # The second was left by the application, which is no failure.
    assert [span.status.status_code for span in watches] == [StatusCode.ERROR, StatusCode.UNSET]


def test_a_blocking_call_is_below_the_current_span_of_its_thread(
    fake: FakeSidecar, blocking_client: Memsidecar, spans: InMemorySpanExporter
) -> None:
    with trace.get_tracer("agent").start_as_current_span("agent") as around:
        blocking_client.server_info()
    own, _ = spans.get_finished_spans()
    assert own.parent is not None
    assert own.parent.span_id == around.get_span_context().span_id
    assert sent(fake, "GetServerInfo") == [header(own)]


async def test_without_an_sdk_a_current_span_is_passed_on(fake: FakeSidecar, client: AsyncMemsidecar) -> None:
    given = SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    with use_span(NonRecordingSpan(given)):
        await client.server_info()
    await client.server_info()
    assert sent(fake, "GetServerInfo") == [f"00-{0xABC:032x}-{0xDEF:016x}-01", None]


@pytest.mark.parametrize("installed", [True, False])
def test_an_application_that_does_not_trace_loads_nothing(fake: FakeSidecar, installed: bool) -> None:
    without = "" if installed else "importlib.util.find_spec = lambda name: None"
    program = f"""
import importlib.util, sys
{without}
import memsidecar_client
with memsidecar_client.Memsidecar({fake.target!r}) as memory:
    memory.server_info()
print([name for name in sys.modules if name.startswith("opentelemetry.")])
"""
    environment = {"PYTHONPATH": str(ROOT / "clients/python")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
    assert sent(fake, "GetServerInfo") == [None]
