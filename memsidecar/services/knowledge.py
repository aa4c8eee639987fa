"""Conflicts: which there are, and what is made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from memsidecar.domain import limits
from memsidecar.domain.conflict import Conflict, ConflictState
from memsidecar.domain.conflicts.resolving import Choice, Replace, resolve
from memsidecar.domain.conflicts.shown import Shown, shown
from memsidecar.domain.conflicts.undoing import undo
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Action, Outcome, Request
from memsidecar.domain.errors import NotFound
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition, Scope, resource_name
from memsidecar.domain.view import IDENTITY
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.preparing import Preparing
from memsidecar.services.recorded import Result
from memsidecar.services.residency import Residency
from memsidecar.services.turn import Turn

_OPEN = frozenset({ConflictState.OPEN})


@dataclass(frozen=True, slots=True)
class ConflictPage:
    """`next` continues the list when passed back as `before`; None at the end."""

    conflicts: tuple[Shown, ...]
    next: int | None


@dataclass(frozen=True, slots=True)
class Settled:
    """A conflict and its memories as a write left them."""

    shown: Shown
    revision: int


class Knowledge:
    def __init__(self, residency: Residency, preparing: Preparing, backlog: EmbeddingBacklog) -> None:
        self._residency, self._preparing, self._backlog = residency, preparing, backlog

    async def list(
        self, scope: Scope, states: Collection[ConflictState], memory_id: str, before: int | None, limit: int
    ) -> ConflictPage:
        """A page of the conflicts that have, or had, a memory of the scope, newest first. While others write, none is
        left out or given twice.

        Empty `states` means open ones; `memory_id`, when not empty, must take part. The page ends before `limit` where
        its texts alone fill an answer. Raises LedgerDamaged, StoreUnavailable.
        """
        resident = await self._residency.view(scope.partition)
        conflicts = resident.conflicts.all()
        found: list[Shown] = []
        chars, turn = 0, Turn()
        for place in range(min(len(conflicts), len(conflicts) if before is None else before) - 1, -1, -1):
            await turn.give()
            conflict = conflicts[place]
            if conflict.state not in (states or _OPEN) or (memory_id and memory_id not in conflict.memories):
                continue
            if conflict.attribute == IDENTITY:
                # The record of a merge of entities is no conflict of memories.
                continue
            if len(found) == limit or chars > limits.MAX_PAGE_BYTES:
                return ConflictPage(tuple(found), place + 1)
            resident = await self._residency.view(scope.partition)
            conflict = resident.conflict(conflict.id) or conflict
            one = shown(resident, conflict)
            if _is_in(scope, one.sides):
                found.append(one)
                chars += one.chars
        return ConflictPage(tuple(found), None)

    async def get(self, partition: Partition, conflict_id: str) -> Shown:
        """Raises NotFound."""
        resident = await self._residency.view(partition)
        conflict = resident.conflict(conflict_id)
        if conflict is None or conflict.attribute == IDENTITY:
            raise NotFound(resource_name(partition, "conflicts", conflict_id))
        return shown(resident, conflict)

    async def resolve(
        self, partition: Partition, conflict_id: str, choice: Choice, etag: str, reason: str, request: Request
    ) -> Settled:
        """Settle a conflict. A replacement is read and embedded here. Raises NotFound, EtagMismatch, InvalidField,
        DimensionMismatch, ConflictBlocked."""
        terms = None
        if isinstance(choice, Replace):
            (found,) = await self._preparing([choice.draft], embed=True)
            choice = replace(choice, found=found.mentions, vectors=found.vectors)
            terms = {found.text: found.terms}

        def command(decision: Decision) -> Iterable[Result]:
            return _told(decision, resolve(decision, conflict_id, choice, etag, reason))

        answer = await self._residency.write(partition, command, request, terms)
        self._notice(partition)
        return await self._settled(partition, conflict_id, answer.results, answer.revision)

    async def undo(self, partition: Partition, conflict_id: str, etag: str, reason: str, request: Request) -> Settled:
        """Take a resolution back. Raises NotFound, EtagMismatch, InvalidField, ConflictBlocked."""

        def command(decision: Decision) -> Iterable[Result]:
            return _told(decision, undo(decision, conflict_id, etag, reason))

        answer = await self._residency.write(partition, command, request)
        return await self._settled(partition, conflict_id, answer.results, answer.revision)

    def _notice(self, partition: Partition) -> None:
        loaded = self._residency.peek(partition)
        if loaded is not None and loaded.resident.due:
            self._backlog.notice(partition)

    async def _settled(
        self, partition: Partition, conflict_id: str, results: tuple[Result, ...], revision: int
    ) -> Settled:
        """What a write has left: its own results, and beside them what is only quoted."""
        conflict = results[0]
        if not isinstance(conflict, Conflict):
            raise NotFound(resource_name(partition, "conflicts", conflict_id))
        written: Mapping[str, Memory] = {r.memory.id: r.memory for r in results if isinstance(r, Outcome)}
        resident = await self._residency.view(partition)
        quoted = {i: m for i, m in shown(resident, conflict).memories.items() if i not in conflict.memories}
        return Settled(Shown(conflict, {**quoted, **written}), revision)


def _told(decision: Decision, conflict: Conflict) -> Iterable[Result]:
    """The conflict, then its memories as they are now."""
    yield conflict
    for memory_id in conflict.memories:
        memory = decision.view.memory(memory_id)
        if memory is not None:
            yield Outcome(Action.CREATED, memory, "")


def _is_in(scope: Scope, memories: Iterable[Memory]) -> bool:
    if not scope.agent and not scope.session:
        return True
    return any(
        (not scope.agent or memory.scope.agent in ("", scope.agent))
        and (not scope.session or memory.scope.session == scope.session)
        for memory in memories
    )
