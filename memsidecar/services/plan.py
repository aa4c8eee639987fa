"""What a recall has made of its question, and how its tiers did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memsidecar.domain.language import language_of
from memsidecar.domain.profile import Profile
from memsidecar.domain.question import Analysis
from memsidecar.domain.recall import Question, Tier, TierOutcome, TierReport, Understanding
from memsidecar.services.conversation import Heard
from memsidecar.services.named_times import Times
from memsidecar.services.residency import Loaded
from memsidecar.services.resident import Resident
from memsidecar.services.search import Search

# What finds candidates in long-term memory.
FINDERS = (Tier.VECTOR, Tier.GRAPH, Tier.KEYWORD, Tier.RECENCY)
_NOTHING_TO_FIND = {
    Tier.VECTOR: "the query has no vector yet",
    Tier.KEYWORD: "the query has no words to look for",
    Tier.GRAPH: "the query names no known entity",
    Tier.RECENCY: "the query and its profile do not ask for what is new",
}
NO_SESSION = TierReport(Tier.SESSION, TierOutcome.SKIPPED, 0, 0.0, "the query names no session")


@dataclass(slots=True)
class Plan:
    """A question with what it means in each partition that it reads. `loaded` are those of the present.

    `now` is when the question is asked, `known` when the partitions are read.
    """

    question: Question
    profile: Profile
    residents: list[tuple[Resident, Analysis]]
    loaded: list[Loaded]
    now: int
    known: int
    deadline: float | None
    tiers: frozenset[Tier]
    times: Times
    heard: Heard | None
    reports: dict[Tier, TierReport] = field(default_factory=dict)


def understood(plan: Plan) -> Understanding:
    analysis, heard = plan.residents[0][1], plan.heard
    start, end = plan.times.whole or (None, None)
    rewritten = heard.text if heard is not None and heard.changed else ""
    return Understanding(
        people=analysis.people,
        entities=analysis.entities,
        start=start,
        end=end,
        language=language_of(plan.question.text),
        breadth=analysis.cues.breadth,
        rewritten=rewritten,
    )


def report_of(plan: Plan, tier: Tier, searches: Sequence[Search]) -> TierReport:
    """How a tier did over all partitions: the worst of what happened, the sum of what it brought."""
    if tier in plan.reports:
        return plan.reports[tier]
    if tier not in plan.tiers:
        return TierReport(tier, TierOutcome.SKIPPED, 0, 0.0, "not asked for")
    parts = [search.reports[tier] for search in searches if tier in search.reports]
    if not parts:
        return TierReport(tier, TierOutcome.SKIPPED, 0, 0.0, _NOTHING_TO_FIND[tier])
    worst = max(parts, key=lambda part: part.outcome is not TierOutcome.OK)
    return replace(worst, hit_count=sum(p.hit_count for p in parts), elapsed=sum(p.elapsed for p in parts))


def note(plan: Plan, outcome: TierOutcome, elapsed: float, why: str) -> None:
    plan.reports[Tier.VECTOR] = TierReport(Tier.VECTOR, outcome, 0, elapsed, why)
