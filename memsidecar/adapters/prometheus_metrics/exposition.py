"""`GET /metrics` on a port of its own, in threads of its own: a busy event loop is when somebody looks."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.process_collector import ProcessCollector

from memsidecar.adapters.prometheus_metrics.collector import MetricsCollector

PATH: Final = "/metrics"
# Scrapes at once. Prometheus sends one in 15 s or so; more are somebody who forgets connections, and are cut.
AT_ONCE: Final = 8
# Seconds that one may take to send its request and to read the answer.
PATIENCE: Final = 10.0
# Seconds between looks at whether to stop.
POLL: Final = 0.2


class MetricsServer:
    """Serves until `close` on a socket that is bound and listens; owns the socket.

    The process's own metrics (memory, processor time, descriptors) come beside those of the collector.
    """

    def __init__(self, listening: socket.socket, collector: MetricsCollector) -> None:
        registry = CollectorRegistry()
        registry.register(collector)
        ProcessCollector(registry=registry)
        self._server = _Server(listening, _only_metrics(make_wsgi_app(registry)))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL,), name="metrics", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def close(self) -> None:
        """Take no more scrapes; returns when the port is free. One under way goes on for PATIENCE at most."""
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


class _Handler(WSGIRequestHandler):
    timeout = PATIENCE

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class's name
        """A line for each scrape says nothing."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True

    def __init__(self, listening: socket.socket, app: Callable[..., Iterable[bytes]]) -> None:
        address = listening.getsockname()
        self.address_family = listening.family
        super().__init__(address[:2], _Handler, bind_and_activate=False)
        self.socket.close()  # the base class has made one, not bound
        self.socket = listening
        self.server_address = address
        self.server_name, self.server_port = str(address[0]), int(address[1])
        self.setup_environ()
        self.set_app(app)
        self._places = threading.BoundedSemaphore(AT_ONCE)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asks and does not wait for the answer is no error of ours."""


def _only_metrics(app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """The library's application answers on every path."""

    def respond(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == PATH:
            return app(environ, start_response)
        start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
        return [b"metrics are at /metrics\n"]

    return respond
