"""What writes came to, over all partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memsidecar.domain.conflict import ConflictState
from memsidecar.domain.draft import Action, Outcome
from memsidecar.domain.events import ConflictRecorded, Entry
from memsidecar.domain.view import IDENTITY
from memsidecar.ports.metrics import Kind, Metric


class WriteCounts:
    """Counts what is committed; a request that is answered again is not counted twice."""

    def __init__(self) -> None:
        self.actions = dict.fromkeys(Action, 0)
        self.conflicts = dict.fromkeys(ConflictState, 0)

    def answered(self, results: Iterable[object]) -> None:
        """What one request did, with what was read out of its texts."""
        for result in results:
            if isinstance(result, Outcome):
                self.actions[result.action] += 1
                for each in result.extracted:
                    self.actions[each.action if isinstance(each, Outcome) else Action.DECLINED] += 1

    def committed(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            # A merge of entities is recorded likewise, and is no conflict.
            if isinstance(entry.event, ConflictRecorded) and entry.event.conflict.attribute != IDENTITY:
                self.conflicts[entry.event.conflict.state] += 1

    def metrics(self) -> Sequence[Metric]:
        return (
            Metric(
                "memsidecar_memories_written_total",
                Kind.COUNTER,
                "What became of what was to be remembered, and of what was read out of it.",
                lambda: [((action.name.lower(),), count) for action, count in self.actions.items()],
                ("action",),
            ),
            Metric(
                "memsidecar_conflict_records_total",
                Kind.COUNTER,
                "Records of conflicts between memories, by where the conflict stands with them.",
                lambda: [((state.name.lower(),), count) for state, count in self.conflicts.items()],
                ("state",),
            ),
        )
