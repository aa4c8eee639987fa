"""Our numbers as the library's families, made when somebody asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from memsidecar.domain.measures import Histogram
from memsidecar.ports.metrics import Kind, Metric


class MetricsCollector(Collector):
    """Collects in whatever thread asks: nothing here waits for the event loop."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Family]:
        for metric in self._metrics:
            yield _family(metric)

    def describe(self) -> Iterator[Family]:
        """The names alone, by which a request may choose (`name[]`)."""
        return (Family(each.name.removesuffix("_total"), each.text, each.kind.value) for each in self._metrics)


def _family(metric: Metric) -> Family:
    match metric.kind:
        case Kind.COUNTER:
            counter = CounterMetricFamily(metric.name, metric.text, labels=metric.labels)
            for labels, value in metric.read():
                counter.add_metric(labels, _number(value))
            return counter
        case Kind.GAUGE:
            gauge = GaugeMetricFamily(metric.name, metric.text, labels=metric.labels)
            for labels, value in metric.read():
                gauge.add_metric(labels, _number(value))
            return gauge
        case Kind.HISTOGRAM:
            histogram = HistogramMetricFamily(metric.name, metric.text, labels=metric.labels)
            for labels, value in metric.read():
                if isinstance(value, Histogram):
                    histogram.add_metric(labels, _buckets(value), value.total)
            return histogram


def _number(value: float | Histogram) -> float:
    return sum(value.counts) if isinstance(value, Histogram) else value


def _buckets(histogram: Histogram) -> list[tuple[str, float]]:
    # One copy of the counts: they go on rising, and no bucket may be less than the one before.
    rising = list(accumulate(histogram.counts.copy()))
    bounds = [*map(floatToGoString, histogram.bounds), "+Inf"]
    return list(zip(bounds, map(float, rising), strict=True))
