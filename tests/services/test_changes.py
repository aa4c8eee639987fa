from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from memsidecar.domain.events import Entry
from memsidecar.domain.scope import Partition
from memsidecar.services.changes import Listening
from tests.services.stack import ANN, BEN, TEAM, Stack

WHO = ANN.partition


class Heard:
    """Keeps the revisions that it is told."""

    def __init__(self, stack: Stack, partition: Partition = WHO) -> None:
        self.revisions: list[int] = []
        self.listening = stack.changes.listen(partition, self)

    def __call__(self, entries: Sequence[Entry]) -> None:
        self.revisions += [entry.revision for entry in entries]


async def evict(stack: Stack) -> None:
    loaded = stack.residency.peek(WHO)
    assert loaded is not None
    loaded.leaving = True
    await stack.residency._unload(loaded)
    assert stack.residency.peek(WHO) is None


async def test_who_listens_has_been_told_when_the_writer_is_answered(stack: Stack) -> None:
    heard = Heard(stack)
    await stack.remember(ANN, "one")
    assert heard.revisions == [1]
    await stack.remember(ANN, "two", "three")
    assert heard.revisions == [1, 2, 3]


async def test_what_is_told_is_in_the_resident_partition_already(stack: Stack) -> None:
    seen: list[bool] = []

    def listener(entries: Sequence[Entry]) -> None:
        loaded = stack.residency.peek(WHO)
        assert loaded is not None
        seen.append(loaded.resident.memory(entries[-1].subject) is not None)

    stack.changes.listen(WHO, listener)
    await stack.remember(ANN, "one")
    assert seen == [True]


async def test_writes_that_come_at_once_are_told_in_their_order(stack: Stack) -> None:
    heard = Heard(stack)
    await asyncio.gather(*(stack.remember(ANN, f"number {n}") for n in range(50)))
    assert heard.revisions == list(range(1, 51))


async def test_others_changes_are_not_told(stack: Stack) -> None:
    heard, team = Heard(stack), Heard(stack, TEAM.partition)
    await stack.remember(BEN, "of Ben")
    assert (heard.revisions, team.revisions) == ([], [])
    await stack.remember(TEAM, "of all")
    assert (heard.revisions, team.revisions) == ([], [1])


async def test_an_eviction_is_not_noticed(stack: Stack) -> None:
    heard = Heard(stack)
    await stack.remember(ANN, "one")
    await evict(stack)
    await stack.remember(ANN, "two")
    assert heard.revisions == [1, 2]


async def test_a_listener_that_raises_breaks_no_write_and_is_told_no_more(
    stack: Stack, caplog: pytest.LogCaptureFixture
) -> None:
    calls = 0

    def broken(_: Sequence[Entry]) -> None:
        nonlocal calls
        calls += 1
        raise ValueError("a secret")

    stack.changes.listen(WHO, broken)
    heard = Heard(stack)
    await stack.remember(ANN, "a secret")
    await stack.remember(ANN, "two")
    assert calls == 1
    assert heard.revisions == [1, 2]
    assert "a listener is dropped" in caplog.text
    assert "secret" not in caplog.text


async def test_after_its_end_nothing_is_told_and_nothing_is_kept(stack: Stack) -> None:
    first, second = Heard(stack), Heard(stack)
    first.listening.close()
    first.listening.close()
    await stack.remember(ANN, "one")
    assert (first.revisions, second.revisions) == ([], [1])
    assert WHO in stack.changes._listeners
    second.listening.close()
    assert WHO not in stack.changes._listeners


async def test_listeners_may_end_each_other_while_they_are_told(stack: Stack) -> None:
    told: list[str] = []
    listenings: list[Listening] = []

    def ends_all(name: str) -> None:
        told.append(name)
        for listening in listenings:
            listening.close()

    listenings.append(stack.changes.listen(WHO, lambda _: ends_all("a")))
    listenings.append(stack.changes.listen(WHO, lambda _: ends_all("b")))
    await stack.remember(ANN, "one")
    await stack.remember(ANN, "two")
    assert told == ["a"]
