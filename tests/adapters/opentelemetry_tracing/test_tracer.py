from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from memsidecar.adapters.opentelemetry_tracing import OpenTelemetryTracer, TracingSettings
from memsidecar.ports.tracing import Span

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
METHOD = "memsidecar.v1.RecallService/RecallOnce"


class Traces:
    """A tracer, and what it has sent once it is closed."""

    def __init__(self, **settings: float | bool) -> None:
        self._kept = InMemorySpanExporter()
        self.tracer = OpenTelemetryTracer(TracingSettings("http://nowhere", **settings), self._kept)  # type: ignore[arg-type]

    async def sent(self) -> dict[str, ReadableSpan]:
        await self.tracer.close(5.0)
        return {span.name: span for span in self._kept.get_finished_spans()}


@pytest.fixture
async def traces() -> AsyncIterator[Traces]:
    made = Traces()
    yield made
    await made.tracer.close(5.0)


def serve(traces: Traces, sampled: str = "01", *more: tuple[str, str | bytes]) -> None:
    """A call that comes and ends; what follows in this task is a part of it."""
    metadata = [("traceparent", f"00-{TRACE}-{CALLER}-{sampled}"), *more]
    traces.tracer.serve(METHOD, metadata, "r-1").end("OK", "", "acme")


def parent_of(span: ReadableSpan) -> str:
    return f"{span.parent.span_id:016x}" if span.parent else ""


def id_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.span_id:016x}"


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


async def test_a_call_is_a_part_of_its_callers_trace(traces: Traces) -> None:
    traces.tracer.serve(METHOD, [("traceparent", f"00-{TRACE}-{CALLER}-01"), ("tracestate", "v=1")], "r-1").end(
        "NOT_FOUND", "RESOURCE_NOT_FOUND", "acme"
    )
    span = (await traces.sent())[METHOD]
    assert (trace_of(span), parent_of(span), span.kind) == (TRACE, CALLER, SpanKind.SERVER)
    assert span.attributes == {
        "rpc.system": "grpc",
        "rpc.service": "memsidecar.v1.RecallService",
        "rpc.method": "RecallOnce",
        "rpc.grpc.status_code": 5,
        "memsidecar.request_id": "r-1",
        "memsidecar.error.reason": "RESOURCE_NOT_FOUND",
        "memsidecar.namespace": "acme",
    }
    assert span.status.status_code is StatusCode.UNSET
    assert span.context is not None
    assert span.context.trace_state.get("v") == "1"


@pytest.mark.parametrize(
    ("code", "status"),
    [("UNAVAILABLE", StatusCode.ERROR), ("INTERNAL", StatusCode.ERROR), ("CANCELLED", StatusCode.UNSET)],
)
async def test_only_what_is_the_servers_fault_is_an_error(traces: Traces, code: str, status: StatusCode) -> None:
    traces.tracer.serve(METHOD, [], "r").end(code, "", "")
    assert (await traces.sent())[METHOD].status.status_code is status


@pytest.mark.parametrize("value", ["nonsense", "00-0-0-01", f"00-{'0' * 32}-{CALLER}-01", b"\xff"])
async def test_a_parent_that_is_none_begins_a_trace(traces: Traces, value: str | bytes) -> None:
    traces.tracer.serve(METHOD, [("traceparent", value)], "r").end("OK", "", "")
    assert parent_of((await traces.sent())[METHOD]) == ""


async def test_of_several_parents_the_last_one_counts(traces: Traces) -> None:
    serve(traces, "01", ("traceparent", f"00-{TRACE}-{'1' * 16}-01"))
    assert parent_of((await traces.sent())[METHOD]) == "1" * 16


async def test_parts_are_below_each_other_also_over_tasks_and_threads(traces: Traces) -> None:
    async def work(name: str) -> None:
        with traces.tracer.span(name):
            await asyncio.sleep(0)

    def in_thread() -> None:
        with traces.tracer.span("thread"):
            pass

    serve(traces)
    with traces.tracer.span("outer", {"n": 1}, remote=True):
        await asyncio.gather(work("a"), work("b"), asyncio.to_thread(in_thread))
    with traces.tracer.span("next"):
        pass
    sent = await traces.sent()
    below = {name: parent_of(span) for name, span in sent.items()}
    outer, call = id_of(sent["outer"]), id_of(sent[METHOD])
    assert below == {METHOD: CALLER, "outer": call, "next": call, "a": outer, "b": outer, "thread": outer}
    assert sent["outer"].kind is SpanKind.CLIENT


async def test_what_a_span_fails_with_is_told_by_its_type_alone(traces: Traces) -> None:
    with pytest.raises(KeyError), traces.tracer.span("work"):
        raise KeyError("what Ann said")
    span = (await traces.sent())["work"]
    assert (span.attributes, span.status.status_code) == ({"error.type": "KeyError"}, StatusCode.ERROR)
    assert (span.status.description, span.events) == (None, ())


async def test_what_the_caller_does_not_keep_has_no_parts(traces: Traces) -> None:
    serve(traces, "00")
    with traces.tracer.span("part") as part, traces.tracer.span("below"):
        part.set({"n": 1})
    with traces.tracer.span("apart", apart=True):
        pass
    assert traces.tracer.current() is None
    assert await traces.sent() == {}


async def test_the_ratio_decides_of_traces_that_begin_here_alone() -> None:
    traces = Traces(sample_ratio=0.0)
    traces.tracer.serve("s/Mine", [], "r").end("OK", "", "")
    serve(traces)
    assert list(await traces.sent()) == [METHOD]


async def test_callers_need_not_be_followed() -> None:
    traces = Traces(sample_ratio=0.0, follow_caller=False)
    serve(traces)
    assert await traces.sent() == {}
    traces = Traces(sample_ratio=1.0, follow_caller=False)
    serve(traces, "00")
    assert list(await traces.sent()) == [METHOD]


async def test_what_stands_apart_is_a_trace_of_its_own_that_names_the_other_and_is_kept_like_it() -> None:
    traces = Traces(sample_ratio=0.0)
    serve(traces)
    with traces.tracer.span("later", apart=True), traces.tracer.span("part of it"):
        pass
    sent = await traces.sent()
    later = sent["later"]
    assert later.parent is None
    assert trace_of(later) != TRACE
    assert [f"{link.context.span_id:016x}" for link in later.links] == [id_of(sent[METHOD])]
    assert parent_of(sent["part of it"]) == id_of(later)


async def test_shared_work_is_a_part_of_each_that_waits_for_it(traces: Traces) -> None:
    waiting: list[Span] = []
    for name in ("one", "two"):
        with traces.tracer.span(name):
            waiting += [span for span in [traces.tracer.current()] if span is not None]
    with pytest.raises(OSError, match="disk"), traces.tracer.shared("commit", waiting, {"n": 2}):
        raise OSError("disk")
    await traces.tracer.close(5.0)
    spans: Sequence[ReadableSpan] = traces._kept.get_finished_spans()
    commits = [span for span in spans if span.name == "commit"]
    assert [trace_of(span) for span in commits] == [trace_of(span) for span in spans if span.name in ("one", "two")]
    assert {span.start_time for span in commits} == {commits[0].start_time}
    assert all(span.attributes == {"n": 2, "error.type": "OSError"} for span in commits)
