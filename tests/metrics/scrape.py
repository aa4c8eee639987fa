"""Asking a process for its metrics, and reading the answer with the library that Prometheus users have."""

from __future__ import annotations

import gzip
import socket
import urllib.request
from collections.abc import Iterable, Mapping

from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as families

TEXT = "text/plain;version=0.0.4"
OPEN_METRICS = "application/openmetrics-text;version=1.0.0"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def shown_on(port: int) -> dict[str, str]:
    """Settings of a process that shows its metrics there."""
    return {"metrics.host": "127.0.0.1", "metrics.port": str(port)}


def fetch(port: int, path: str = "/metrics", accept: str = TEXT, zipped: bool = False) -> tuple[Mapping[str, str], str]:
    """The answer's headers and its text. Raises urllib's errors."""
    headers = {"Accept": accept, **({"Accept-Encoding": "gzip"} if zipped else {})}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        body = answer.read()
        told = {name.lower(): value for name, value in answer.headers.items()}
    return told, (gzip.decompress(body) if told.get("content-encoding") == "gzip" else body).decode()


def read(text: str) -> list[Metric]:
    return list(families(text))


def read_open(text: str) -> list[Metric]:
    return list(open_families(text))  # type: ignore[no-untyped-call]


class Values:
    """What one scrape has said."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._samples = [sample for metric in metrics for sample in metric.samples]

    @classmethod
    def of(cls, port: int) -> Values:
        return cls(read(fetch(port)[1]))

    def __call__(self, name: str, **labels: str) -> float:
        """The sum of the samples with these labels; 0 without any."""
        return sum(s.value for s in self._samples if s.name == name and labels.items() <= s.labels.items())

    def labels(self, name: str) -> list[Mapping[str, str]]:
        return [sample.labels for sample in self._samples if sample.name == name]
