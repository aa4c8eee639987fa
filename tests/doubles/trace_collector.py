"""A collector of traces on the loopback: takes OTLP over HTTP and keeps what came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue


@dataclass(frozen=True)
class Received:
    """A span as it came. Ids are in hex, `parent` is "" for the first of a trace."""

    name: str
    trace: str
    id: str
    parent: str
    kind: int
    attributes: Mapping[str, object]
    failed: bool
    status_message: str
    links: Sequence[tuple[str, str]]
    events: int
    resource: Mapping[str, object]


class TraceCollector:
    """`status` is what it answers."""

    def __init__(self) -> None:
        self.endpoint = ""
        self.status = 200
        self.bodies: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []
        self._came = threading.Condition()

    def take(self, headers: Mapping[str, str], body: bytes) -> int:
        with self._came:
            self.headers.append(headers)
            if self.status == 200:
                self.bodies.append(body)
            self._came.notify_all()
        return self.status

    @property
    def spans(self) -> list[Received]:
        """In the order in which they ended."""
        return [span for body in self.bodies for span in _read(body)]

    def until(self, condition: Callable[[list[Received]], bool], seconds: float = 20.0) -> list[Received]:
        """All spans, as soon as they meet the condition."""
        with self._came:
            assert self._came.wait_for(lambda: condition(self.spans), seconds), [span.name for span in self.spans]
        return self.spans

    def wait_for_requests(self, count: int, seconds: float = 20.0) -> None:
        """Until so many have come, whatever the answer was."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.headers) >= count, seconds)


@contextmanager
def trace_collector() -> Iterator[TraceCollector]:
    collector = TraceCollector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(collector.take(dict(self.headers), body))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        serving.start()
        collector.endpoint = f"http://127.0.0.1:{server.server_port}"
        try:
            yield collector
        finally:
            server.shutdown()
            serving.join()


def _read(body: bytes) -> Iterator[Received]:
    for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield Received(
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.kind,
                    _values(span.attributes),
                    span.status.code == 2,
                    span.status.message,
                    [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
                    len(span.events),
                    _values(of_resource.resource.attributes),
                )


def _values(attributes: Sequence[KeyValue]) -> dict[str, object]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value") for each in attributes}
