"""Recall: ask every source, rank, answer; each source may fail alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from memsidecar.domain.confidence import answer_confidence
from memsidecar.domain.errors import ModelUnavailable, StoreUnavailable
from memsidecar.domain.events import Matrix
from memsidecar.domain.grounds import NO_GROUNDS
from memsidecar.domain.limits import MAX_DEPTH_OF_PAGES
from memsidecar.domain.newer_first import newer_first
from memsidecar.domain.profile_choice import Choice
from memsidecar.domain.question import Analysis
from memsidecar.domain.recall import (
    Hit,
    MessageHit,
    Question,
    Recalled,
    Tier,
    TierOutcome,
    TierReport,
)
from memsidecar.domain.scope import Partition
from memsidecar.ports.runtime import Clock
from memsidecar.services.answering import Before, Page, Wanted, answer, passed
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.conversation import Conversation
from memsidecar.services.named_times import NamedTimes
from memsidecar.services.paging import below, strata
from memsidecar.services.past import Past
from memsidecar.services.plan import FINDERS, NO_SESSION, Plan, note, report_of, understood
from memsidecar.services.planning import Planning, at_rest
from memsidecar.services.preparing import Space
from memsidecar.services.recall_counts import EVALUATION, QUESTION, RecallCounts
from memsidecar.services.reranking import Reranking
from memsidecar.services.residency import Residency
from memsidecar.services.resident import Resident
from memsidecar.services.search import Search
from memsidecar.services.usages import Usages

# Building more hits than this takes longer than the rest of a recall.
MANY_HITS = 50
_Part = TypeVar("_Part", Page, Before)

# Times as many candidates, when those that say the same have crowded out the others.
WIDER, WIDEST = 8, 64


class Recall:
    def __init__(
        self,
        residency: Residency,
        past: Past,
        space: Space,
        backlog: EmbeddingBacklog,
        clock: Clock,
        profiles: Choice,
        spread: float,
        model_timeout: float,
        times: NamedTimes,
        conversation: Conversation,
        usages: Usages,
        reranking: Reranking | None = None,
        *,
        make_search: Callable[..., Search] = Search,
    ) -> None:
        """`spread` is the standard deviation of the embedder's cosines within a memory (`Profile.spread`)."""
        self._planning = Planning(residency, past, space, backlog, clock, profiles, spread, times, conversation)
        self._space, self._clock, self._model_timeout = space, clock, model_timeout
        self._usages, self._reranking, self._make_search = usages, reranking, make_search
        self.counts = RecallCounts()

    async def once(self, question: Question) -> Recalled:
        """The best hits over all sources. A source that fails or runs out of time (`soft_deadline`, or what the caller
        waits less a margin) is reported, not an error.

        Raises InvalidField (an unknown profile or weight), DimensionMismatch, RevisionUnknown, NotFound (the session),
        ModelUnavailable or StoreUnavailable (when no source could answer), LedgerDamaged.
        """
        plan = await self._plan(question)
        vector = await self._vector(plan)
        await at_rest(plan.loaded)
        return await self._finished(plan, vector)

    async def stream(self, question: Question) -> AsyncIterator[Hit | MessageHit | TierReport | Recalled]:
        """Hits as they are found, each once: the session's messages, then by words and entities at once, then by
        meaning when the model has answered.

        The last item is the whole answer; its hits have all been sent. Raises as `once`.
        """
        plan = await self._plan(question)
        reported: set[Tier] = set()
        if plan.heard is not None:
            for message in plan.heard.messages:
                yield message
            yield plan.heard.report
            reported.add(Tier.SESSION)
        sent: set[tuple[Partition, str]] = set()
        first = plan.tiers - {Tier.VECTOR, Tier.RERANKER, Tier.SESSION}
        if question.embedding is None and Tier.VECTOR in plan.tiers and first:
            embedding = asyncio.create_task(self._vector(plan), name="embed-question")
            try:
                await at_rest(plan.loaded)
                early_plan = replace(plan, tiers=first, reports={})
                early = await self._ranked(early_plan, None, plan.question.skip, plan.question.max_hits)
                for hit in early.hits:
                    sent.add((hit.partition, hit.memory.id))
                    yield hit
                for report in early.reports:
                    if report.tier in first:
                        reported.add(report.tier)
                        yield report
                vector = await embedding
            finally:
                embedding.cancel()
                await asyncio.gather(embedding, return_exceptions=True)
        else:
            vector = await self._vector(plan)
        await at_rest(plan.loaded)
        whole = await self._finished(plan, vector)
        for hit in whole.hits:
            if (hit.partition, hit.memory.id) not in sent:
                yield hit
        for report in whole.reports:
            if report.tier not in reported:
                yield report
        yield whole

    async def ready(self, question: Question) -> int:
        """Load what the question reads and check what can be wrong with it; the revision that it would be answered
        from. Raises as `once`."""
        return (await self._plan(question)).residents[0][0].head.revision

    async def glance(self, question: Question, is_news: Callable[[Matrix], bool] = lambda _: True) -> Recalled | None:
        """What a piece of text that nobody asks about brings to mind: as `once`, but neither counted as recalled nor
        reranked, and no error when no source could answer. None when the text has a vector that is no news.

        Raises RevisionUnknown, StoreUnavailable, LedgerDamaged.
        """
        plan = await self._plan(question)
        vector = await self._vector(plan)
        if vector is not None and not is_news(vector):
            return None
        await at_rest(plan.loaded)
        found = await self._ranked(plan, vector, 0, question.max_hits)
        self.counts.note(EVALUATION, found)
        return found

    async def _plan(self, question: Question) -> Plan:
        return await self._planning.plan(question)

    async def _vector(self, plan: Plan) -> Matrix | None:
        """The question's vector; None, with a report, when the tier cannot answer."""
        question = plan.question
        if Tier.VECTOR not in plan.tiers:
            return None
        if question.embedding is not None:
            given: Matrix = question.embedding.rows[0]
            return given
        text = plan.residents[0][1].embed_text
        if not text.strip():
            note(plan, TierOutcome.SKIPPED, 0.0, "the query has neither text nor embedding")
            return None
        if not self._space.embeds:
            note(plan, TierOutcome.SKIPPED, 0.0, "no embedder is configured; send an embedding")
            return None
        started = self._clock.monotonic()
        left = self._model_timeout if plan.deadline is None else plan.deadline - started
        try:
            async with asyncio.timeout(min(self._model_timeout, max(left, 0.0))):
                vectors = await self._space.embed_query(text)
        except TimeoutError:
            note(plan, TierOutcome.TIMED_OUT, self._clock.monotonic() - started, "the embedder took too long")
            return None
        except ModelUnavailable as error:
            note(plan, TierOutcome.UNAVAILABLE, self._clock.monotonic() - started, str(error))
            return None
        found: Matrix | None = vectors.rows[0] if vectors is not None else None
        return found

    async def _finished(self, plan: Plan, vector: Matrix | None) -> Recalled:
        """The whole answer, looked at a second time if there is somebody to do it, its hits counted as recalled."""
        skip, most = plan.question.skip, plan.question.max_hits
        # From the first hit on, whatever the page: a page that was put in order alone would repeat others' hits.
        again = 0 if self._reranking is None else -(-self._reranking.top_n // most) * most
        if self._reranking is None or Tier.RERANKER not in plan.tiers or skip >= again:
            whole = await self._ranked(plan, vector, skip, most, again)
            self._require_one(whole.reports)
        else:
            whole = await self._ranked(plan, vector, 0, again)
            self._require_one(whole.reports)
            reranked = await self._reranking.rerank(plan.question.text, whole.hits, plan.deadline)
            whole = replace(
                whole,
                hits=newer_first(reranked.hits)[skip : skip + most],
                reports=(*whole.reports, reranked.report),
                more=whole.more or len(whole.hits) > skip + most,
            )
        self._usages.note(whole.hits)
        self.counts.note(QUESTION, whole)
        if len(whole.hits) > MANY_HITS or skip:
            await asyncio.sleep(0)  # they are written next
        return whole

    async def _ranked(self, plan: Plan, vector: Matrix | None, skip: int, most: int, first: int = 0) -> Recalled:
        """`most` hits after the first `skip`. All pages are of the same size; `first` is how many hits were found
        together at the top, if more than a page."""
        first = first or most
        if not skip and most == first == plan.question.max_hits:
            # The first page, as nearly all are: the question is that of its stratum already.
            wanted = self._wanted(plan, 0, most, most, 1.0)
            return self._answer(plan, vector, await self._searched(plan, vector, most), wanted)
        told: frozenset[tuple[Partition, str]] = frozenset()
        ceiling = 1.0
        for stratum in strata(first):
            part = replace(plan, question=below(plan.question, stratum, told))
            if skip < stratum.end or stratum.is_last:
                wanted = self._wanted(plan, skip - stratum.start, most, stratum.depth, ceiling)
                found = self._answer(part, vector, await self._searched(part, vector, stratum.depth), wanted)
                more = found.more and skip + len(found.hits) < MAX_DEPTH_OF_PAGES
                return replace(found, messages=() if skip else found.messages, more=more)
            wanted = self._wanted(plan, 0, stratum.depth, stratum.depth, ceiling)
            before = self._widened(part, vector, await self._searched(part, vector, stratum.depth), wanted, passed)[0]
            told, ceiling = told | before.told, before.lowest
            await asyncio.sleep(0)
            await at_rest(plan.loaded)
        raise AssertionError("the last stratum has no end")

    def _wanted(self, plan: Plan, skip: int, most: int, depth: int, ceiling: float) -> Wanted:
        question = plan.question
        diversity = plan.profile.diversity if question.diversity is None else question.diversity
        breadth = plan.residents[0][1].cues.breadth if question.adaptive else None
        return Wanted(skip, most, depth, diversity, breadth, ceiling)

    async def _searched(self, plan: Plan, vector: Matrix | None, depth: int) -> list[Search]:
        """The searches, before anybody else has had a turn of the loop; but many hits take one of their own, if no
        partition has changed meanwhile."""
        if depth <= MANY_HITS:
            return self._search(plan, vector)
        before = _revisions(plan)
        searches = [self._searching(plan, *each) for each in plan.residents]
        for search in searches:
            search.look(plan.tiers, vector, plan.deadline)
            if not await self._unchanged(plan, before):
                return self._search(plan, vector)
            search.rank()
            for _ in search.reading(depth):
                await asyncio.sleep(0)
            if not await self._unchanged(plan, before):
                return self._search(plan, vector)
        return searches

    async def _unchanged(self, plan: Plan, before: list[int]) -> bool:
        """Give the others a turn; whether nobody has written meanwhile."""
        await asyncio.sleep(0)
        await at_rest(plan.loaded)
        return _revisions(plan) == before

    def _require_one(self, reports: Sequence[TierReport]) -> None:
        """Raises when what could have answered has failed, and nothing else had something to look for."""
        failed = {r.tier for r in reports if r.outcome in (TierOutcome.UNAVAILABLE, TierOutcome.TIMED_OUT)}
        if not failed or any(r.outcome is TierOutcome.OK for r in reports):
            return
        if failed == {Tier.SESSION}:
            raise StoreUnavailable("sessions", "does not answer, and no other tier can")
        raise ModelUnavailable(self._space.model, "does not answer, and no other tier can")

    def _search(self, plan: Plan, vector: Matrix | None, wider: int = 1) -> list[Search]:
        searches = []
        for resident, of_resident in plan.residents:
            search = self._searching(plan, resident, of_resident)
            search.run(plan.tiers, vector, plan.deadline, wider)
            searches.append(search)
        return searches

    def _searching(self, plan: Plan, resident: Resident, analysis: Analysis) -> Search:
        return self._make_search(
            resident, plan.question, analysis, plan.profile, plan.now, self._clock.monotonic, known=plan.known
        )

    def _widened(
        self,
        plan: Plan,
        vector: Matrix | None,
        searches: list[Search],
        wanted: Wanted,
        of: Callable[[Sequence[Search], Wanted], _Part],
    ) -> tuple[_Part, list[Search]]:
        """What there is of the searches, or of wider ones when too many candidates say the same."""
        wider = 1
        part = of(searches, wanted)
        while part.starved and wider < WIDEST:
            wider *= WIDER
            searches = self._search(plan, vector, wider)
            part = of(searches, wanted)
        return part, searches

    def _answer(self, plan: Plan, vector: Matrix | None, searches: list[Search], wanted: Wanted) -> Recalled:
        question = plan.question
        session = NO_SESSION if plan.heard is None else plan.heard.report
        reports = [session, *(report_of(plan, tier, searches) for tier in FINDERS)]
        page, searches = self._widened(plan, vector, searches, wanted, answer)
        # Partitions share one question: the one that the best hit is from has the answer, or none has.
        grounds = searches[page.first].grounds if page.first >= 0 else NO_GROUNDS
        return Recalled(
            tuple(page.hits),
            tuple(reports),
            plan.residents[0][0].head.revision,
            answer_confidence(grounds) if page.first >= 0 else 0.0,
            grounds,
            plan.heard.messages if plan.heard is not None else (),
            understood(plan) if question.explain else None,
            page.more,
        )


def _revisions(plan: Plan) -> list[int]:
    return [resident.head.revision for resident, _ in plan.residents]
