"""Traces across the real client and the real process, as a collector gets them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from memsidecar_client import AsyncMemsidecar, Memsidecar, Message, NotFound, Role, Unavailable
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from tests.doubles.embedding_server import embedding_server
from tests.doubles.trace_collector import Received, TraceCollector, trace_collector
from tests.e2e.process import LIGHT, Launch
from tests.sidecar import ROOT, Sidecar

RECALL = "memsidecar.v1.RecallService/RecallOnce"
REMEMBER = "memsidecar.v1.MemoryService/Remember"
DURING = "memsidecar.v1.GenerationService/RecallDuring"
# Wherever a user's words or names could get into a trace, they are these.
MARKER = "zebrastripe"


@dataclass(frozen=True)
class Served:
    sidecar: Sidecar
    collector: TraceCollector

    def trace_of(self, application: ReadableSpan, *names: str) -> dict[str, Received]:
        """The spans of a trace by name, as soon as those have come."""
        assert application.context is not None
        trace_id = f"{application.context.trace_id:032x}"

        def complete(spans: list[Received]) -> bool:
            return set(names) <= {span.name for span in spans if span.trace == trace_id}

        return {span.name: span for span in self.collector.until(complete) if span.trace == trace_id}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One process for many tests, told by OpenTelemetry's own variables."""
    sidecar = Sidecar(tmp_path_factory.mktemp("traces") / "data", LIGHT)
    with trace_collector() as collector:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
            patch.setenv("OTEL_SERVICE_NAME", "memory")
            patch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=search%20it,service.name=other")
            patch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=k1")
            sidecar.start()
        try:
            yield Served(sidecar, collector)
        finally:
            sidecar.close()


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What the agent itself traces, the client's spans among it."""
    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return kept


def named(spans: Sequence[ReadableSpan], name: str) -> ReadableSpan:
    (span,) = [span for span in spans if span.name == name]
    return span


def span_id(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.span_id:016x}"


def test_a_recall_is_one_trace_from_the_agent_to_the_stages(served: Served, application: InMemorySpanExporter) -> None:
    with Memsidecar(served.sidecar.target, namespace="acme", user="ann") as memory:
        memory.remember("Ann moved to Porto.")
        with trace.get_tracer("agent").start_as_current_span("agent"):
            assert memory.recall("Where does Ann live?").hits
    own = application.get_finished_spans()
    client = named(own, RECALL)
    assert client.parent is not None
    assert f"{client.parent.span_id:016x}" == span_id(named(own, "agent"))
    assert client.attributes is not None
    assert client.attributes["rpc.grpc.status_code"] == 0
    spans = served.trace_of(client, RECALL, "recall.understand", "recall.find.keyword", "recall.score", "recall.choose")
    call = spans.pop(RECALL)
    assert call.parent == span_id(client)
    assert {span.parent for span in spans.values()} == {call.id}
    assert call.attributes["memsidecar.namespace"] == "acme"
    assert (call.resource["service.name"], call.resource["team"]) == ("memory", "search it")
    assert {headers["x-key"] for headers in served.collector.headers} == {"k1"}
    assert spans["recall.choose"].attributes["memsidecar.hits"] == 1


async def test_a_write_shows_its_commit_and_a_session_its_store(
    served: Served, application: InMemorySpanExporter
) -> None:
    async with AsyncMemsidecar(served.sidecar.target, user="ben") as memory:
        with trace.get_tracer("agent").start_as_current_span("agent"):
            await memory.remember("Ben lives in Rome.")
            await memory.session("s").create()
    create = "memsidecar.v1.SessionService/CreateSession"
    own = named(application.get_finished_spans(), "agent")
    spans = served.trace_of(own, REMEMBER, "ledger.append", create, "session.create")
    assert spans["ledger.append"].parent == spans[REMEMBER].id
    assert spans["session.create"].parent == spans[create].id
    # The graph follows by itself, in batches of many writes.
    (applied, *_) = [s for s in served.collector.until(_has("graph.apply")) if s.name == "graph.apply"]
    assert (applied.parent, applied.trace == spans[REMEMBER].trace) == ("", False)


async def test_a_generations_evaluations_are_parts_of_its_stream(
    served: Served, application: InMemorySpanExporter
) -> None:
    async with AsyncMemsidecar(served.sidecar.target, user="cem") as memory:
        await memory.remember("Cem drinks green tea with oat milk every morning.")
        with trace.get_tracer("agent").start_as_current_span("agent"):
            async with memory.generation(min_confidence=0.01) as generation:
                await generation.feed("In the morning Cem drinks green tea with oat milk. And then he walks on. ")
                await anext(generation)
                await generation.finish()
    client = named(application.get_finished_spans(), DURING)
    spans = served.trace_of(client, DURING, "generation.evaluate", "recall.score")
    assert spans[DURING].parent == span_id(client)
    assert spans["generation.evaluate"].parent == spans[DURING].id
    assert spans["recall.score"].parent == spans["generation.evaluate"].id


def test_an_error_of_the_callers_is_none_of_the_servers(served: Served, application: InMemorySpanExporter) -> None:
    with Memsidecar(served.sidecar.target) as memory, pytest.raises(NotFound):
        memory.get_memory("namespaces/default/users/ann/memories/none")
    (client,) = application.get_finished_spans()
    assert client.status.status_code is trace.StatusCode.ERROR
    call = served.trace_of(client, client.name)[client.name]
    assert not call.failed
    assert call.attributes["rpc.grpc.status_code"] == 5
    assert call.attributes["memsidecar.error.reason"] == "RESOURCE_NOT_FOUND"


def test_what_the_agent_does_not_keep_is_not_sent(
    served: Served, application: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memsidecar(served.sidecar.target, namespace="kept") as memory:
        with monkeypatch.context() as patch:
            patch.setattr(trace, "_TRACER_PROVIDER", TracerProvider(ALWAYS_OFF, shutdown_on_exit=False))
            with Memsidecar(served.sidecar.target, namespace="dropped") as other:
                other.recall("anything")
        memory.recall("anything")
    # The queue is sent in order, so that the first would have come before.
    spans = served.collector.until(lambda spans: any(s.attributes.get("memsidecar.namespace") == "kept" for s in spans))
    assert "dropped" not in {span.attributes.get("memsidecar.namespace") for span in spans}


async def test_no_text_and_no_id_of_a_user_is_in_any_span(served: Served, application: InMemorySpanExporter) -> None:
    async with AsyncMemsidecar(served.sidecar.target, user=f"u-{MARKER}", agent=f"a-{MARKER}") as memory:
        session = memory.session(f"s-{MARKER}")
        opened = await session.create()
        await session.append([Message(Role.USER, f"my secret is {MARKER}")])
        done = await memory.remember(f"I love {MARKER} very much.", speaker=MARKER, labels={MARKER: MARKER})
        await memory.recall(f"What about {MARKER}?", conversation=opened)
        await memory.build_context(f"What about {MARKER}?")
        async with memory.generation(f"Tell me of {MARKER}.") as generation:
            await generation.feed(f"You love {MARKER} very much. ")
            await generation.finish()
        with pytest.raises(NotFound):
            await memory.get_memory(f"{done.outcomes[0].memory.name}-{MARKER}")
        await memory.delete_memory(done.outcomes[0].memory.name, purge=True)
    delete = "memsidecar.v1.MemoryService/DeleteMemory"
    served.collector.until(lambda spans: _has(delete)(spans) and _has("session.append")(spans))
    assert [body for body in served.collector.bodies if MARKER.encode() in body] == []
    assert all(span.events == 0 and not span.status_message for span in served.collector.spans)


async def test_what_the_server_waits_for_is_seen_and_a_stop_sends_the_rest(launch: Launch) -> None:
    with trace_collector() as collector:
        async with embedding_server() as provider:
            settings = {
                "embedding.provider": "openai",
                "embedding.model": "fake",
                "embedding.dimensions": "64",
                "embedding.base_url": provider.base_url,
                "redis.url": "redis://127.0.0.1:1",
                "tracing.endpoint": f"{collector.endpoint}/v1/traces",
            }
            sidecar = launch(settings, start=False)
            await asyncio.to_thread(sidecar.start)
            async with AsyncMemsidecar(sidecar.target) as memory:
                await memory.remember("Ann moved to Porto.")
                with pytest.raises(Unavailable):
                    await memory.session("s").get(timeout=1)
            assert await asyncio.to_thread(sidecar.stop) == 0
        spans = {span.name: span for span in collector.spans}
    (embedding,) = [s for s in collector.spans if s.name == "embedding.embed" and s.parent == spans[REMEMBER].id]
    assert (embedding.kind, embedding.attributes["memsidecar.texts"]) == (3, 1)
    call = spans["memsidecar.v1.SessionService/GetSession"]
    assert call.failed
    assert call.attributes["memsidecar.error.reason"] == "STORE_UNAVAILABLE"
    assert spans["session.get"].failed
    assert spans["session.get"].attributes["error.type"] == "StoreUnavailable"


def test_without_a_collector_everything_works_and_the_stop_is_quick(launch: Launch) -> None:
    sidecar = launch({"tracing.endpoint": "http://127.0.0.1:1"})
    with Memsidecar(sidecar.target, user="ann") as memory:
        memory.remember("Ann moved to Porto.")
        assert memory.recall("Where does Ann live?").hits
    began = time.monotonic()
    assert sidecar.stop() == 0
    assert time.monotonic() - began < 5.0
    assert "spans were not sent" in sidecar.log()
    assert "127.0.0.1:1" not in sidecar.log()


def test_without_the_libraries_everything_else_works(
    launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "blocked" / "opentelemetry"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ModuleNotFoundError('not here', name='opentelemetry')\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(blocked.parent), os.environ.get("PYTHONPATH", ""))))
    sidecar = launch()
    with Memsidecar(sidecar.target) as memory:
        memory.remember("Ann moved to Porto.")
    sidecar.stop()
    refused = launch({"tracing.endpoint": "http://127.0.0.1:4318"}, start=False)
    with pytest.raises(
        RuntimeError, match=r"tracing\.endpoint: needs opentelemetry.*pip install 'memsidecar\[tracing\]'"
    ):
        refused.start()


def test_nothing_of_it_is_loaded_unless_it_is_configured() -> None:
    program = (
        "import sys, contextlib, memsidecar.bootstrap.process, memsidecar.bootstrap.tracing as t\n"
        "import memsidecar.bootstrap.backing_up, memsidecar.bootstrap.restoring, memsidecar.bootstrap.verifying\n"
        "from memsidecar.config import Config\n"
        "assert t.open_tracer(Config(), contextlib.AsyncExitStack()) is None\n"
        # The Redis driver imports OpenTelemetry's metrics by itself, where they are installed.
        "ours = ('opentelemetry.sdk.trace', 'opentelemetry.exporter', 'opentelemetry.proto', 'requests')\n"
        "print([m for m in sys.modules if m.startswith(ours)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def _has(name: str) -> Callable[[list[Received]], bool]:
    return lambda spans: any(span.name == name for span in spans)
