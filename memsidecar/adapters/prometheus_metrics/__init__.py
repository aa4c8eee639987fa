"""Metrics over HTTP, in the formats of Prometheus and OpenMetrics."""

from memsidecar.adapters.prometheus_metrics.collector import MetricsCollector
from memsidecar.adapters.prometheus_metrics.exposition import MetricsServer

__all__ = ["MetricsCollector", "MetricsServer"]
