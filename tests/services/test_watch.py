"""A watcher is told every change of its scope once, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from memsidecar.domain.draft import Draft, Patch
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.events import Entry, MemoryRecorded
from memsidecar.domain.feedback import Verdict
from memsidecar.domain.feedback_rules import Judged
from memsidecar.domain.memory import Fact, Kind
from memsidecar.domain.recall import Filter
from memsidecar.domain.scope import Partition, Scope
from memsidecar.services.watch import Alive, Changed
from tests.services.stack import ANN, BEN, TEAM, Stack, said, stored
from tests.services.watching import NO, SOON, WHO, evict, head, tail_of, update, watching
from tests.session_servers import until


async def test_the_life_of_a_memory_is_told_from_now_on(stack: Stack) -> None:
    await stack.remember(ANN, "before")
    async with watching(stack) as watcher:
        assert watcher.seen == [Alive(True, await head(stack))]
        (memory,) = stored(await stack.remember(ANN, "drinks tea"))
        assert await watcher.changes(1) == [("CREATED", "drinks tea")]
        await update(stack, memory.id, Patch({"statement": "drinks coffee"}, kind=Kind.FACT))
        await stack.memories.delete(WHO, memory.id, "", False, "", NO)
        await stack.memories.undelete(WHO, memory.id, NO)
        await stack.memories.delete(WHO, memory.id, "", True, "asked to", NO)
        assert await watcher.changes(4) == [
            ("ERASED", ""),
            ("ERASED", ""),
            ("ERASED", ""),
            ("PURGED", ""),
        ]
        last = watcher.seen[-1]
        assert isinstance(last, Changed)
        assert (last.entry.subject, last.revision) == (memory.id, await head(stack))


async def test_a_change_is_told_while_it_is_there_and_says_what_it_was(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "drinks tea"))
    async with watching(stack) as watcher:
        await update(stack, memory.id, Patch({"statement": "drinks coffee"}, kind=Kind.FACT))
        await stack.memories.delete(WHO, memory.id, "", False, "wrong", NO)
        await stack.memories.undelete(WHO, memory.id, NO)
        assert await watcher.changes(3) == [
            ("UPDATED", "drinks coffee"),
            ("DELETED", "drinks coffee"),
            ("UNDELETED", "drinks coffee"),
        ]
        assert [e.revision for e in watcher.seen if isinstance(e, Changed)] == sorted(e.revision for e in watcher.seen)[
            1:
        ]


async def test_a_watch_after_a_revision_goes_over_to_what_comes(stack: Stack) -> None:
    await stack.remember(ANN, *(f"number {n}" for n in range(300)))
    async with watching(stack, after=0) as watcher:
        assert watcher.seen == [Alive(False, 0)]
        told = await watcher.changes(150)
        await stack.remember(ANN, *(f"number {n}" for n in range(300, 310)))
        told += await watcher.changes(160)
        assert told == [("CREATED", f"number {n}") for n in range(310)]
        assert await watcher.next() == Alive(True, await head(stack))
        await stack.remember(ANN, "live")
        assert await watcher.changes(1) == [("CREATED", "live")]
        assert watcher.seen[-1].revision == await head(stack)


async def test_a_silent_watch_says_that_it_is_alive_and_how_far_it_has_looked(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "drinks tea"))
    async with watching(stack, watch=stack.watch_with(SOON)) as watcher:
        first = await watcher.next()
        assert isinstance(first, Alive)
        assert first.caught_up
        await stack.judging(ANN, [Judged(memory.id, Verdict.USED, "items[0].memory")], NO)
        while watcher.seen[-1].revision < await head(stack):
            assert isinstance(await watcher.next(), Alive)


async def test_vectors_that_come_later_are_no_change(stack: Stack) -> None:
    assert stack.embedder is not None
    stack.embedder.failure = ModelUnavailable("hash")
    await stack.remember(ANN, "drinks tea")
    begin = await head(stack)
    async with watching(stack) as live, watching(stack, wanted=Filter(labels={"a": "b"})) as narrow:
        stack.embedder.failure = None
        stack.backlog.start()
        stack.backlog.notice(WHO)
        await until(vectors_arrive(stack, begin))
        await stack.remember(ANN, "next")
        assert await live.changes(1) == [("CREATED", "next")]
        async with watching(stack, after=begin) as late:
            assert await late.changes(1) == [("CREATED", "next")]
        assert len(narrow.seen) == 1


def vectors_arrive(stack: Stack, begin: int) -> Callable[[], Awaitable[bool]]:
    async def arrived() -> bool:
        return await head(stack) > begin

    return arrived


@pytest.mark.parametrize("live", [True, False])
async def test_a_filter_holds_before_or_after_the_change(stack: Stack, live: bool) -> None:
    blue = Filter(labels={"colour": "blue"})
    begin = await head(stack)

    async def happen() -> None:
        (memory, _) = stored(await stack.remember(ANN, "the door", "the wall"))
        await update(stack, memory.id, Patch({"labels": {"colour": "red"}}))
        await update(stack, memory.id, Patch({"labels": {"colour": "blue"}}))
        await update(stack, memory.id, Patch({"labels": {"colour": "blue", "size": "big"}}))
        await update(stack, memory.id, Patch({"labels": {"colour": "red"}}))
        await update(stack, memory.id, Patch({"labels": {}}))
        await stack.remember(ANN, Draft(Fact("the sky"), labels={"colour": "blue"}))

    if not live:
        await happen()
    async with watching(stack, wanted=blue, after=begin) as watcher:
        if live:
            await happen()
        assert await watcher.changes(4) == [
            ("UPDATED", "the door"),
            ("UPDATED", "the door"),
            ("UPDATED", "the door"),
            ("CREATED", "the sky"),
        ]
        labels = [
            dict(e.entry.event.memory.labels)
            for e in watcher.seen
            if isinstance(e, Changed) and isinstance(e.entry.event, MemoryRecorded)
        ]
        assert [each.get("colour") for each in labels] == ["blue", "blue", "red", "blue"]


async def test_an_active_memory_that_is_deleted_is_told_and_a_deleted_one_that_is_changed_is_not(stack: Stack) -> None:
    (memory,) = stored(await stack.remember(ANN, "drinks tea"))
    async with watching(stack) as watcher:
        await stack.memories.delete(WHO, memory.id, "", False, "", NO)
        await stack.memories.delete(WHO, memory.id, "", False, "again", NO)
        await stack.remember(ANN, "next")
        assert await watcher.changes(2) == [("DELETED", "drinks tea"), ("CREATED", "next")]


async def test_agent_and_session_narrow(stack: Stack) -> None:
    planner, writer = Scope("acme", "ann", "planner"), Scope("acme", "ann", "writer")
    async with watching(stack, planner) as of_agent, watching(stack, Scope("acme", "ann", "", "s1")) as of_session:
        await stack.remember(planner, "of the planner")
        await stack.remember(writer, "of the writer")
        await stack.remember(ANN, "of all", said("in the first", "s1"), said("in the second", "s2"))
        assert [text for _, text in await of_agent.changes(4)] == [
            "of the planner",
            "of all",
            "in the first",
            "in the second",
        ]
        assert [text for _, text in await of_session.changes(1)] == ["in the first"]


async def test_watchers_see_their_own_partition_only(stack: Stack) -> None:
    other_tenant = Scope("globex", "ann")
    scopes = (ANN, BEN, TEAM, other_tenant)
    for scope in scopes:
        await stack.remember(scope, f"old {scope}")
    async with (
        watching(stack, ANN, after=0) as ann,
        watching(stack, BEN, after=0) as ben,
        watching(stack, TEAM, after=0) as team,
        watching(stack, other_tenant, after=0) as other,
    ):
        for scope in scopes:
            await stack.remember(scope, f"new {scope}")
        for scope, watcher in zip(scopes, (ann, ben, team, other), strict=True):
            told = await watcher.until(await head(stack, scope))
            assert told == [("CREATED", f"old {scope}"), ("CREATED", f"new {scope}")]
            assert {e.entry.partition for e in watcher.seen if isinstance(e, Changed)} == {scope.partition}


async def test_a_purge_is_told_whatever_the_filter_and_what_it_erased_only_without_one(stack: Stack) -> None:
    (memory, _) = stored(await stack.remember(ANN, "secret", "kept"))
    await stack.memories.delete(WHO, memory.id, "", True, "", NO)
    async with watching(stack, after=0) as wide, watching(stack, wanted=Filter(labels={"a": "b"}), after=0) as narrow:
        assert await wide.changes(3) == [("ERASED", ""), ("CREATED", "kept"), ("PURGED", "")]
        assert await narrow.changes(1) == [("PURGED", "")]


async def test_what_is_purged_while_a_watcher_has_not_read_it_is_not_given_to_it(stack: Stack) -> None:
    async with watching(stack) as live, watching(stack, after=0) as late:
        memories = stored(await stack.remember(ANN, *(f"secret {n}" for n in range(20))))
        assert await live.changes(1) == [("CREATED", "secret 0")]
        assert await late.changes(1) == [("CREATED", "secret 0")]
        for memory in memories:
            await stack.memories.delete(WHO, memory.id, "", True, "", NO)
        for watcher in (live, late):
            told = await watcher.until(await head(stack))
            assert told == [("ERASED", "")] * 19 + [("PURGED", "")] * 20
        assert not any(isinstance(entry.event, MemoryRecorded) for entry, _ in tail_of(stack)._held)


async def test_what_is_purged_while_the_ledger_is_read_is_not_given_either(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    (memory,) = stored(await stack.remember(ANN, "secret"))
    real, has_read, go = stack.real_ledger.read, asyncio.Event(), asyncio.Event()

    async def slow(partition: Partition, after: int, limit: int) -> Sequence[Entry]:
        entries = await real(partition, after, limit)
        has_read.set()
        await go.wait()
        return entries

    monkeypatch.setattr(stack.real_ledger, "read", slow)
    async with watching(stack, after=0) as watcher:
        reading = asyncio.create_task(watcher.changes(2))
        await has_read.wait()
        await stack.memories.delete(WHO, memory.id, "", True, "", NO)
        go.set()
        assert await reading == [("ERASED", ""), ("PURGED", "")]


async def test_a_watch_outlives_an_eviction(stack: Stack) -> None:
    async with watching(stack) as watcher:
        await stack.remember(ANN, "one")
        await evict(stack)
        await stack.remember(ANN, "two")
        assert await watcher.changes(2) == [("CREATED", "one"), ("CREATED", "two")]


async def test_expiry_is_no_change(stack: Stack) -> None:
    now = stack.clock.time
    await stack.remember(ANN, Draft(Fact("soon gone"), expires_at=now + 1_000_000))
    async with watching(stack, after=0) as watcher:
        assert await watcher.changes(1) == [("CREATED", "soon gone")]
        stack.clock.time += 2_000_000
        await stack.remember(ANN, "next")
        assert await watcher.changes(1) == [("CREATED", "next")]
    # A change counts as of its time: it is told to who comes later, too.
    async with watching(stack, after=0) as watcher:
        assert await watcher.changes(2) == [("CREATED", "soon gone"), ("CREATED", "next")]
