from __future__ import annotations

from memsidecar.domain.recall import Recalled, Tier, TierOutcome, TierReport
from memsidecar.services.recall_counts import EVALUATION, QUESTION, RecallCounts


def recalled(**outcomes: TierOutcome) -> Recalled:
    return Recalled((), tuple(TierReport(Tier[name], outcome, 0, 0.002) for name, outcome in outcomes.items()), 1, 0.0)


def test_an_answer_is_degraded_when_a_source_fails_or_is_late_and_not_when_it_had_nothing_to_look_for() -> None:
    counts = RecallCounts()
    counts.note(QUESTION, recalled(KEYWORD=TierOutcome.OK, VECTOR=TierOutcome.SKIPPED))
    counts.note(
        QUESTION, recalled(KEYWORD=TierOutcome.OK, VECTOR=TierOutcome.UNAVAILABLE, SESSION=TierOutcome.TIMED_OUT)
    )
    counts.note(EVALUATION, recalled(KEYWORD=TierOutcome.OK, VECTOR=TierOutcome.OK))
    shown = {metric.name: dict(metric.read()) for metric in counts.metrics()}
    assert shown["memsidecar_recall_answers_total"] == {
        ("question", "complete"): 1,
        ("question", "degraded"): 1,
        ("evaluation", "complete"): 1,
        ("evaluation", "degraded"): 0,
    }
    failures = {labels for labels, count in shown["memsidecar_recall_source_failures_total"].items() if count}
    assert failures == {("vector", "unavailable"), ("session", "timed_out")}
    took = {labels[0]: sum(h.counts) for labels, h in shown["memsidecar_recall_source_seconds"].items()}  # type: ignore[union-attr]
    assert took == {"session": 0, "vector": 1, "graph": 0, "keyword": 3, "recency": 0, "reranker": 0}
