"""Remember: decide what to store, make it durable, make it findable, and learn from it what it says."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from memsidecar.domain.claims import Span
from memsidecar.domain.conflicts.rule_choice import DEFAULT_RULE_CHOICE, RuleChoice
from memsidecar.domain.decide import remember
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Action, Declined, Draft, Outcome, Request
from memsidecar.domain.errors import ConflictRejected, InvalidField, NotFound, SidecarError
from memsidecar.domain.job import ItemDue
from memsidecar.domain.learned import ClaimFound, as_known, denies, derived, learn, name_described, strongest_first
from memsidecar.domain.memory import Episode
from memsidecar.domain.scope import Partition, Scope
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.earlier_deeds import EarlierDeeds
from memsidecar.services.learning import Learning
from memsidecar.services.preparing import Preparing
from memsidecar.services.preparing_claims import with_claims
from memsidecar.services.residency import Residency
from memsidecar.services.writing import PAUSE, Pause

_JOBS = uuid.UUID("2c5e9a0e-6f0b-4f52-8f3c-0d9f4b7a1e55")


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
    """`unfinished` says whether a job of a partition has something due, and has it begun."""

    def __init__(
        self,
        residency: Residency,
        preparing: Preparing,
        backlog: EmbeddingBacklog,
        learning: Learning | None = None,
        unfinished: Callable[[Partition, str], Awaitable[bool]] | None = None,
        rules: RuleChoice = DEFAULT_RULE_CHOICE,
    ) -> None:
        self._residency, self._preparing, self._backlog = residency, preparing, backlog
        self._learning, self._unfinished, self._rules = learning, unfinished, rules
        self._deeds = EarlierDeeds(residency, learning) if learning is not None else None

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
        """Store the drafts, and with `extract` what they say, in one transaction. A draft that refers to what is not
        there fails alone, and so does one that is refused for what it contradicts.

        What a model is to read goes on as a job, which is as durable as the drafts; `job` is its id, for a write in
        several parts. Raises DimensionMismatch, RequestIdReused, StoreFull, StoreUnavailable, LedgerDamaged: then
        nothing was stored.
        """
        if extract and self._learning is not None and self._deeds is not None:
            drafts = await self._deeds(scope, await self._learning(drafts, scope))
        prepared, claims, terms = await with_claims(self._preparing, drafts, embed=wait is Wait.SEARCHABLE)
        job = job or job_of(scope.partition, request)
        rules = self._rules.of(scope.namespace)

        def command(decision: Decision) -> Iterator[Outcome | SidecarError | Pause]:
            undenied: list[ClaimFound] = []
            for draft, found, learned in zip(drafts, prepared, claims, strict=True):
                try:
                    name_described(decision, draft)
                    told, digest = as_known(decision, replace(draft, claims=(), declined=()), found.digest)
                    outcome = remember(decision, told, found.mentions, found.vectors, digest, rules)
                except (InvalidField, ConflictRejected) as error:
                    yield error
                    continue
                if learned or draft.declined:
                    extracted: list[Outcome | Declined] = []
                    if any(denies(claim) for claim in draft.claims):
                        # What was said before in this very write, too.
                        learned, undenied = strongest_first(decision, [*learned, *undenied]), []
                    for claim in learned:
                        found_out = list(learn(decision, outcome.memory, [claim], rules))
                        if not found_out:
                            undenied.append(derived(claim, outcome.memory.id))
                        extracted += found_out
                        yield PAUSE
                    outcome = replace(outcome, extracted=(*extracted, *draft.declined))
                if draft.asks and outcome.action is Action.CREATED:
                    due = ItemDue(job, outcome.memory.id, parts_of(draft), agent=scope.agent, session=scope.session)
                    decision.jobs.append(due)
                yield outcome

        answer = await self._residency.write(scope.partition, command, request, terms)
        loaded = self._residency.peek(scope.partition)
        if loaded is not None and loaded.resident.due:
            self._backlog.notice(scope.partition)
        gone = NotFound("a memory stored by this request (purged since)")
        outcomes = tuple(r if isinstance(r, Outcome | SidecarError) else gone for r in answer.results)
        return Remembered(outcomes, answer.revision, await self._stages(scope.partition, drafts, outcomes, job))

    async def _stages(
        self, partition: Partition, drafts: Sequence[Draft], outcomes: Sequence[Outcome | SidecarError], job: str
    ) -> Stages:
        stored = [o for o in outcomes if isinstance(o, Outcome)]
        told = [*stored, *(e for o in stored for e in o.extracted if isinstance(e, Outcome))]
        searchable = not (self._preparing.embeds and any(o.embedding_pending for o in told))
        asks = self._unfinished is not None and any(draft.asks for draft in drafts)
        asked = asks and self._unfinished is not None and await self._unfinished(partition, job)
        return Stages(not asked, searchable, job if asked else "")


def job_of(partition: Partition, request: Request) -> str:
    """The id of the job that goes on with a write: the same for the same request."""
    return str(uuid.uuid5(_JOBS, f"{partition.name} {request.request_id}") if request.request_id else uuid.uuid4())


def parts_of(draft: Draft) -> tuple[Span, ...]:
    """The parts of its text that a model may read; none when that is all of it."""
    whole = (Span(0, len(draft.body.text)),) if isinstance(draft.body, Episode) else ()
    return () if draft.heard is None or draft.heard == whole else draft.heard
