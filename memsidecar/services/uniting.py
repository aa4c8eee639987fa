"""Folding duplicates of an entity into one, and taking that back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memsidecar.domain.conflicts.rule_choice import DEFAULT_RULE_CHOICE, RuleChoice
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Action, Outcome, Request
from memsidecar.domain.entities import Merged, merging, unmerging
from memsidecar.domain.errors import NotFound
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition
from memsidecar.services.recorded import Result
from memsidecar.services.residency import Residency
from memsidecar.services.writing import Command, Pause, in_turns


@dataclass(frozen=True, slots=True)
class United:
    """The entities as they are now, the target of the merge first; how many memories name another one than before,
    and the ids of the conflicts that this has opened."""

    entities: tuple[Memory, ...]
    moved: int
    conflicts: tuple[str, ...]
    revision: int


class _Previewed(Exception):
    def __init__(self, merged: Merged) -> None:
        super().__init__()
        self.merged = merged


class UniteEntities:
    def __init__(self, residency: Residency, rules: RuleChoice = DEFAULT_RULE_CHOICE) -> None:
        self._residency, self._rules = residency, rules

    async def merge(
        self, partition: Partition, target: str, sources: Sequence[str], reason: str, request: Request
    ) -> United:
        """Raises NotFound, InvalidField."""

        rules = self._rules.of(partition.namespace)

        def command(decision: Decision) -> Iterator[Result | Pause]:
            yield from _told((yield from in_turns(merging(decision, target, sources, reason, rules))))

        return await self._write(partition, command, request)

    async def preview(
        self, partition: Partition, target: str, sources: Sequence[str], reason: str, request: Request
    ) -> United:
        """What `merge` would do; nothing is done. Raises as it does."""
        rules = self._rules.of(partition.namespace)

        def command(decision: Decision) -> Iterator[Result | Pause]:
            merged = yield from in_turns(merging(decision, target, sources, reason, rules))
            raise _Previewed(merged)

        # Decided where nothing else changes meanwhile, and given up.
        try:
            await self._residency.write(partition, command, Request(actor=request.actor))
        except _Previewed as seen:
            resident, merged = await self._residency.view(partition), seen.merged
            return United(merged.entities, merged.moved, merged.conflicts, resident.head.revision)
        raise AssertionError("a preview has written")

    async def undo(self, partition: Partition, source: str, reason: str, request: Request) -> United:
        """Raises NotFound, InvalidField, ConflictBlocked."""

        def command(decision: Decision) -> Iterator[Result | Pause]:
            yield from _told((yield from in_turns(unmerging(decision, source, reason))))

        return await self._write(partition, command, request)

    async def _write(self, partition: Partition, command: Command, request: Request) -> United:
        answer = await self._residency.write(partition, command, request)
        moved = next((result for result in answer.results if isinstance(result, int)), 0)
        outcomes = [result for result in answer.results if isinstance(result, Outcome)]
        if not outcomes:
            raise NotFound("an entity merged by this request (purged since)")
        entities = tuple(outcome.memory for outcome in outcomes)
        return United(entities, moved, outcomes[0].conflicts, answer.revision)


def _told(merged: Merged) -> Iterable[Result]:
    yield merged.moved
    for entity in merged.entities:
        yield Outcome(Action.CREATED, entity, "", conflicts=merged.conflicts)
