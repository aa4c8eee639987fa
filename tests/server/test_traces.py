"""The evaluations of a stream, as a trace shows them."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memsidecar.adapters.opentelemetry_tracing import OpenTelemetryTracer, TracingSettings
from memsidecar.server.app import ServerSettings
from memsidecar.services import following
from tests.doubles.hash_embedder import HashEmbedder
from tests.server.live import Talk, live, served
from tests.services.stack import ANN

DURING = "memsidecar.v1.GenerationService/RecallDuring"


@pytest.mark.parametrize("is_young", [True, False], ids=["young", "old"])
async def test_evaluations_are_parts_of_a_young_stream_and_linked_to_an_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_young: bool
) -> None:
    if not is_young:
        monkeypatch.setattr(following, "ONE_TRACE", -1.0)
    kept = InMemorySpanExporter()
    tracer = OpenTelemetryTracer(TracingSettings("http://nowhere"), kept)
    settings = ServerSettings(socket=str(tmp_path / "s"))
    async with live(tmp_path, HashEmbedder(64), tracer=tracer) as alive:
        await alive.stack.remember(ANN, "Peanuts make Robert ill within minutes.")
        async with served(settings, alive.services, tracer) as (_, channel):
            talk = await Talk.open(channel)
            started = (await talk.until("started")).started
            await talk.write("Peanuts make Robert ill within minutes.")
            await talk.flush()
            await talk.finish()
    await tracer.close(5.0)
    spans = {span.name: span for span in kept.get_finished_spans()}
    stream, evaluation = spans[DURING], spans["generation.evaluate"]
    assert stream.context is not None
    assert evaluation.context is not None
    assert evaluation.attributes == {"memsidecar.stream": started.stream_id}
    if is_young:
        assert evaluation.parent == stream.context
        assert evaluation.links == ()
    else:
        assert evaluation.parent is None
        assert evaluation.context.trace_id != stream.context.trace_id
        assert [link.context for link in evaluation.links] == [stream.context]
