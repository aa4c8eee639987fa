"""A second look at the best hits by a model; without it, or when it fails, their order stands."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.memory import Episode, Memory
from memsidecar.domain.recall import Component, Hit, Tier, TierOutcome, TierReport
from memsidecar.ports.models import Reranker
from memsidecar.ports.runtime import Clock
from memsidecar.services.patience import seconds_left

# Seconds that are left to the answer after it: to be cut, written and sent.
MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Reranked:
    """The same hits, the first of them in an order that may be another one, and how that went."""

    hits: tuple[Hit, ...]
    report: TierReport


class Reranking:
    """`top_n` hits are shown to the model."""

    def __init__(self, reranker: Reranker, clock: Clock, top_n: int) -> None:
        self._reranker, self._clock, self._top_n = reranker, clock, top_n

    @property
    def top_n(self) -> int:
        """Hits worth ranking before it, however few are asked for."""
        return self._top_n

    async def rerank(self, question_text: str, hits: Sequence[Hit], deadline: float | None) -> Reranked:
        """Hits in the model's order: its first one with the first one's score, and so on, so that scores keep their
        meaning and still fall; with explanations, one says what that changed. Equal in its eyes, they stay as they are.

        `deadline` is when the recall must be over, on the clock's `monotonic`. Never raises for the model's sake.
        """
        hits, started = tuple(hits), self._clock.monotonic()
        first = hits[: self._top_n]
        if not question_text.strip():
            return Reranked(hits, _report(TierOutcome.SKIPPED, 0, 0.0, "the query has no text"))
        if len(first) < 2:
            return Reranked(hits, _report(TierOutcome.SKIPPED, 0, 0.0, "there is nothing to put in order"))
        budget = self._budget(deadline)
        if budget is not None and budget <= 0:
            return Reranked(hits, _report(TierOutcome.TIMED_OUT, 0, 0.0, "no time was left for it"))
        try:
            async with asyncio.timeout(budget):
                scores = await self._reranker.rank(question_text, [_shown(hit.memory) for hit in first])
        except TimeoutError:
            elapsed = self._clock.monotonic() - started
            return Reranked(hits, _report(TierOutcome.TIMED_OUT, 0, elapsed, "the reranker took too long"))
        except ModelUnavailable as error:
            elapsed = self._clock.monotonic() - started
            return Reranked(hits, _report(TierOutcome.UNAVAILABLE, 0, elapsed, str(error)))
        order = sorted(range(len(first)), key=lambda place: -scores[place])
        moved = [_at_place_of(first[place], above) for place, above in zip(order, first, strict=True)]
        report = _report(TierOutcome.OK, len(first), self._clock.monotonic() - started, "")
        return Reranked((*moved, *hits[self._top_n :]), report)

    def _budget(self, deadline: float | None) -> float | None:
        """Seconds that the caller can spare; None: as many as the model takes."""
        ends = [] if deadline is None else [deadline - self._clock.monotonic()]
        if (left := seconds_left()) is not None:
            ends.append(left)
        return min(ends) - MARGIN if ends else None


def _shown(memory: Memory) -> str:
    body = memory.body
    text = memory.text or "."
    return f"{body.speaker}: {text}" if isinstance(body, Episode) and body.speaker else text


def _at_place_of(hit: Hit, other: Hit) -> Hit:
    change = other.score - hit.score
    if not change:
        return hit
    components = (*hit.components, Component("reranker", 1.0, change, change)) if hit.components else ()
    return replace(hit, score=other.score, components=components)


def _report(outcome: TierOutcome, hits: int, elapsed: float, why: str) -> TierReport:
    return TierReport(Tier.RERANKER, outcome, hits, elapsed, why)
