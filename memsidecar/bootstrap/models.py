"""Models with their counts in front, and those counts as metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from memsidecar.adapters.measured_models import MeasuredEmbedder, MeasuredExtractor, MeasuredReranker
from memsidecar.domain.measures import Calls
from memsidecar.ports.extraction import Extractor
from memsidecar.ports.metrics import Kind, Metric, Samples
from memsidecar.ports.models import Embedder, Reranker


class Usage(Protocol):
    """What a model's server says that it has cost, and what was made of its answers."""

    calls: int
    retries: int
    repairs: int
    prompt_tokens: int
    completion_tokens: int
    claims: int
    rejected: int


@runtime_checkable
class Remote(Protocol):
    """A model on a server."""

    @property
    def usage(self) -> Usage: ...

    @property
    def left_alone(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Meter:
    kind: str
    calls: Calls
    remote: Remote | None


class Models:
    """Each model that is opened is taken in here, and what is given back is used instead."""

    def __init__(self) -> None:
        self._meters: list[_Meter] = []

    def embedder(self, inner: Embedder) -> Embedder:
        made = MeasuredEmbedder(inner)
        self._take("embed", made.calls, inner)
        return made

    def extractor(self, inner: Extractor) -> Extractor:
        made = MeasuredExtractor(inner)
        self._take("extract", made.calls, inner)
        return made

    def reranker(self, inner: Reranker) -> Reranker:
        made = MeasuredReranker(inner)
        self._take("rerank", made.calls, inner)
        return made

    def metrics(self) -> Sequence[Metric]:
        counter = Kind.COUNTER
        return (
            Metric(
                "memsidecar_model_calls_total",
                counter,
                "Calls to models, past the cache; one that nobody waited for any longer is cancelled.",
                self._calls,
                ("kind", "outcome"),
            ),
            Metric(
                "memsidecar_model_call_seconds",
                Kind.HISTOGRAM,
                "How long calls to models took, with their retries.",
                lambda: [((meter.kind,), meter.calls.seconds) for meter in self._meters],
                ("kind",),
            ),
            Metric(
                "memsidecar_model_items_total",
                counter,
                "Texts in calls to models: embedded, read, or put in order.",
                lambda: [((meter.kind,), meter.calls.items) for meter in self._meters],
                ("kind",),
            ),
            Metric(
                "memsidecar_model_requests_total",
                counter,
                "Requests to a model's server: the first of a call, again after a failure, or to repair an answer.",
                self._requests,
                ("kind", "cause"),
            ),
            Metric(
                "memsidecar_model_tokens_total",
                counter,
                "Tokens, as the model's server counts them; this is what it costs.",
                self._tokens,
                ("kind", "direction"),
            ),
            Metric(
                "memsidecar_model_left_alone",
                Kind.GAUGE,
                "1 while a model's server keeps failing and is asked nothing (its circuit breaker is open), else 0.",
                lambda: self._of_remote(lambda remote: int(remote.left_alone)),
                ("kind",),
            ),
            Metric(
                "memsidecar_extraction_claims_total",
                counter,
                "Claims that a model made of what it read; those that their text does not bear out are rejected.",
                self._claims,
                ("outcome",),
            ),
        )

    def _take(self, kind: str, calls: Calls, inner: object) -> None:
        self._meters.append(_Meter(kind, calls, inner if isinstance(inner, Remote) else None))

    def _calls(self) -> Samples:
        for meter in self._meters:
            for outcome, count in meter.calls.ended.items():
                yield (meter.kind, outcome), count

    def _requests(self) -> Samples:
        for meter in self._meters:
            if meter.remote is not None:
                usage = meter.remote.usage
                first = usage.calls - usage.retries - usage.repairs
                causes = {"first": max(0, first), "retry": usage.retries, "repair": usage.repairs}
                for cause, count in causes.items():
                    yield (meter.kind, cause), count

    def _tokens(self) -> Samples:
        for meter in self._meters:
            if meter.remote is not None:
                yield (meter.kind, "prompt"), meter.remote.usage.prompt_tokens
                yield (meter.kind, "completion"), meter.remote.usage.completion_tokens

    def _claims(self) -> Samples:
        for meter in self._meters:
            if meter.remote is not None and meter.kind == "extract":
                yield ("kept",), meter.remote.usage.claims
                yield ("rejected",), meter.remote.usage.rejected

    def _of_remote(self, value: Callable[[Remote], float]) -> Samples:
        return [((meter.kind,), value(meter.remote)) for meter in self._meters if meter.remote is not None]
