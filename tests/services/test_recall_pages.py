"""Pages of one recall: every hit once, in one order, as far as pages go."""

from __future__ import annotations

import random

import pytest

from memsidecar.domain.draft import Draft
from memsidecar.domain.limits import MAX_DEPTH_OF_PAGES
from memsidecar.domain.memory import Episode
from tests.services.stack import ANN, Stack


async def _all_pages(stack: Stack, text: str, **more: object) -> list[str]:
    seen: list[str] = []
    while True:
        page = await stack.recall(ANN, text, skip=len(seen), **more)
        seen += [hit.memory.id for hit in page.hits]
        if not page.more:
            return seen


@pytest.mark.parametrize("diversity", [0.0, 0.3, 0.8])
async def test_pages_name_every_memory_once(stack: Stack, diversity: float) -> None:
    words = "tea milk bread rice salt".split()
    await stack.remember(ANN, *(f"{words[n % 5]} number {n} with {words[n % 3]}" for n in range(90)))
    found = await _all_pages(stack, "tea with milk", max_hits=7, diversity=diversity)
    assert len(found) == len(set(found)) == 90


_TOPICS = "pottery camping guitar painting swimming marathon violin garden bakery museum".split()


async def _two_people_talk(stack: Stack, sessions: int) -> int:
    """Talks of ten turns each; how many turns. Turns of a talk share their relevance."""
    chosen = random.Random(1)
    turns = 0
    for number in range(sessions):
        topic = _TOPICS[number % len(_TOPICS)]
        drafts = [
            Draft(
                Episode(
                    f"I enjoyed the {chosen.choice((topic, topic, *_TOPICS))} class number {number * 10 + turn}",
                    speaker=("Ann", "Ben")[turn % 2],
                ),
                session=f"s{number}",
            )
            for turn in range(10)
        ]
        await stack.remember(ANN, *drafts)
        turns += len(drafts)
    return turns


@pytest.mark.parametrize(("size", "diversity"), [(3, 0.0), (10, 0.0), (10, 0.5), (60, 0.0)])
async def test_pages_of_talks_name_every_turn_once_and_fall(stack: Stack, size: int, diversity: float) -> None:
    turns = await _two_people_talk(stack, 40)
    ids: list[str] = []
    scores: list[float] = []
    more = True
    while more:
        page = await stack.recall(
            ANN, "what did Ann do at pottery", max_hits=size, skip=len(ids), diversity=diversity, explain=True
        )
        ids += [hit.memory.id for hit in page.hits]
        scores += [hit.score for hit in page.hits]
        more = page.more
        for hit in page.hits:
            assert sum(one.contribution for one in hit.components) == pytest.approx(hit.score, abs=1e-5)
    assert len(ids) == len({*ids}) == turns
    assert diversity or scores == sorted(scores, reverse=True)
    first = await stack.recall(ANN, "what did Ann do at pottery", max_hits=size, diversity=diversity)
    assert [hit.memory.id for hit in first.hits] == ids[:size]


async def test_pages_end_where_the_depth_of_pages_does(stack: Stack) -> None:
    for start in range(0, 1_040, 104):
        await stack.remember(ANN, *(f"tea number {start + n}" for n in range(104)))
    found: list[str] = []
    more = True
    while more:
        page = await stack.recall(ANN, "tea", max_hits=150, skip=len(found))
        found += [hit.memory.id for hit in page.hits]
        more = page.more
    assert len(found) == len({*found}) == MAX_DEPTH_OF_PAGES
