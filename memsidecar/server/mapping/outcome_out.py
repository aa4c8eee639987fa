"""What became of what was to be remembered, and how far a write has got."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memsidecar.domain import limits
from memsidecar.domain.decision import etag_of
from memsidecar.domain.draft import Action, Declined, Outcome
from memsidecar.domain.scope import Partition
from memsidecar.server.mapping.memory_out import UsageOf, set_memory
from memsidecar.server.mapping.names import name_of, names_of
from memsidecar.services.remember import Stages
from memsidecar.services.turn import Turn
from memsidecar.v1 import memory_service_pb2 as pb

# Room in an answer for outcomes without their memories, and for what is no outcome.
_RESERVE = 1024 * 1024
_LAST_RESERVE = 64 * 1024


class Outcomes:
    """Fills the outcomes of one answer: whole while there is room, then without their memories' contents; of those that
    were only read out of a text, the last are left out where even that would not fit."""

    def __init__(self, now: int, usage_of: UsageOf) -> None:
        self._now, self._usage_of = now, usage_of
        self._room = limits.MAX_MESSAGE_BYTES - _LAST_RESERVE
        # One for all items: each alone may be too short to give anybody a turn.
        self._turn = Turn()

    async def fill(self, target: Any, outcomes: Iterable[Outcome]) -> None:
        """What an item became, then what was read out of it."""
        await self.fill_read(target, flattened(outcomes))

    async def fill_read(self, target: Any, outcomes: Iterable[tuple[Outcome | Declined, str]]) -> None:
        """Outcomes, each with the name of the memory that it was read from, empty for what was given itself."""
        for outcome, source in outcomes:
            await self._turn.give()
            if self._room <= 0 and (source or isinstance(outcome, Declined)):
                return
            added: pb.RememberOutcome = target.add()
            self._set(added, outcome, source)
            size = added.ByteSize() + 8
            if isinstance(outcome, Outcome) and size > self._room - _RESERVE:
                added.memory.Clear()
                added.memory.name = name_of(outcome.memory.scope.partition, "memories", outcome.memory.id)
                added.memory.etag = etag_of(outcome.memory)
                size = added.ByteSize() + 8
            self._room -= size

    def _set(self, target: pb.RememberOutcome, outcome: Outcome | Declined, source: str) -> None:
        target.explanation = outcome.explanation
        target.extracted_from = source
        if isinstance(outcome, Declined):
            target.action = pb.REMEMBER_ACTION_DECLINED
            return
        memory = outcome.memory
        partition = memory.scope.partition
        target.action = pb.RememberAction.ValueType(outcome.action)
        set_memory(target.memory, memory, self._now, self._usage_of(partition, memory.id))
        target.embedding_pending = outcome.embedding_pending
        target.superseded_memories.extend(names_of(partition, outcome.superseded))
        target.conflicts.extend(name_of(partition, "conflicts", conflict) for conflict in outcome.conflicts)


def flattened(outcomes: Iterable[Outcome]) -> Iterator[tuple[Outcome | Declined, str]]:
    """The outcomes, then what was read out of each with the name of the memory that it was read from."""
    own: Sequence[Outcome] = tuple(outcomes)
    yield from ((outcome, "") for outcome in own)
    for outcome in own:
        source = name_of(outcome.memory.scope.partition, "memories", outcome.memory.id)
        yield from ((each, source) for each in outcome.extracted)


def action_of(outcome: Outcome | Declined) -> Action:
    return outcome.action if isinstance(outcome, Outcome) else Action.DECLINED


def set_stages(target: pb.WriteStages, stages: Stages, partition: Partition) -> None:
    target.durable = True
    target.extracted, target.searchable = stages.extracted, stages.searchable
    target.job = name_of(partition, "jobs", stages.job)
