"""Recall: ask every tier, rank, answer; each tier may fail alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from memsidecar.domain.confidence import answer_confidence
from memsidecar.domain.errors import ModelUnavailable, RevisionUnknown
from memsidecar.domain.events import Matrix
from memsidecar.domain.grounds import NO_GROUNDS
from memsidecar.domain.profile import Profile
from memsidecar.domain.profile_choice import Choice
from memsidecar.domain.question import Analysis, analyse
from memsidecar.domain.recall import Hit, Question, Recalled, Tier, TierOutcome, TierReport
from memsidecar.domain.scope import Partition, Scope
from memsidecar.ports.runtime import Clock
from memsidecar.ports.time_expressions import TimeExpressions
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.preparing import Space
from memsidecar.services.residency import Loaded, Residency
from memsidecar.services.search import Candidate, Search

Choose = Callable[[Sequence[Candidate], Sequence[Search], Question], Sequence[Candidate]]
"""Which of the sorted candidates of all partitions become hits, in their order. Here diversity has its place."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A year from either end of the calendar: what is said of a time must have a date, too.
_FIRST = (datetime(2, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
_LAST = (datetime(9998, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)

# Candidates to choose from, for every hit asked for.
CHOICE = 3


def first_ones(candidates: Sequence[Candidate], searches: Sequence[Search], question: Question) -> Sequence[Candidate]:
    """The best `max_hits`."""
    return candidates[: question.max_hits]


@dataclass(slots=True)
class _Plan:
    """A question with what it means in each partition that it reads."""

    question: Question
    residents: list[tuple[Loaded, Analysis]]
    profile: Profile
    now: int
    deadline: float | None
    tiers: frozenset[Tier]
    reports: dict[Tier, TierReport]


class Recall:
    def __init__(
        self,
        residency: Residency,
        space: Space,
        backlog: EmbeddingBacklog,
        clock: Clock,
        profiles: Choice,
        spread: float,
        model_timeout: float,
        times: TimeExpressions,
        choose: Choose = first_ones,
    ) -> None:
        """`spread` is the standard deviation of the embedder's cosines within a memory (`Profile.spread`)."""
        self._residency, self._space, self._backlog, self._clock = residency, space, backlog, clock
        self._profiles, self._spread, self._model_timeout = profiles, spread, model_timeout
        self._times, self._choose = times, choose

    async def once(self, question: Question) -> Recalled:
        """The best hits over all tiers. A tier that fails or runs out of time is reported, not an error.

        Raises DimensionMismatch, RevisionUnknown, ModelUnavailable (when no tier could answer), LedgerDamaged.
        """
        plan = await self._plan(question)
        vector = await self._vector(plan)
        await _at_rest(loaded for loaded, _ in plan.residents)
        return self._answer(plan, vector)

    async def stream(self, question: Question) -> AsyncIterator[Hit | TierReport | Recalled]:
        """Hits as they are found, each once: by words and entities at once, by meaning when the model has answered.

        The last item is the whole answer; its hits have all been sent. Raises as `once`.
        """
        plan = await self._plan(question)
        sent: set[tuple[Partition, str]] = set()
        first = plan.tiers - {Tier.VECTOR}
        reported: frozenset[Tier] = frozenset()
        if question.embedding is None and Tier.VECTOR in plan.tiers and first:
            embedding = asyncio.create_task(self._vector(plan), name="embed-question")
            try:
                await _at_rest(loaded for loaded, _ in plan.residents)
                early = self._answer(_with_tiers(plan, first), None)
                for hit in early.hits:
                    sent.add((hit.partition, hit.memory.id))
                    yield hit
                for report in early.reports:
                    if report.tier in first:
                        yield report
                reported = first
                vector = await embedding
            finally:
                embedding.cancel()
                await asyncio.gather(embedding, return_exceptions=True)
        else:
            vector = await self._vector(plan)
        await _at_rest(loaded for loaded, _ in plan.residents)
        answer = self._answer(plan, vector)
        for hit in answer.hits:
            if (hit.partition, hit.memory.id) not in sent:
                yield hit
        for report in answer.reports:
            if report.tier not in reported:
                yield report
        yield answer

    async def _plan(self, question: Question) -> _Plan:
        started = self._clock.monotonic()
        if question.embedding is not None:
            question = replace(question, embedding=self._space.check(question.embedding))
        scope = question.scope
        partitions = [scope.partition]
        if question.include_shared and scope.user:
            partitions.append(Scope(scope.namespace).partition)
        loaded = [await self._residency.get(partition) for partition in partitions]
        await _at_rest(loaded)
        now = question.time if question.time is not None else self._clock.now()
        times = self._times.find(question.text, _moment(now)) if question.text else ()
        residents = []
        for one in loaded:
            resident = one.resident
            if resident.due:
                self._backlog.notice(resident.partition)
            analysis = analyse(question.text, resident.lookup.names(), resident.speakers(), times)
            residents.append((one, analysis))
        if question.min_revision is not None and residents[0][0].resident.head.revision < question.min_revision:
            raise RevisionUnknown(str(question.min_revision))
        tiers = question.tiers or frozenset(Tier)
        profile = question.profile or self._profiles.of_namespace.get(scope.namespace, self._profiles.usual)
        if profile.spread != self._spread:
            profile = replace(profile, spread=self._spread)
        deadline = None if question.soft_deadline is None else started + question.soft_deadline
        return _Plan(question, residents, profile, now, deadline, tiers, {})

    async def _vector(self, plan: _Plan) -> Matrix | None:
        """The question's vector; None, with a report, when the tier cannot answer."""
        question = plan.question
        if Tier.VECTOR not in plan.tiers:
            return None
        if question.embedding is not None:
            given: Matrix = question.embedding.rows[0]
            return given
        text = plan.residents[0][1].embed_text
        if not text.strip():
            _note(plan, TierOutcome.SKIPPED, 0.0, "the query has neither text nor embedding")
            return None
        if not self._space.embeds:
            _note(plan, TierOutcome.SKIPPED, 0.0, "no embedder is configured; send an embedding")
            return None
        started = self._clock.monotonic()
        budget = min(self._model_timeout, question.soft_deadline or self._model_timeout)
        try:
            async with asyncio.timeout(budget):
                vectors = await self._space.embed_query(text)
        except TimeoutError:
            _note(plan, TierOutcome.TIMED_OUT, self._clock.monotonic() - started, "the embedder took too long")
            return None
        except ModelUnavailable as error:
            _note(plan, TierOutcome.UNAVAILABLE, self._clock.monotonic() - started, str(error))
            return None
        found: Matrix | None = vectors.rows[0] if vectors is not None else None
        return found

    def _answer(self, plan: _Plan, vector: Matrix | None) -> Recalled:
        question = plan.question
        searches = []
        for loaded, analysis in plan.residents:
            search = Search(loaded.resident, question, analysis, plan.profile, plan.now, self._clock.monotonic)
            search.run(plan.tiers, vector, plan.deadline)
            searches.append(search)
        reports = [_report(plan, tier, searches) for tier in Tier]
        if not any(r.outcome is TierOutcome.OK for r in reports):
            failed = next((r for r in reports if r.outcome in (TierOutcome.UNAVAILABLE, TierOutcome.TIMED_OUT)), None)
            if failed is not None:
                raise ModelUnavailable(self._space.model, "does not answer, and no other tier can")
        candidates = [
            c for place, search in enumerate(searches) for c in search.best(place, CHOICE * question.max_hits)
        ]
        chosen = self._choose(sorted(candidates), searches, question)
        best = chosen[0].score if chosen else 0.0
        hits = tuple(searches[c.place].hit(c.number, best) for c in chosen)
        # Partitions share one question: the one that the best hit is from has the answer, or none has.
        grounds = searches[chosen[0].place].grounds if chosen else NO_GROUNDS
        confidence = answer_confidence(grounds) if chosen else 0.0
        return Recalled(hits, tuple(reports), plan.residents[0][0].resident.head.revision, confidence, grounds)


def _moment(time: int) -> datetime:
    """The nearest time that a calendar has."""
    return _EPOCH + timedelta(microseconds=min(max(time, _FIRST), _LAST))


def _report(plan: _Plan, tier: Tier, searches: list[Search]) -> TierReport:
    """How a tier did over all partitions: the worst of what happened, the sum of what it brought."""
    if tier in plan.reports:
        return plan.reports[tier]
    if tier not in plan.tiers:
        return TierReport(tier, TierOutcome.SKIPPED, 0, 0.0, "not asked for")
    parts = [search.reports[tier] for search in searches if tier in search.reports]
    if not parts:
        missing = {
            Tier.VECTOR: "the query has no vector yet",
            Tier.KEYWORD: "the query has no words to look for",
            Tier.GRAPH: "the query names no known entity",
        }
        return TierReport(tier, TierOutcome.SKIPPED, 0, 0.0, missing[tier])
    worst = max(parts, key=lambda part: part.outcome is not TierOutcome.OK)
    return replace(worst, hit_count=sum(p.hit_count for p in parts), elapsed=sum(p.elapsed for p in parts))


async def _at_rest(partitions: Iterable[Loaded]) -> None:
    """Until each shows whole transactions only; holds until the caller next awaits."""
    found = list(partitions)
    while busy := [loaded for loaded in found if not loaded.writer.at_rest]:
        await busy[0].writer.rest()


def _note(plan: _Plan, outcome: TierOutcome, elapsed: float, why: str) -> None:
    plan.reports[Tier.VECTOR] = TierReport(Tier.VECTOR, outcome, 0, elapsed, why)


def _with_tiers(plan: _Plan, tiers: frozenset[Tier]) -> _Plan:
    """The same question to fewer tiers, with reports of its own."""
    return _Plan(plan.question, plan.residents, plan.profile, plan.now, plan.deadline, tiers, {})
