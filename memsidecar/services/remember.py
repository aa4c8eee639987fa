"""Remember: decide what to store, make it durable, make it findable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from memsidecar.domain.decide import remember
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Draft, Outcome, Request
from memsidecar.domain.errors import InvalidField, NotFound, SidecarError
from memsidecar.domain.scope import Scope
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.preparing import Preparing
from memsidecar.services.residency import Residency


class Wait(IntEnum):
    """How far a write gets before it is answered."""

    DURABLE = 1
    SEARCHABLE = 2


@dataclass(frozen=True, slots=True)
class Stages:
    """How far a write has got; it is durable. `extracted`: everything that is to be read out of it has been, else the
    job `job` goes on with it. `searchable`: recall finds all of it by every means that works."""

    extracted: bool = True
    searchable: bool = True
    job: str = ""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What became of each draft, in order: an outcome, or the error of that draft alone."""

    outcomes: tuple[Outcome | SidecarError, ...]
    revision: int
    stages: Stages = Stages()


class Remember:
    def __init__(self, residency: Residency, preparing: Preparing, backlog: EmbeddingBacklog) -> None:
        self._residency, self._preparing, self._backlog = residency, preparing, backlog

    async def __call__(
        self,
        scope: Scope,
        drafts: Sequence[Draft],
        wait: Wait,
        request: Request,
        *,
        extract: bool = True,
        job: str = "",
    ) -> Remembered:
        """Store the drafts in one transaction. A draft that refers to what is not there fails alone.

        Raises DimensionMismatch, RequestIdReused, StoreFull, StoreUnavailable, LedgerDamaged: then nothing was stored.
        """
        prepared = await self._preparing(drafts, embed=wait is Wait.SEARCHABLE)

        def command(decision: Decision) -> Iterator[Outcome | SidecarError]:
            for draft, found in zip(drafts, prepared, strict=True):
                try:
                    yield remember(decision, draft, found.mentions, found.vectors, found.digest)
                except InvalidField as error:
                    yield error

        terms = {found.text: found.terms for found in prepared}
        answer = await self._residency.write(scope.partition, command, request, terms)
        loaded = self._residency.peek(scope.partition)
        if loaded is not None and loaded.resident.due:
            self._backlog.notice(scope.partition)
        gone = NotFound("a memory stored by this request (purged since)")
        return Remembered(
            tuple(r if isinstance(r, Outcome | SidecarError) else gone for r in answer.results), answer.revision
        )
