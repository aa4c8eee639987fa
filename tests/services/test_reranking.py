"""A reranker changes the order of the best hits, and nothing when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.memory import Episode, Fact, Memory
from memsidecar.domain.recall import Component, Hit, Question, Recalled, Tier, TierOutcome, TierReport
from memsidecar.services.patience import expect_answer_within
from memsidecar.services.reranking import Reranking
from tests.doubles.runtime import PinnedClock
from tests.services.stack import ANN, Stack


class Judge:
    """A Reranker: `scores` by text; fails, or says nothing until `go` is set, when told."""

    model = "judge"

    def __init__(self, **scores: float) -> None:
        self.scores, self.seen = scores, [("", [""])]
        self.failure: Exception | None = None
        self.go, self.asked = asyncio.Event(), asyncio.Event()
        self.go.set()

    async def rank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.seen.append((query, list(texts)))
        self.asked.set()
        await self.go.wait()
        if self.failure is not None:
            raise self.failure
        return [self.scores.get(text.split()[-1], 0.0) for text in texts]

    async def close(self) -> None: ...


def hits(*texts: str, explained: bool = False) -> tuple[Hit, ...]:
    found = []
    for place, text in enumerate(texts):
        score = 0.9 - place / 10
        components = (Component("similarity", score, 1.0, score),) if explained else ()
        found.append(Hit(ANN.partition, Memory(text, ANN, Fact(text), 0, 0), score, Tier.VECTOR, components))
    return tuple(found)


def texts(found: Sequence[Hit]) -> list[str]:
    return [hit.memory.text for hit in found]


async def test_the_best_hits_are_put_in_its_order_and_the_rest_stays() -> None:
    judge = Judge(a=0.1, b=0.2, c=0.9, d=1.0)
    given = hits("a", "b", "c", "d")
    reranked = await Reranking(judge, PinnedClock(), 3).rerank("q", given, None)
    assert texts(reranked.hits) == ["c", "b", "a", "d"]
    assert [hit.score for hit in reranked.hits] == [hit.score for hit in given]
    assert judge.seen[-1] == ("q", ["a", "b", "c"])
    assert (reranked.report.tier, reranked.report.outcome) == (Tier.RERANKER, TierOutcome.OK)
    assert reranked.report.hit_count == 3


async def test_equal_scores_leave_the_order_as_it_was() -> None:
    reranked = await Reranking(Judge(), PinnedClock(), 10).rerank("q", hits("a", "b", "c"), None)
    assert texts(reranked.hits) == ["a", "b", "c"]


async def test_explanations_still_add_up() -> None:
    reranked = await Reranking(Judge(b=1.0), PinnedClock(), 10).rerank("q", hits("a", "b", explained=True), None)
    for hit in reranked.hits:
        assert sum(c.contribution for c in hit.components) == pytest.approx(hit.score)
    assert [c.signal for c in reranked.hits[0].components] == ["similarity", "reranker"]


async def test_it_is_told_who_spoke() -> None:
    judge = Judge()
    said = Hit(ANN.partition, Memory("m", ANN, Episode("tea", speaker="Ann"), 0, 0), 0.5, Tier.VECTOR)
    await Reranking(judge, PinnedClock(), 10).rerank("q", (said, *hits("b")), None)
    assert judge.seen[-1][1] == ["Ann: tea", "b"]


async def test_one_that_fails_leaves_the_order_and_says_so() -> None:
    judge, given = Judge(b=1.0), hits("a", "b")
    judge.failure = ModelUnavailable("judge", "refuses")
    reranked = await Reranking(judge, PinnedClock(), 10).rerank("q", given, None)
    assert reranked.hits == given
    assert (reranked.report.outcome, reranked.report.message) == (
        TierOutcome.UNAVAILABLE,
        "the model provider judge refuses",
    )


async def test_it_gets_no_more_time_than_the_recall_has() -> None:
    judge, given, clock = Judge(b=1.0), hits("a", "b"), PinnedClock()
    judge.go.clear()
    reranking = Reranking(judge, clock, 10)
    slow = await reranking.rerank("q", given, clock.monotonic() + 0.06)
    assert (slow.hits, slow.report.outcome) == (given, TierOutcome.TIMED_OUT)
    late = await reranking.rerank("q", given, clock.monotonic())
    assert (late.hits, late.report.outcome) == (given, TierOutcome.TIMED_OUT)
    assert len(judge.seen) == 2


async def test_it_gets_no_more_time_than_the_caller_waits() -> None:
    judge = Judge(b=1.0)
    judge.go.clear()
    expect_answer_within(0.06)
    reranked = await Reranking(judge, PinnedClock(), 10).rerank("q", hits("a", "b"), None)
    assert reranked.report.outcome is TierOutcome.TIMED_OUT


@pytest.mark.parametrize(("text", "found"), [("  ", hits("a", "b")), ("q", hits("a")), ("q", ())])
async def test_it_is_not_asked_without_need(text: str, found: tuple[Hit, ...]) -> None:
    judge = Judge()
    reranked = await Reranking(judge, PinnedClock(), 10).rerank(text, found, None)
    assert (reranked.hits, reranked.report.outcome) == (found, TierOutcome.SKIPPED)
    assert len(judge.seen) == 1


@pytest.fixture
async def judged(stack: Stack) -> tuple[Stack, Judge]:
    judge = Judge(five=1.0)
    stack.recalling._reranking = Reranking(judge, stack.clock, 6)
    await stack.remember(ANN, *(f"tea number {n}" for n in ("one", "two", "three", "four", "five", "six")))
    return stack, judge


async def test_pages_of_a_reranked_recall_hold_every_hit_once(judged: tuple[Stack, Judge]) -> None:
    """The best hit of the second page in the ranking's order is first in the judge's."""
    stack, judge = judged
    whole = [hit.memory.text for hit in (await stack.recall(ANN, "tea number", max_hits=6)).hits]
    assert whole[0] == "tea number five"
    pages = [await stack.recall(ANN, "tea number", max_hits=2, skip=skip) for skip in (0, 2, 4)]
    assert [hit.memory.text for page in pages for hit in page.hits] == whole
    assert [page.more for page in pages] == [True, True, False]
    asked = len(judge.seen)
    beyond = await stack.recall(ANN, "tea number", max_hits=2, skip=6)
    assert (beyond.hits, len(judge.seen)) == ((), asked)


async def test_a_recall_chooses_from_more_than_it_returns(judged: tuple[Stack, Judge]) -> None:
    stack, judge = judged
    answer = await stack.recall(ANN, "tea number", max_hits=2)
    assert len(judge.seen[-1][1]) == 6
    assert (len(answer.hits), answer.hits[0].memory.text) == (2, "tea number five")
    assert answer.reports[-1].tier is Tier.RERANKER
    assert not answer.degraded


async def test_a_recall_without_it_is_degraded_and_answers(judged: tuple[Stack, Judge]) -> None:
    stack, judge = judged
    judge.failure = ModelUnavailable("judge")
    answer = await stack.recall(ANN, "tea number", max_hits=2)
    assert len(answer.hits) == 2
    assert answer.degraded


async def test_a_recall_that_names_other_tiers_does_without(judged: tuple[Stack, Judge]) -> None:
    stack, judge = judged
    answer = await stack.recall(ANN, "tea number", tiers=frozenset({Tier.KEYWORD}), max_hits=2)
    assert len(judge.seen) == 1
    assert len(answer.hits) == 2
    assert Tier.RERANKER not in {report.tier for report in answer.reports}


async def test_a_stream_sends_early_hits_before_it_and_ends_in_its_order(judged: tuple[Stack, Judge]) -> None:
    stack, judge = judged
    judge.go.clear()
    events: list[object] = []
    stream = stack.recalling.stream(Question(ANN, "tea number", max_hits=2))

    async def read() -> None:
        async for event in stream:
            events.append(event)  # noqa: PERF401 - what came before the judge is asked is looked at

    reading = asyncio.create_task(read())
    await judge.asked.wait()
    assert len([event for event in events if isinstance(event, Hit)]) == 2
    judge.go.set()
    await reading
    last = events[-1]
    assert isinstance(last, Recalled)
    assert texts(last.hits)[0] == "tea number five"
    sent = [event.memory.id for event in events if isinstance(event, Hit)]
    assert len(sent) == len(set(sent))
    assert {hit.memory.id for hit in last.hits} <= set(sent)
    assert [event.tier for event in events if isinstance(event, TierReport)][-1] is Tier.RERANKER


async def test_a_stream_that_is_left_stops_it(judged: tuple[Stack, Judge]) -> None:
    stack, judge = judged
    judge.go.clear()

    async def read() -> None:
        async for _ in stack.recalling.stream(Question(ANN, "tea number")):
            pass

    reading = asyncio.create_task(read())
    await judge.asked.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
