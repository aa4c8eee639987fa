"""What the ledger's records draw, slots and conflicts included, for comparing a projection with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.finding import Finding
from memsidecar.domain.fold import Edge, edges_of
from memsidecar.domain.memory import Memory
from memsidecar.domain.ties import ENDS, Tie, judgements_of, ties_of
from memsidecar.services.resident import Resident


class Drawn:
    """The edges and ties that there are to be between memories.

    What refers to an id that was purged and given to another memory later has no edge to that one; from the newest
    versions alone that cannot be told, so an edge to a memory that is younger than what draws it may be missing.
    """

    def __init__(self, memories: Mapping[str, Memory], conflicts: Iterable[Conflict]) -> None:
        self._memories = memories
        # By each of its ends: ties, and the time of the record that draws it.
        self._ties: dict[str, dict[Tie, int]] = defaultdict(dict)
        for memory in memories.values():
            for tie in ties_of(memory):
                self._expect(tie, memory.updated_at)
        for conflict in conflicts:
            for tie in judgements_of(conflict):
                judged = memories.get(tie.target)
                if judged is not None:
                    whole = replace(tie, valid_from=judged.valid_from, valid_to=judged.valid_to)
                    self._expect(whole, conflict.updated_at)

    def _expect(self, tie: Tie, time: int) -> None:
        source, target = self._memories.get(tie.source), self._memories.get(tie.target)
        if target is None or (source is None and tie.source):
            return
        if (source.kind if source is not None else None, target.kind) in ENDS[tie.relation]:
            self._ties[tie.source][tie] = self._ties[tie.target][tie] = time

    def wrong_edges(self, memory: Memory, found: Collection[Edge]) -> bool:
        """Whether these are not the edges that issue from a memory."""
        wanted = {edge for edge in edges_of(memory) if edge.target in self._memories}
        missing = wanted.difference(found)
        return not wanted.issuperset(found) or any(not self._is_young(e.target, memory.updated_at) for e in missing)

    def wrong_ties(self, found: Collection[Tie], memory_ids: Collection[str]) -> set[str]:
        """Who draws ties at these memories, all that were found, that are not as they are to be."""
        wanted: dict[Tie, int] = {}
        for memory_id in memory_ids:
            wanted |= self._ties.get(memory_id, {})
        wrong = {tie.drawn_by for tie in found if tie not in wanted}
        for tie in wanted.keys() - set(found):
            if not any(self._is_young(end, wanted[tie]) for end in (tie.source, tie.target)):
                wrong.add(tie.drawn_by)
        return wrong

    def _is_young(self, memory_id: str, time: int) -> bool:
        memory = self._memories.get(memory_id)
        return memory is not None and memory.created_at > time


def conflict_differences(truth: Resident, other: Resident) -> Iterator[Finding]:
    """Conflicts and slots of a snapshot that are not the ledger's."""
    name = truth.partition
    ids = {conflict.id: None for resident in (truth, other) for conflict in resident.conflicts.all()}
    for conflict_id in ids:
        if truth.conflict(conflict_id) != other.conflict(conflict_id):
            yield Finding("vectors", name, conflict_id, "in the snapshot is not the ledger's conflict")
    wanted, found = (resident.lookup.slots_by_memory() for resident in (truth, other))
    for memory_id in {**wanted, **found}:
        if wanted.get(memory_id) != found.get(memory_id):
            yield Finding("vectors", name, memory_id, "its slot in the snapshot differs from the ledger's")
