"""`GET /metrics` on a port of its own, in threads of its own: a busy event loop is when somebody looks."""

from __future__ import annotations

import asyncio
import io
import logging
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from socketserver import ThreadingMixIn
from typing import Any, Final
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.process_collector import ProcessCollector

from memsidecar.adapters.prometheus_metrics.collector import MetricsCollector

_log = logging.getLogger(__name__)

PATH: Final = "/metrics"
# Scrapes at once. Prometheus sends one in 15 s or so; more are somebody who forgets connections, and are cut.
AT_ONCE: Final = 8
# Seconds that one may take in all: to send its request, however it trickles, and to read the answer.
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

    def get_stderr(self) -> Any:
        # Where wsgiref prints a traceback for each reader that is too slow.
        return io.StringIO()


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
        self._until: dict[socket.socket, float] = {}
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            has_place = len(self._until) < AT_ONCE
            if has_place:
                self._until[request] = time.monotonic() + PATIENCE
        if not has_place:
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            with self._lock:
                del self._until[request]
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except Exception:
            self.handle_error(request, client_address)
        finally:
            # Its place is given back while its descriptor is still its own.
            with self._lock:
                del self._until[request]
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Between polls: a socket's timeout begins anew with each byte, so the whole time is looked at here."""
        now = time.monotonic()
        with self._lock:
            for request, until in self._until.items():
                if now >= until:
                    with suppress(OSError):  # gone already
                        request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asks and does not wait for the answer is no error of ours."""


def _only_metrics(app: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """The library's application answers on every path."""

    def respond(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] == PATH:
            try:
                return app(environ, start_response)
            except Exception as error:
                # Without its message, and in the log's own format: wsgiref would print it.
                where = "".join(traceback.format_tb(error.__traceback__))
                _log.error("metrics could not be shown: %s\n%s", type(error).__name__, where)
                start_response("500 Internal Server Error", [("Content-Type", "text/plain; charset=utf-8")])
                return [b"metrics could not be shown; the log says why\n"]
        start_response("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
        return [b"metrics are at /metrics\n"]

    return respond
