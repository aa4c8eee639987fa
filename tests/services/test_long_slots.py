"""However much a slot holds, a write into it does not hold the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from memsidecar.domain.draft import Draft, Request
from memsidecar.domain.memory import Body, Entity, Fact, Preference
from memsidecar.domain.recall import Filter
from memsidecar.services.remember import Wait
from tests.loop_monitor import LIMIT_SECONDS, LoopMonitor
from tests.services.stack import ANN, Stack

VALUES = 2_000
# Processor time grows when neighbours fight for the caches: what holds the loop does so every time.
ROUNDS = 4


def word(number: int) -> str:
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


def home(number: int) -> Body:
    return Fact(f"lives in {word(number)}", predicate="lives_in", object_text=word(number))


def thing(number: int) -> Body:
    return Fact(f"owns a {word(number)}", predicate="owns", object_text=word(number))


def favourite(number: int) -> Body:
    return Preference(f"the favourite {word(number)} is the blue one", f"favourite:{word(number)}", "blue", 1.0)


def never(number: int) -> Body:
    value = f"written a {word(number)} parser"
    return Fact(f"I have never {value}", predicate="experience", object_text=value, negated=True)


async def held_by(command: Callable[[int], Awaitable[None]]) -> list[str]:
    """What has held the loop in every one of some rounds."""
    held: dict[str, str] = {}
    for attempt in range(ROUNDS):
        monitor = LoopMonitor()
        monitor.start()
        try:
            await command(attempt)
        finally:
            monitor.stop()
        limit = monitor.slowdown * LIMIT_SECONDS
        slow = {s.callback: f"{s.seconds * 1000:.1f} ms {s.stack[-4:]}" for s in monitor.slow if s.seconds > limit}
        held = slow if not attempt else {name: slow[name] for name in held if name in slow}
        if not held:
            return []
    return list(held.values())


async def remembered(stack: Stack, bodies: list[Body]) -> None:
    for start in range(0, len(bodies), 100):
        drafts = [Draft(body) for body in bodies[start : start + 100]]
        stack.clock.time += 1_000_000
        await stack.remembering(ANN, drafts, Wait.DURABLE, Request("", b"d"))


@pytest.mark.parametrize("body", [home, thing, favourite, never])
async def test_a_write_into_a_slot_of_two_thousand_values_does_not_hold_the_loop(
    stack: Stack, body: Callable[[int], Body]
) -> None:
    await remembered(stack, [body(number) for number in range(VALUES)])

    async def write(attempt: int) -> None:
        for number in (VALUES + attempt, 7 + attempt):
            await remembered(stack, [body(number)])

    assert await held_by(write) == []


async def test_merging_an_entity_that_many_memories_name_does_not_hold_the_loop(stack: Stack) -> None:
    await remembered(stack, [Entity("Ann Lee"), *(Entity(f"Ann {word(n)}") for n in range(ROUNDS))])
    page = await stack.memories.list(ANN, Filter(), False, None, 100)
    target, *sources = [m.id for m in page.memories if isinstance(m.body, Entity)]
    for source in sources:
        await remembered(
            stack, [Fact(f"owns a {word(n)}", source, "owns", object_text=word(n)) for n in range(VALUES // 4)]
        )

    async def merge(attempt: int) -> None:
        await stack.unite.preview(ANN.partition, target, [sources[attempt]], "", Request("", b"d"))
        united = await stack.unite.merge(ANN.partition, target, [sources[attempt]], "", Request("", b"d"))
        assert united.moved == VALUES // 4

    assert await held_by(merge) == []
