"""The server's own state, as it is measured: what is open, whether it is ready, how a drain goes."""

from __future__ import annotations

import time
from collections.abc import Sequence

from memsidecar.ports.metrics import Kind as MetricKind
from memsidecar.ports.metrics import Metric, Samples
from memsidecar.server.admission import Admission, Kind
from memsidecar.server.health import HealthServicer


class State:
    """`drain_began` is a value of the monotonic clock; `cut_off` counts calls that a drain did not wait for."""

    def __init__(self, admission: Admission, health: HealthServicer) -> None:
        self._admission, self._health = admission, health
        self.drain_began: float | None = None
        self.cut_off = 0

    def metrics(self) -> Sequence[Metric]:
        gauge = MetricKind.GAUGE
        return (
            Metric("memsidecar_calls_open", gauge, "Calls that run now, by what they take.", self._open, ("kind",)),
            Metric(
                "memsidecar_calls_limit",
                gauge,
                "How many calls of a kind may run; short ones share theirs with streams.",
                self._most,
                ("kind",),
            ),
            Metric(
                "memsidecar_ready",
                gauge,
                "1 when its own stores answer and it takes calls, else 0.",
                lambda: [((), int(self._health.ready))],
            ),
            Metric(
                "memsidecar_sessions_ready",
                gauge,
                "1 when the session store answers, else 0.",
                lambda: [((), int(self._health.sessions_answer))],
            ),
            Metric(
                "memsidecar_draining_seconds",
                gauge,
                "How long ago a stop has begun; 0 while there is none.",
                lambda: [((), 0.0 if self.drain_began is None else time.monotonic() - self.drain_began)],
            ),
            Metric(
                "memsidecar_drain_cut_off_calls",
                gauge,
                "Calls that a stop has cancelled, because they did not end within drain_grace.",
                lambda: [((), self.cut_off)],
            ),
        )

    def _open(self) -> Samples:
        return [((kind.name.lower(),), self._admission.open(kind)) for kind in Kind]

    def _most(self) -> Samples:
        return [((kind.name.lower(),), self._admission.most(kind)) for kind in Kind]
