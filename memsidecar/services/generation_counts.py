"""What was done for the generations that are followed."""

from __future__ import annotations

from collections.abc import Sequence

from memsidecar.domain.generation.values import Backoff, Output, Reason, Retract, Send
from memsidecar.domain.measures import Calls
from memsidecar.ports.metrics import Kind, Metric


class GenerationCounts:
    """`evaluations` are counted with their wait for a turn."""

    def __init__(self) -> None:
        self.evaluations = Calls("answered", "degraded", "no_news")
        self.sent = self.backoffs = 0
        self.retracted = dict.fromkeys(Reason, 0)

    def told(self, output: Output) -> None:
        """Something that the agent is told."""
        match output:
            case Send():
                self.sent += 1
            case Retract(reason=reason):
                self.retracted[reason] += 1
            case Backoff():
                self.backoffs += 1
            case _:
                pass

    def metrics(self) -> Sequence[Metric]:
        counter = Kind.COUNTER
        return (
            Metric(
                "memsidecar_generation_evaluations_total",
                counter,
                "Searches for what a model writes; no_news is one whose text was close to the one before.",
                lambda: [((outcome,), count) for outcome, count in self.evaluations.ended.items()],
                ("outcome",),
            ),
            Metric(
                "memsidecar_generation_evaluation_seconds",
                Kind.HISTOGRAM,
                "How long searches for what a model writes took, the wait for a turn among it.",
                lambda: [((), self.evaluations.seconds)],
            ),
            Metric(
                "memsidecar_generation_hits_sent_total",
                counter,
                "Memories that agents were sent while a model wrote.",
                lambda: [((), self.sent)],
            ),
            Metric(
                "memsidecar_generation_hits_retracted_total",
                counter,
                "Memories that agents were sent and that were taken back, by why they no longer hold.",
                lambda: [((reason.name.lower(),), count) for reason, count in self.retracted.items()],
                ("reason",),
            ),
            Metric(
                "memsidecar_generation_backoffs_total",
                counter,
                "Times that a stream was told that its text is looked at less often.",
                lambda: [((), self.backoffs)],
            ),
        )
