"""A followed generation as a machine: events in, events out. It knows no network, no store and no clock."""

from __future__ import annotations

from collections.abc import Sequence

from memsidecar.domain.generation.values import (
    Candidate,
    Changed,
    Evaluation,
    Exchange,
    GenerationOutcome,
    MemoryKey,
    Output,
    Source,
    Terms,
)


class Generation:
    """One stream. Its owner passes on what comes in, then asks `evaluation` what to search for, then drains `outputs`,
    and does so again at `due` when nothing comes in. `at` never decreases.

    Inputs raise ProtocolViolation for an event out of turn, and InvalidField for a bad value; either leaves everything
    as it was.
    """

    def __init__(self, terms: Terms, at: float) -> None: ...

    def text(self, seq: int, text: str, source: Source, at: float) -> None:
        """The next delta. An empty one only counts."""

    def flush(self, at: float) -> None:
        """Evaluate all that is there, at once; a watermark follows when that is done."""

    def credit(self, hits: int, at: float) -> None:
        """Allow 1 to 1000 more hits; the best that wait are sent at once."""

    def rewind(self, seq: int, at: float) -> None:
        """Drop the text of every delta after `seq`."""

    def finish(self, outcome: GenerationOutcome, remember: bool, at: float) -> None:
        """The end: totals are queued, nothing is evaluated any more, and further inputs but `evaluated` and `changed`
        are violations."""

    def evaluated(self, evaluation: Evaluation, found: Sequence[Candidate], degraded: bool, at: float) -> None:
        """The answer to the evaluation that is under way, in any order; empty when it was not worth a search, or when
        nothing was found. More than `max_hits` may come: those that were sent before do not count.

        Raises ValueError for another evaluation than that. Ignored after finish.
        """

    def changed(self, changes: Sequence[Changed], at: float) -> None:
        """What has stopped holding, of any memory of the partitions that are searched, in the order of the commits and
        after a reader can see it. Ignored after finish."""

    def evaluation(self, at: float) -> Evaluation | None:
        """What to search for now: at most one until it is answered. To be called after every input and at `due`: the
        heartbeat and quiet moments are noticed here, too."""
        return None

    def due(self) -> float | None:
        """When to ask for `evaluation` again if nothing comes in; in the past when there is one already. None after
        finish."""
        return None

    def outputs(self) -> list[Output]:
        """What is to be sent, in order, each once. Bounded however late it is drained: a new watermark replaces one
        that has not been drained, and so does a new backoff."""
        return []

    def held(self) -> list[Candidate]:
        """What was sent and still holds, and what waits for credit: what may expire."""
        return []

    def has_sent(self, key: MemoryKey) -> bool:
        """Whether the memory was sent in this stream, retracted or not."""
        return False

    def exchange(self) -> Exchange:
        """What is to be remembered. Up to 1 MiB is put together: some milliseconds at most unless the sources
        alternate with every character."""
        return Exchange("", "", "")

    @property
    def evaluated_seq(self) -> int:
        """The last delta that was considered; the one before the first when none was."""
        return 0
