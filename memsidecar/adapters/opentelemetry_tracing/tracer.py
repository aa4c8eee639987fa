"""The Tracer of the port, on OpenTelemetry's SDK."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from time import time_ns
from types import TracebackType
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.version import __version__ as sdk_version
from opentelemetry.trace import Link, SpanKind, set_span_in_context
from opentelemetry.trace import Span as SdkSpan
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.status import StatusCode

from memsidecar.adapters.opentelemetry_tracing.export import BackgroundExport
from memsidecar.adapters.opentelemetry_tracing.sampling import sampler
from memsidecar.adapters.opentelemetry_tracing.session import ForgetfulSession
from memsidecar.adapters.opentelemetry_tracing.settings import TracingSettings
from memsidecar.ports.tracing import Attributes, CallSpan, Span

_CODES: Final = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
# The server's fault, by OpenTelemetry's conventions for gRPC. Of the others the caller alone knows what they are.
_SERVER_ERRORS: Final = frozenset(
    {"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"}
)
_ROOT: Final = Context()


class OpenTelemetryTracer:
    """Must be closed. Raises ValueError for a variable of OpenTelemetry's that the SDK cannot read."""

    def __init__(self, settings: TracingSettings, exporter: SpanExporter | None = None) -> None:
        """`exporter` replaces the one that sends to `settings.endpoint`."""
        session = ForgetfulSession()
        if exporter is None:
            # Its lines quote the collector's answers and the address; what matters of them is counted here.
            for name in ("opentelemetry", "urllib3"):
                logging.getLogger(name).setLevel(logging.CRITICAL)
            exporter = OTLPSpanExporter(
                settings.endpoint, headers=dict(settings.headers), timeout=settings.timeout, session=session
            )
        self._export = BackgroundExport(exporter, session.forget)
        described = {
            "service.instance.id": str(uuid.uuid4()),
            "service.version": settings.version,
            "telemetry.sdk.language": "python",
            "telemetry.sdk.name": "opentelemetry",
            "telemetry.sdk.version": sdk_version,
        }
        provider = TracerProvider(
            sampler(settings.sample_ratio, settings.follow_caller),
            Resource({**described, **settings.resource}),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(self._export)
        self._sdk = provider.get_tracer("memsidecar", settings.version)
        self._propagator = TraceContextTextMapPropagator()
        # What is known of a method before it is called.
        self._methods: dict[str, Attributes] = {}

    @property
    def dropped(self) -> int:
        """Spans that were lost since the start."""
        return self._export.dropped

    async def close(self, within: float) -> None:
        """Send what is left, for that many seconds at the most."""
        await self._export.close(within)

    def serve(self, method: str, metadata: Iterable[tuple[str, str | bytes]], request_id: str) -> CallSpan:
        carrier: dict[str, str] = {}
        for key, value in metadata:
            if isinstance(value, str):
                # Of several the last: what has been added later is nearer.
                if key == "traceparent":
                    carrier[key] = value
                elif key == "tracestate":
                    carrier[key] = f"{value},{carrier[key]}" if key in carrier else value
        parent = self._propagator.extract(carrier, _ROOT) if carrier else _ROOT
        attributes = self._methods.get(method)
        if attributes is None:
            service, _, name = method.partition("/")
            attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name}
            self._methods[method] = attributes
        sdk = self._sdk.start_span(method, parent, SpanKind.SERVER, attributes)
        span = _Span(sdk)
        if span.is_kept:
            sdk.set_attribute("memsidecar.request_id", request_id)
        _current.set(span)
        return span

    def span(
        self, name: str, attributes: Attributes | None = None, *, remote: bool = False, apart: bool = False
    ) -> AbstractContextManager[Span]:
        around = _current.get()
        kind = SpanKind.CLIENT if remote else SpanKind.INTERNAL
        if around is None:
            return _Span(self._sdk.start_span(name, _ROOT, kind, attributes))
        if not around.is_kept:
            return _NOT_KEPT
        if apart:
            link = Link(around.sdk.get_span_context())
            return _Span(self._sdk.start_span(name, _ROOT, kind, attributes, (link,)))
        return _Span(self._sdk.start_span(name, around.context, kind, attributes))

    def current(self) -> Span | None:
        around = _current.get()
        return around if around is not None and around.is_kept else None

    @contextmanager
    def shared(self, name: str, spans: Sequence[Span], attributes: Attributes) -> Iterator[None]:
        began, failed = time_ns(), ""
        try:
            yield
        except BaseException as error:
            failed = type(error).__name__
            raise
        finally:
            for span in spans:
                if isinstance(span, _Span):
                    made = _Span(self._sdk.start_span(name, span.context, attributes=attributes, start_time=began))
                    made.finish(failed)


class _Span:
    """A span of the SDK, which is current from entering to leaving; that of a call is made current by who makes it.

    Work that goes on after its end, in a task of its own, is still a part of it.
    """

    __slots__ = ("_before", "_context", "is_kept", "sdk")

    def __init__(self, sdk: SdkSpan) -> None:
        self.sdk = sdk
        self.is_kept = sdk.is_recording()
        self._context: Context | None = None
        self._before: _Span | None = None

    @property
    def context(self) -> Context:
        """What the SDK takes for a parent."""
        if self._context is None:
            self._context = set_span_in_context(self.sdk, _ROOT)
        return self._context

    def set(self, attributes: Attributes) -> None:
        self.sdk.set_attributes(attributes)

    def __enter__(self) -> _Span:
        self._before = _current.get()
        _current.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Not by a token, which a generator that is closed from elsewhere could not give back.
        _current.set(self._before)
        self.finish(kind.__name__ if kind is not None else "")

    def finish(self, failed: str) -> None:
        """End it; `failed` names the type of the error that it was left with."""
        if failed:
            self.sdk.set_attribute("error.type", failed)
            if failed != "CancelledError":
                self.sdk.set_status(StatusCode.ERROR)
        self.sdk.end()

    def end(self, code: str, reason: str, namespace: str) -> None:
        sdk = self.sdk
        if self.is_kept:
            told: dict[str, Any] = {"rpc.grpc.status_code": _CODES.index(code)}
            if reason:
                told["memsidecar.error.reason"] = reason
            if namespace:
                told["memsidecar.namespace"] = namespace
            if code in _SERVER_ERRORS:
                told["error.type"] = code
                sdk.set_status(StatusCode.ERROR)
            sdk.set_attributes(told)
        sdk.end()


class _NotKept:
    """Stands for every span below one that is not kept. Changes nothing: what is current stays so."""

    __slots__ = ()

    def set(self, attributes: Attributes) -> None:
        pass

    def __enter__(self) -> _NotKept:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


_NOT_KEPT: Final = _NotKept()
_current: ContextVar[_Span | None] = ContextVar("current_span", default=None)
