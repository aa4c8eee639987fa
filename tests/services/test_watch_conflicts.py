"""Conflicts in a watch: opened, resolved and undone, in order with the changes of memories, once each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from memsidecar.domain.conflicts.closing import forget
from memsidecar.domain.conflicts.resolving import Keep, resolve
from memsidecar.domain.decision import Decision
from memsidecar.domain.events import Change, ConflictRecorded, MemoryRecorded
from memsidecar.domain.memory import State
from memsidecar.domain.recall import NO_FILTER, Filter
from memsidecar.services.watch import Changed, Contradicted, Watched
from tests.services.conflicting import Said, dispute, say, supersede, undo, write
from tests.services.stack import ANN, Stack
from tests.services.watching import Watcher, head, told_of, watching


def short(event: Watched) -> str:
    match event:
        case Changed():
            return told_of(event)[0]
        case Contradicted(shown=shown):
            return f"conflict {shown.conflict.state.name}"
        case _:
            return ""


async def all_up_to(watcher: Watcher, revision: int) -> list[Watched]:
    first = len(watcher.seen)
    while watcher.seen[-1].revision < revision:
        await watcher.next()
    return [event for event in watcher.seen[first:] if isinstance(event, Changed | Contradicted)]


@pytest.fixture
async def sides(stack: Stack) -> tuple[Said, Said]:
    return (
        await say(stack, "I live in Rome.", "Ann lives in Rome"),
        await say(stack, "I live in Oslo.", "Ann lives in Oslo"),
    )


async def test_conflicts_are_told_in_order_with_what_they_did(stack: Stack, sides: tuple[Said, Said]) -> None:
    rome, oslo = sides
    async with watching(stack) as watcher:
        conflict = await supersede(stack, rome.fact, oslo.fact)
        await undo(stack, conflict)
        await dispute(stack, rome.fact, oslo.fact)
        told = await all_up_to(watcher, await head(stack))
    assert [short(event) for event in told] == [
        "SUPERSEDED",
        "conflict RESOLVED",
        "RESTORED",
        "RESTORED",
        "conflict UNDONE",
        "DISPUTED",
        "DISPUTED",
        "conflict OPEN",
    ]
    resolved = told[1]
    assert isinstance(resolved, Contradicted)
    assert [memory.state for memory in resolved.shown.sides] == [State.SUPERSEDED, State.ACTIVE]


async def test_a_watch_resumes_between_a_change_and_its_conflict(stack: Stack, sides: tuple[Said, Said]) -> None:
    rome, oslo = sides
    start = await head(stack)
    await supersede(stack, rome.fact, oslo.fact)
    again = await stack.again()
    for after, expected in ((start, ["SUPERSEDED", "conflict RESOLVED"]), (start + 1, ["conflict RESOLVED"])):
        async with watching(again, after=after) as watcher:
            assert [short(event) for event in await all_up_to(watcher, start + 2)] == expected
    await again.close()


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (Filter(states=frozenset({State.SUPERSEDED})), True),
        (Filter(labels={"no": "such"}), False),
        (Filter(sessions=frozenset({"elsewhere"})), False),
        (NO_FILTER, True),
    ],
)
async def test_a_filter_lets_a_conflict_through_when_one_of_its_memories_meets_it(
    stack: Stack, sides: tuple[Said, Said], wanted: Filter, told: bool
) -> None:
    rome, oslo = sides
    start = await head(stack)
    await supersede(stack, rome.fact, oslo.fact)
    async with watching(stack, ANN, wanted, start) as watcher:
        events = []
        while watcher.seen[-1].revision < start + 2:
            events.append(await asyncio.wait_for(watcher.next(), 10))
        assert any(isinstance(event, Contradicted) for event in events) is told


def versions(told: list[Watched]) -> list[tuple[int, str, int]]:
    """Of the conflicts told: version, reason and number of memories."""
    conflicts = [event.shown.conflict for event in told if isinstance(event, Contradicted)]
    return [(each.version, each.reason, len(each.memories)) for each in conflicts]


async def test_a_resolution_that_confirms_the_winner_is_told(stack: Stack, sides: tuple[Said, Said]) -> None:
    rome, oslo = sides
    async with watching(stack) as watcher:
        conflict = await supersede(stack, rome.fact, oslo.fact)

        def confirm(decision: Decision) -> None:
            resolve(decision, conflict, Keep(oslo.fact.id), reason="she said so")

        await write(stack, confirm)
        told = await all_up_to(watcher, await head(stack))
    assert versions(told) == [(1, "", 2), (2, "she said so", 2)]


async def test_a_memory_that_joins_an_open_conflict_is_told(stack: Stack, sides: tuple[Said, Said]) -> None:
    rome, oslo = sides
    async with watching(stack) as watcher:
        conflict_id = await dispute(stack, rome.fact, oslo.fact)
        lima = await say(stack, "I live in Lima.", "Ann lives in Lima")
        await write(stack, with_members(conflict_id, rome.fact.id, oslo.fact.id, lima.fact.id))
        told = await all_up_to(watcher, await head(stack))
    assert versions(told) == [(1, "", 2), (2, "", 3)]


@pytest.mark.parametrize(("labels", "told"), [({"of": "trip"}, [(1, "", 2), (2, "", 1)]), ({"of": "none"}, [])])
async def test_a_filter_lets_through_that_a_memory_which_met_it_left_the_conflict(
    stack: Stack, sides: tuple[Said, Said], labels: dict[str, str], told: list[tuple[int, str, int]]
) -> None:
    rome, oslo = sides

    def label(decision: Decision) -> None:
        memory = replace(rome.fact, labels={"of": "trip"}, version=rome.fact.version + 1)
        decision.record(MemoryRecorded(Change.UPDATED, memory))

    await write(stack, label)
    start = await head(stack)
    conflict_id = await dispute(stack, rome.fact, oslo.fact)
    await write(stack, with_members(conflict_id, oslo.fact.id))
    async with watching(stack, ANN, Filter(labels=labels), start) as watcher:
        assert versions(await all_up_to(watcher, await head(stack))) == told


async def test_a_conflict_that_loses_a_memory_to_a_purge_is_told(stack: Stack, sides: tuple[Said, Said]) -> None:
    rome, oslo = sides
    async with watching(stack) as watcher:
        conflict_id = await supersede(stack, rome.fact, oslo.fact)
        await write(stack, lambda decision: forget(decision, rome.fact.id))
        told = await all_up_to(watcher, await head(stack))
    last = [event for event in told if isinstance(event, Contradicted)][-1]
    assert (last.shown.conflict.id, last.shown.conflict.memories) == (conflict_id, (oslo.fact.id,))


def with_members(conflict_id: str, *members: str) -> Callable[[Decision], None]:
    """Records the conflict as one between other memories."""

    def command(decision: Decision) -> None:
        conflict = decision.view.conflict(conflict_id)
        assert conflict is not None
        decision.record(ConflictRecorded(replace(conflict, memories=members, version=conflict.version + 1)))

    return command
