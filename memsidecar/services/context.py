"""BuildContext: what a model should read, from long-term memory and the session, under one budget."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memsidecar.domain.context.assemble import assemble
from memsidecar.domain.context.values import Built, Context, Material, Part, Wanted
from memsidecar.domain.errors import ModelUnavailable, StoreUnavailable
from memsidecar.domain.memory import Memory
from memsidecar.domain.recall import Hit, Question, Tier, TierOutcome, TierReport
from memsidecar.domain.session import Message, ScratchEntry
from memsidecar.ports.models import Tokenizer
from memsidecar.ports.runtime import Clock
from memsidecar.ports.sessions import SessionKey
from memsidecar.services.past import Past
from memsidecar.services.patience import seconds_for_sources
from memsidecar.services.profile import standing
from memsidecar.services.recall import Recall
from memsidecar.services.residency import Residency
from memsidecar.services.resident import Resident
from memsidecar.services.sessions import Sessions

# Messages that window and summary are made from; older ones are for recall.
LOOK_BACK = 200
MOST_SCRATCH = 100
# A line of a profile takes about this many tokens, and it gets a seventh of the budget.
_TOKENS_PER_LINE = 7 * 12
_MOST_PROFILE = 128
# A recall ends before the patience with it does, so that what it has found still comes.
_RECALL_SHARE = 0.8
# Characters of material that are put together in about 2 ms, which the event loop has for it.
_ON_LOOP = 8_000
_SESSION_PARTS = frozenset({Part.SUMMARY, Part.SCRATCH, Part.WINDOW})
_RECALLED_PARTS = frozenset({Part.FACTS, Part.EPISODES})


@dataclass(slots=True)
class _Remembered:
    hits: tuple[Hit, ...] = ()
    profile: tuple[Memory, ...] = ()
    revision: int = 0
    reports: tuple[TierReport, ...] = ()


@dataclass(slots=True)
class _Said:
    report: TierReport
    messages: Sequence[Message] = ()
    scratch: Sequence[ScratchEntry] = ()


class BuildContext:
    def __init__(
        self, recall: Recall, residency: Residency, past: Past, sessions: Sessions, tokenizer: Tokenizer, clock: Clock
    ) -> None:
        self._recall, self._residency, self._past, self._sessions = recall, residency, past, sessions
        self._tokenizer, self._clock = tokenizer, clock

    async def __call__(self, wanted: Wanted) -> Built:
        """The context. A source that fails or runs out of time is reported and its sections are left out.

        Raises InvalidField (a budget too small), TokenizerUnknown, NotFound (the session), and of a recall
        DimensionMismatch, RevisionUnknown, LedgerDamaged.
        """
        encoding = self._tokenizer.resolve(wanted.tokenizer)
        remembered, said = await _together(self._remembered(wanted), self._said(wanted))
        material = Material(remembered.profile, remembered.hits, tuple(said.messages), tuple(said.scratch))
        make = partial(self._made, wanted, material, encoding)
        # Another encoding may have its vocabulary to load.
        short = encoding == self._tokenizer.resolve("") and _size(wanted, material) <= _ON_LOOP
        context = make() if short else await asyncio.to_thread(make)
        reports = (said.report, *(report for report in remembered.reports if report.tier is not Tier.SESSION))
        degraded = any(report.outcome in (TierOutcome.TIMED_OUT, TierOutcome.UNAVAILABLE) for report in reports)
        return Built(context, reports, degraded, wanted.question.scope.partition, remembered.revision)

    def _made(self, wanted: Wanted, material: Material, encoding: str) -> Context:
        if encoding != self._tokenizer.resolve(""):
            material = replace(material, messages=tuple(self._sessions.recounted(material.messages, encoding)))
        return assemble(wanted, material, partial(self._tokenizer.count, encoding=encoding))

    async def _remembered(self, wanted: Wanted) -> _Remembered:
        """Hits and profile of one revision: nothing is awaited between the two once the partition is in memory."""
        found = _Remembered()
        try:
            if wanted.shares.keys() & _RECALLED_PARTS:
                await self._recalled(wanted, found)
            async with asyncio.timeout(seconds_for_sources()):
                question, now = wanted.question, self._clock.now()
                resident = await self._view(question, now)
                found.revision = resident.head.revision
                if Part.PROFILE in wanted.shares:
                    limit = min(_MOST_PROFILE, max(8, wanted.max_tokens // _TOKENS_PER_LINE))
                    then = now if question.known_at is None else min(question.known_at, now)
                    found.profile = standing(resident, question.scope, question.filter, then, limit)
        except TimeoutError:
            found.reports = _failed(found, TierOutcome.TIMED_OUT, "the caller's time ran out")
        except StoreUnavailable as error:
            found.reports = _failed(found, TierOutcome.UNAVAILABLE, str(error))
        return found

    async def _view(self, question: Question, now: int) -> Resident:
        """The partition at the time that the question asks about."""
        partition = question.scope.partition
        if question.known_at is None or question.known_at >= now:
            return await self._residency.view(partition)
        return await self._past.view(partition, question.known_at, now)

    async def _recalled(self, wanted: Wanted, found: _Remembered) -> None:
        question, patience = wanted.question, seconds_for_sources()
        # The session has sections of its own.
        tiers = (question.tiers or frozenset(Tier)) - {Tier.SESSION}
        if not tiers:
            return
        deadlines = [question.soft_deadline] if question.soft_deadline is not None else []
        if patience is not None:
            deadlines.append(max(0.001, patience * _RECALL_SHARE))
        asked = replace(
            question,
            tiers=tiers,
            # Weak hits are told apart from those that were never found.
            min_score=0.0,
            soft_deadline=min(deadlines, default=None),
        )
        try:
            async with asyncio.timeout(patience):
                recalled = await self._recall.once(asked)
        except ModelUnavailable as error:
            found.reports = (TierReport(Tier.VECTOR, TierOutcome.UNAVAILABLE, 0, 0.0, str(error)),)
        except TimeoutError:
            found.reports = _failed(found, TierOutcome.TIMED_OUT, "the caller's time ran out")
        else:
            found.hits, found.reports = recalled.hits, recalled.reports

    async def _said(self, wanted: Wanted) -> _Said:
        if not wanted.session:
            return _Said(_of_session(TierOutcome.SKIPPED, 0, 0.0, "the query names no session"))
        if not wanted.shares.keys() & _SESSION_PARTS:
            return _Said(_of_session(TierOutcome.SKIPPED, 0, 0.0, "no section asks for it"))
        key = SessionKey(wanted.question.scope.partition, wanted.session)
        started = self._clock.monotonic()
        try:
            async with asyncio.timeout(_least(seconds_for_sources(), wanted.question.soft_deadline)):
                _, messages = await self._sessions.conversation(key, LOOK_BACK)
                scratch: Sequence[ScratchEntry] = ()
                if Part.SCRATCH in wanted.shares:
                    scratch = await self._sessions.list_scratch(key, "", "", MOST_SCRATCH)
        except TimeoutError:
            took = self._clock.monotonic() - started
            return _Said(_of_session(TierOutcome.TIMED_OUT, 0, took, "the session store took too long"))
        except StoreUnavailable as error:
            return _Said(_of_session(TierOutcome.UNAVAILABLE, 0, self._clock.monotonic() - started, str(error)))
        report = _of_session(TierOutcome.OK, len(messages), self._clock.monotonic() - started, "")
        return _Said(report, messages, scratch)


async def _together(
    remembered: Coroutine[Any, Any, _Remembered], said: Coroutine[Any, Any, _Said]
) -> tuple[_Remembered, _Said]:
    """Both; when one raises, the other is ended first."""
    asked = asyncio.create_task(said, name="context-session")
    try:
        return await remembered, await asked
    finally:
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)


def _least(one: float | None, other: float | None) -> float | None:
    given = [seconds for seconds in (one, other) if seconds is not None]
    return min(given, default=None)


def _of_session(outcome: TierOutcome, found: int, elapsed: float, message: str) -> TierReport:
    return TierReport(Tier.SESSION, outcome, found, elapsed, message)


def _failed(found: _Remembered, outcome: TierOutcome, message: str) -> tuple[TierReport, ...]:
    """The tiers that said nothing when long-term memory as a whole failed."""
    said = {report.tier for report in found.reports}
    silent = [tier for tier in Tier if tier is not Tier.SESSION and tier not in said]
    return (*found.reports, *(TierReport(tier, outcome, 0, 0.0, message) for tier in silent))


def _size(wanted: Wanted, material: Material) -> int:
    return (
        len(wanted.system_prompt)
        + len(wanted.question.text)
        + sum(len(memory.text) for memory in material.profile)
        + sum(len(hit.memory.text) for hit in material.hits)
        + sum(len(message.text) + 64 for message in material.messages)
        + sum(len(entry.value) for entry in material.scratch)
    )
