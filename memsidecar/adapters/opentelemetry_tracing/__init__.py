"""Traces by OpenTelemetry, sent as OTLP over HTTP. Needs the extra `tracing`."""

from memsidecar.adapters.opentelemetry_tracing.settings import TracingSettings
from memsidecar.adapters.opentelemetry_tracing.tracer import OpenTelemetryTracer

__all__ = ["OpenTelemetryTracer", "TracingSettings"]
