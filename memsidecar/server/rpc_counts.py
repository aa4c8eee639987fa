"""Requests, errors and duration of each method, under the names that gRPC dashboards know (grpc-ecosystem's)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from memsidecar.domain.measures import Histogram
from memsidecar.ports.metrics import Kind, Metric, Samples

UNARY: Final = "unary"
CLIENT_STREAM: Final = "client_stream"
SERVER_STREAM: Final = "server_stream"
BOTH_WAYS: Final = "bidi_stream"

_METHOD: Final = ("grpc_service", "grpc_method", "grpc_type")
_Labels = tuple[str, str, str]


class MethodCounts:
    """One method's calls. `codes` are gRPC's names of how they ended; `received` and `sent` count messages of streams,
    of which a call has any number."""

    __slots__ = ("codes", "kind", "labels", "received", "seconds", "sent", "started")

    def __init__(self, service: str, method: str, kind: str) -> None:
        self.labels: _Labels = (service, method, kind)
        self.kind, self.started, self.received, self.sent = kind, 0, 0, 0
        self.codes, self.seconds = {"OK": 0}, Histogram()

    def end(self, code: str, seconds: float) -> None:
        self.codes[code] = self.codes.get(code, 0) + 1
        self.seconds.observe(seconds)

    @property
    def messages_in(self) -> int:
        return self.received if self.kind in (CLIENT_STREAM, BOTH_WAYS) else self.started

    @property
    def messages_out(self) -> int:
        return self.sent if self.kind in (SERVER_STREAM, BOTH_WAYS) else self.codes["OK"]


class RpcCounts:
    """All methods of the API, whether they have been called or not. `reasons` are those of ErrorInfo."""

    def __init__(self) -> None:
        self._methods: dict[str, MethodCounts] = {}
        self.reasons: dict[str, int] = {}

    def of(self, name: str, kind: str) -> MethodCounts:
        """The counts of a method, such as memsidecar.v1.RecallService/RecallOnce; to be asked for once, at start."""
        counts = self._methods.get(name)
        if counts is None:
            service, _, method = name.partition("/")
            counts = self._methods[name] = MethodCounts(service, method, kind)
        return counts

    def refuse(self, reason: str) -> None:
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def metrics(self) -> Sequence[Metric]:
        counter, histogram = Kind.COUNTER, Kind.HISTOGRAM
        return (
            Metric("grpc_server_started_total", counter, "Calls that have begun.", self._started, _METHOD),
            Metric(
                "grpc_server_handled_total",
                counter,
                "Calls that have ended, by their status; refused ones are among them.",
                self._handled,
                (*_METHOD, "grpc_code"),
            ),
            Metric("grpc_server_msg_received_total", counter, "Messages from clients.", self._received, _METHOD),
            Metric("grpc_server_msg_sent_total", counter, "Messages to clients.", self._sent, _METHOD),
            Metric(
                "grpc_server_handling_seconds",
                histogram,
                "How long calls took, streams from their first moment to their last.",
                self._seconds,
                _METHOD,
            ),
            Metric(
                "memsidecar_errors_total",
                counter,
                "Calls that ended with an error, by its reason.",
                lambda: (((reason,), count) for reason, count in self.reasons.copy().items()),
                ("reason",),
            ),
        )

    def _started(self) -> Samples:
        return ((each.labels, each.started) for each in self._all())

    def _handled(self) -> Samples:
        for each in self._all():
            for code, count in each.codes.copy().items():
                yield (*each.labels, _as_go_says(code)), count

    def _received(self) -> Samples:
        return ((each.labels, each.messages_in) for each in self._all())

    def _sent(self) -> Samples:
        return ((each.labels, each.messages_out) for each in self._all())

    def _seconds(self) -> Samples:
        # A method that nobody calls would be sixteen rows of nothing.
        return ((each.labels, each.seconds) for each in self._all() if each.started)

    def _all(self) -> Iterator[MethodCounts]:
        return iter(self._methods.copy().values())


def _as_go_says(code: str) -> str:
    """InvalidArgument for INVALID_ARGUMENT: dashboards are written for these names."""
    if code == "OK":
        return code
    return "Canceled" if code == "CANCELLED" else "".join(word.capitalize() for word in code.split("_"))
