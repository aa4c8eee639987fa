"""Which traces are kept. Decided once, where a trace begins; every span in it follows."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_ON,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from opentelemetry.trace import Link, SpanKind
from opentelemetry.trace.span import TraceState
from opentelemetry.util.types import Attributes


def sampler(ratio: float, follow_caller: bool) -> Sampler:
    """Keeps the part `ratio` of the traces that begin here, and, with `follow_caller`, what a caller has decided of the
    others; without it, the same part of those."""
    root = _Linked(TraceIdRatioBased(ratio))
    if follow_caller:
        return ParentBased(root)
    return ParentBased(root, remote_parent_sampled=root, remote_parent_not_sampled=root)


class _Linked(Sampler):
    """A trace that goes on with what another one began is kept when that one is."""

    def __init__(self, otherwise: Sampler) -> None:
        self._otherwise = otherwise

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        if links and links[0].context.trace_flags.sampled:
            return ALWAYS_ON.should_sample(parent_context, trace_id, name, kind, attributes, links)
        if links:
            return SamplingResult(Decision.DROP)
        return self._otherwise.should_sample(parent_context, trace_id, name, kind, attributes, links)

    def get_description(self) -> str:
        return f"linked, else {self._otherwise.get_description()}"
