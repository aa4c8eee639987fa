"""Whose turn it is to search."""

from __future__ import annotations

import asyncio
import itertools

from memsidecar.services.evaluations import BEGIN_TOGETHER, Evaluations


async def test_streams_take_turns_so_that_a_fast_writer_waits_for_the_others() -> None:
    evaluations, order = Evaluations(1), []

    async def stream(name: str, times: int) -> None:
        for _ in range(times):
            async with evaluations.turn():
                order.append(name)
                await asyncio.sleep(0)

    await asyncio.gather(stream("fast", 4), stream("slow", 2), stream("other", 2))
    assert order == ["fast", "slow", "other", "fast", "slow", "other", "fast", "fast"]


async def test_evaluations_of_many_streams_leave_others_their_turn() -> None:
    evaluations, ended, seen = Evaluations(100), 0, []

    async def stream() -> None:
        nonlocal ended
        async with evaluations.turn():
            ended += 1

    async def other() -> None:
        while ended < 40:
            seen.append(ended)
            await asyncio.sleep(0)

    await asyncio.gather(other(), *(stream() for _ in range(40)))
    assert max(after - before for before, after in itertools.pairwise(seen)) <= BEGIN_TOGETHER


async def test_turn_of_a_stream_that_is_given_up_goes_to_the_next() -> None:
    evaluations = Evaluations(1)
    held = asyncio.Event()

    async def hold() -> None:
        async with evaluations.turn():
            await held.wait()

    first, second = asyncio.create_task(hold()), asyncio.create_task(hold())
    await asyncio.sleep(0)
    first.cancel()
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    async with asyncio.timeout(1), evaluations.turn():
        pass
