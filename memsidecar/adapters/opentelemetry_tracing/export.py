"""Sends spans from a thread of its own. Whoever makes them never waits, and neither does a stop for long."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

_log = logging.getLogger(__name__)

# Spans that wait to be sent: 2 to 3 MB. What comes on top is dropped.
QUEUE = 4096
# Spans in one request: encoding one takes this thread about 40 µs of the interpreter's time.
BATCH = 512
# Seconds that a span waits for others.
DELAY = 1.0
# Seconds that a request may take to notice that it is given up.
GIVING_UP = 0.1
# Seconds between two lines in the log while the collector is away.
COMPLAIN_EVERY = 60.0


class BackgroundExport(SpanProcessor):
    """A bounded queue and one daemon thread. The SDK's own processor drops without telling how many, and cannot be
    stopped within a time.

    `dropped` counts the spans that were lost since the start, because the queue was full or they could not be sent.
    """

    def __init__(self, exporter: SpanExporter, after_failure: Callable[[], None] = lambda: None) -> None:
        """`after_failure` is called after each request that failed, in the thread that sends."""
        self._exporter, self._after_failure = exporter, after_failure
        self._queue: deque[ReadableSpan] = deque()
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._overflow = self._unsent = self._sending = self._told = 0
        self._complain_at = 0.0
        self._thread = threading.Thread(target=self._run, name="trace-export", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        # One counter for each thread that counts.
        return self._overflow + self._unsent

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        pass

    def on_end(self, span: ReadableSpan) -> None:
        """Called where the span ends, on the event loop."""
        if self._stopping.is_set() or len(self._queue) >= QUEUE:
            self._overflow += 1
            return
        self._queue.append(span)
        if len(self._queue) >= BATCH and not self._wake.is_set():
            self._wake.set()

    async def close(self, within: float) -> None:
        """Send what is left, for that many seconds at the most; what is not sent then is counted and lost."""
        self._stopping.set()
        self._wake.set()
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        # Not in the loop's executor, whose threads hold up the end of the process.
        def wait() -> None:
            self._thread.join(within)
            # Ends a pause between two tries. A request that hangs is left to its thread.
            self._exporter.shutdown()
            self._thread.join(GIVING_UP)
            loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=wait, name="trace-flush", daemon=True).start()
        await ended.wait()
        self._unsent += self._sending + len(self._queue)
        if self.dropped > self._told:
            _log.warning("spans were not sent", extra={"spans": self.dropped - self._told})

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(DELAY)
            self._wake.clear()
            self._send()
        self._send()

    def _send(self) -> None:
        """What is in the queue now, in full requests; gives up at the first that fails once the process stops."""
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            self._sending = len(batch)
            try:
                sent = self._exporter.export(batch) is SpanExportResult.SUCCESS
            except Exception as error:  # whatever it is, the next batch is tried
                _log.debug("spans could not be encoded or sent", extra={"kind": type(error).__name__})
                sent = False
            self._sending = 0
            if not sent:
                self._unsent += len(batch)
                self._after_failure()
                if self._stopping.is_set():
                    return
            self._tell(sent)

    def _tell(self, sent: bool) -> None:
        lost = self.dropped
        if lost == self._told or (not sent and time.monotonic() < self._complain_at):
            return
        self._complain_at = time.monotonic() + COMPLAIN_EVERY
        problem = "spans were dropped" if sent else "the collector of traces does not take them"
        _log.warning(problem, extra={"spans": lost - self._told})
        self._told = lost
