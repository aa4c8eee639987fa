"""A recall whose stages are spans. Used only where traces are collected: the other one has nothing of it in its way."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from memsidecar.domain.events import Matrix
from memsidecar.domain.recall import Question, Recalled
from memsidecar.ports.tracing import Tracer
from memsidecar.services.answering import Wanted
from memsidecar.services.plan import Plan
from memsidecar.services.recall import Recall
from memsidecar.services.search import Search
from memsidecar.services.sources import SOURCES, Source
from memsidecar.services.traced_calls import traced


class TracedRecall(Recall):
    """The four stages of ARCHITECTURE.md: recall.understand, recall.find.* (a span a source), recall.score and
    recall.choose. The embedder, the session and the reranker have spans of their own."""

    def __init__(self, tracer: Tracer, *parts: Any) -> None:
        """`parts` are those of `Recall`."""
        sources = tuple(traced(each, tracer, {"find": f"recall.find.{each.tier.name.lower()}"}) for each in SOURCES)
        super().__init__(*parts, make_search=partial(_TracedSearch, tracer, sources))
        self._tracer = tracer

    async def _plan(self, question: Question) -> Plan:
        with self._tracer.span("recall.understand"):
            return await super()._plan(question)

    def _answer(self, plan: Plan, vector: Matrix | None, searches: list[Search], wanted: Wanted) -> Recalled:
        with self._tracer.span("recall.choose") as span:
            recalled = super()._answer(plan, vector, searches, wanted)
            span.set({"memsidecar.hits": len(recalled.hits), "memsidecar.degraded": recalled.degraded})
            return recalled


class _TracedSearch(Search):
    def __init__(self, tracer: Tracer, sources: Sequence[Source], *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        self._tracer, self._sources = tracer, sources

    def rank(self) -> None:
        with self._tracer.span("recall.score", {"memsidecar.candidates": len(self._rows)}):
            super().rank()
