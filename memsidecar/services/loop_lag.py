"""How late the event loop is: every call waits for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from memsidecar.domain.measures import Histogram
from memsidecar.ports.metrics import Kind, Metric

# Seconds between looks: seldom enough to cost nothing, often enough that an alert over minutes has hundreds.
EVERY = 0.5
_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class LoopLag:
    """A timer that measures how much later than asked for it is called."""

    def __init__(self) -> None:
        self.seconds = Histogram(_BOUNDS)
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._due = time.monotonic() + EVERY
        self._timer = asyncio.get_running_loop().call_later(EVERY, self._look)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def metrics(self) -> Sequence[Metric]:
        return (
            Metric(
                "memsidecar_event_loop_lag_seconds",
                Kind.HISTOGRAM,
                "How late a timer of the event loop was, looked at twice a second.",
                lambda: [((), self.seconds)],
            ),
            Metric(
                "memsidecar_event_loop_stalled_seconds",
                Kind.GAUGE,
                "For how long the event loop has been overdue now; 0 while it turns.",
                lambda: [((), self._overdue())],
            ),
        )

    def _look(self) -> None:
        self.seconds.observe(self._overdue())
        self.start()

    def _overdue(self) -> float:
        # Between a close and the end nothing is due.
        return 0.0 if self._timer is None else max(0.0, time.monotonic() - self._due)
