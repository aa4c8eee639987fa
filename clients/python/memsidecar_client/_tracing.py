"""A span around each call, for applications that use OpenTelemetry.

Nothing is imported for it: a span can only be current when the application has imported `opentelemetry.trace` itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, cast

import grpc
import grpc.aio

from memsidecar_client._call_ending import now

_API = "opentelemetry.trace"


def traced(channel: grpc.aio.Channel) -> grpc.aio.Channel:
    """The channel for the stubs; as it is where OpenTelemetry is not installed."""
    return cast(grpc.aio.Channel, _TracedChannel(channel)) if find_spec("opentelemetry") else channel


class _TracedChannel:
    """What stubs need of a channel. Interceptors would leak on streams, and cannot see their end."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._tracer: Any = None

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        return self._traced(method, self._channel.unary_unary(method, *args, **kwargs))

    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        return self._traced(method, self._channel.unary_stream(method, *args, **kwargs))

    def stream_unary(self, method: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        return self._traced(method, self._channel.stream_unary(method, *args, **kwargs))

    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        return self._traced(method, self._channel.stream_stream(method, *args, **kwargs))

    def _traced(self, path: str, begin: Any) -> Callable[..., Any]:
        method = path.removeprefix("/")
        service, _, name = method.partition("/")
        attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name}

        def call(*args: Any, metadata: tuple[tuple[str, str], ...] = (), **kwargs: Any) -> Any:
            if _API not in sys.modules:
                return begin(*args, metadata=metadata, **kwargs)
            return self._begin(begin, method, attributes, args, metadata, kwargs)

        return call

    def _begin(
        self,
        begin: Callable[..., Any],
        method: str,
        attributes: dict[str, str],
        args: tuple[Any, ...],
        metadata: tuple[tuple[str, str], ...],
        kwargs: dict[str, Any],
    ) -> Any:
        from opentelemetry import context, trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        if self._tracer is None:
            self._tracer = trace.get_tracer("memsidecar-client")
        span = self._tracer.start_span(method, kind=trace.SpanKind.CLIENT, attributes=attributes)
        # Without an SDK older releases make a span of nothing, even below one that is current.
        parent = trace.get_current_span()
        around = trace.set_span_in_context(span if span.get_span_context().is_valid else parent)
        # What the server reads, whatever the application sends elsewhere.
        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier, around)
        token = context.attach(around)
        try:
            made = begin(*args, metadata=(*metadata, *carrier.items()), **kwargs)
        except BaseException:
            span.set_status(trace.StatusCode.ERROR)
            span.end()
            raise
        finally:
            context.detach(token)
        if span.is_recording():
            made.add_done_callback(_ending(span))
        return made


def _ending(span: Any) -> Callable[[Any], None]:
    def end(call: Any) -> None:
        # grpc.aio calls this once for each status that the call takes: the first is the server's.
        if not span.is_recording():
            return
        from opentelemetry.trace import StatusCode

        code: grpc.StatusCode = now(call.code())
        span.set_attribute("rpc.grpc.status_code", code.value[0])
        # Leaving a stream cancels it, which is no failure.
        if code not in (grpc.StatusCode.OK, grpc.StatusCode.CANCELLED):
            span.set_attribute("error.type", code.name)
            span.set_status(StatusCode.ERROR)
        span.end()

    return end
