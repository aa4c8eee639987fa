"""What recalls came to, and how their sources did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memsidecar.domain.measures import Histogram
from memsidecar.domain.recall import Recalled, Tier, TierOutcome
from memsidecar.ports.metrics import Kind, Metric, Samples

# A source is asked on the event loop: a tenth of a millisecond is usual.
_BOUNDS: Final = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_OK, _SKIPPED = TierOutcome.OK, TierOutcome.SKIPPED


class RecallCounts:
    def __init__(self) -> None:
        self.answers = {(kind, outcome): 0 for kind in _KINDS for outcome in ("complete", "degraded")}
        self.hits = dict.fromkeys(_KINDS, 0)
        self.failures = {(tier, how): 0 for tier in Tier for how in (TierOutcome.TIMED_OUT, TierOutcome.UNAVAILABLE)}
        # By the number of the tier; there is none with 0.
        self._seconds = [Histogram(_BOUNDS) for _ in range(max(Tier) + 1)]

    def note(self, kind: str, recalled: Recalled) -> None:
        """A whole answer to a question ("question"), or to the text of a generation ("evaluation")."""
        outcome = "complete"
        for report in recalled.reports:
            if report.outcome is _OK:
                self._seconds[report.tier].observe(report.elapsed)
            elif report.outcome is not _SKIPPED:
                self.failures[report.tier, report.outcome] += 1
                outcome = "degraded"
        self.answers[kind, outcome] += 1
        self.hits[kind] += len(recalled.hits)

    def metrics(self) -> Sequence[Metric]:
        counter = Kind.COUNTER
        return (
            Metric(
                "memsidecar_recall_answers_total",
                counter,
                "Answers to a question, or to what a model writes (evaluation); a degraded one lacks a source.",
                lambda: self.answers.items(),
                ("kind", "outcome"),
            ),
            Metric(
                "memsidecar_recall_hits_total",
                counter,
                "Memories in answers to questions, and to what a model writes.",
                lambda: [((kind,), count) for kind, count in self.hits.items()],
                ("kind",),
            ),
            Metric(
                "memsidecar_recall_source_seconds",
                Kind.HISTOGRAM,
                "How long a source took that had something to look for and answered.",
                self._took,
                ("source",),
            ),
            Metric(
                "memsidecar_recall_source_failures_total",
                counter,
                "Sources that were too late or failed, so that an answer went without them.",
                lambda: [((_name(tier), how.name.lower()), count) for (tier, how), count in self.failures.items()],
                ("source", "outcome"),
            ),
        )

    def _took(self) -> Samples:
        return [((_name(tier),), self._seconds[tier]) for tier in Tier]


QUESTION: Final = "question"
EVALUATION: Final = "evaluation"
_KINDS: Final = (QUESTION, EVALUATION)


def _name(tier: Tier) -> str:
    return tier.name.lower()
