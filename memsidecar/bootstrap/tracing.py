"""Traces, when an endpoint is configured: the tracer, and the spans around what the process waits for."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from typing import Final

from memsidecar import __version__
from memsidecar.config import Config
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.key_values import read_key_values
from memsidecar.ports.extraction import Extractor
from memsidecar.ports.graph import GraphStore
from memsidecar.ports.models import Embedder, Reranker
from memsidecar.ports.sessions import SessionStore
from memsidecar.ports.tracing import Attributes, Tracer
from memsidecar.services.traced_calls import traced

# Seconds that a stop waits for the collector: what is on time takes milliseconds, and what is away should cost no more.
FLUSH: Final = 1.0
_SESSIONS: Final = {
    method: f"session.{method}"
    for method in (
        "create",
        "get",
        "list",
        "update",
        "end",
        "delete",
        "append",
        "messages",
        "newest",
        "pinned",
        "set_scratch",
        "scratch",
        "list_scratch",
        "delete_scratch",
    )
}


def open_tracer(config: Config, stack: AsyncExitStack) -> Tracer | None:
    """None unless `tracing.endpoint` is set. Sends what is left when `stack` is closed. Asks nothing of the collector:
    it may be away.

    Raises InvalidField: the libraries are not installed, or one of their own variables cannot be read.
    """
    settings = config.tracing
    if not settings.endpoint:
        return None
    try:
        from memsidecar.adapters.opentelemetry_tracing import OpenTelemetryTracer, TracingSettings

        # Some of its variables are read when the SDK is loaded, some when it is used.
        tracer = OpenTelemetryTracer(
            TracingSettings(
                endpoint=settings.url,
                headers=read_key_values(settings.headers, "tracing.headers"),
                sample_ratio=settings.sample_ratio,
                follow_caller=settings.follow_caller,
                timeout=settings.timeout,
                resource={
                    **read_key_values(settings.attributes, "tracing.attributes"),
                    "service.name": settings.service_name,
                },
                version=__version__,
            )
        )
    except ModuleNotFoundError as error:
        how = "pip install 'memsidecar[tracing]', or leave the endpoint empty (OTEL_SDK_DISABLED=true)"
        raise InvalidField("tracing.endpoint", f"needs {error.name}, which is not installed: {how}") from None
    except ValueError:
        raise InvalidField("tracing.endpoint", "one of the OTEL_* variables has a value that cannot be read") from None
    stack.push_async_callback(partial(tracer.close, min(FLUSH, config.drain_grace)))
    return tracer


def traced_embedder(embedder: Embedder, tracer: Tracer, config: Config) -> Embedder:
    remote = config.embedding.provider == "openai"
    attributes = _of_model("embeddings", embedder.model)
    return traced(embedder, tracer, {"embed": "embedding.embed"}, attributes, counted="memsidecar.texts", remote=remote)


def traced_reranker(reranker: Reranker, tracer: Tracer) -> Reranker:
    return traced(reranker, tracer, {"rank": "recall.rerank"}, _of_model("rerank", reranker.model), remote=True)


def traced_extractor(extractor: Extractor, tracer: Tracer) -> Extractor:
    names, attributes = {"extract": "extraction.extract"}, _of_model("chat", extractor.model)
    return traced(extractor, tracer, names, attributes, counted="memsidecar.turns", remote=True)


def traced_graph(graph: GraphStore, tracer: Tracer) -> GraphStore:
    return traced(graph, tracer, {"apply": "graph.apply"}, counted="memsidecar.changes")


def traced_sessions(store: SessionStore, tracer: Tracer) -> SessionStore:
    return traced(store, tracer, _SESSIONS, {"db.system.name": "redis"}, remote=True)


def _of_model(operation: str, model: str) -> Attributes:
    return {"gen_ai.operation.name": operation, "gen_ai.request.model": model}
