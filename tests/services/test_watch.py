"""A watcher is told every change of its scope once, in order, however it reads and whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, closing

import pytest

from memsidecar.domain.draft import Draft, Patch, Request
from memsidecar.domain.errors import Draining, LedgerDamaged, ModelUnavailable, RevisionUnknown
from memsidecar.domain.events import Entry, MemoryPurged, MemoryRecorded
from memsidecar.domain.feedback import Verdict
from memsidecar.domain.feedback_rules import Judged
from memsidecar.domain.memory import Fact, Kind
from memsidecar.domain.recall import NO_FILTER, Filter
from memsidecar.domain.scope import Partition, Scope
from memsidecar.services import tail as tail_module
from memsidecar.services import watch as watch_module
from memsidecar.services.tail import Tail
from memsidecar.services.watch import Alive, Behind, Changed, Watch, Watched
from memsidecar.services.writing import PartitionWriter
from tests.services.stack import ANN, BEN, TEAM, Stack, said, stored
from tests.session_servers import until

WHO = ANN.partition
NO = Request()
SOON = 0.02
PATIENCE = 20.0


class Watcher:
    """What one watch has told. Every wait is bounded."""

    def __init__(self, events: AsyncGenerator[Watched, None]) -> None:
        self._events = events
        self.seen: list[Watched] = []

    async def next(self) -> Watched:
        event = await asyncio.wait_for(anext(self._events), PATIENCE)
        self.seen.append(event)
        return event

    async def changes(self, count: int) -> list[tuple[str, str]]:
        """The next so many changes: what made them, and the text that they left."""
        found: list[tuple[str, str]] = []
        while len(found) < count:
            event = await self.next()
            if isinstance(event, Changed):
                found.append(_told(event))
        return found

    async def until(self, revision: int) -> list[tuple[str, str]]:
        """All changes up to a revision."""
        first = len(self.seen)
        while not self.seen or self.seen[-1].revision < revision:
            await self.next()
        return [_told(event) for event in self.seen[first:] if isinstance(event, Changed)]


def _told(event: Changed) -> tuple[str, str]:
    match event.entry.event:
        case MemoryRecorded(change=change, memory=memory):
            return change.name, memory.text
        case MemoryPurged():
            return "PURGED", ""
        case _:
            return "ERASED", ""


@asynccontextmanager
async def watching(
    stack: Stack,
    scope: Scope = ANN,
    wanted: Filter = NO_FILTER,
    after: int | None = None,
    watch: Watch | None = None,
) -> AsyncIterator[Watcher]:
    """A watch that has begun."""
    async with aclosing((watch or stack.watch)(scope, wanted, after)) as events:
        watcher = Watcher(events)
        assert isinstance(await watcher.next(), Alive)
        yield watcher


async def head(stack: Stack, scope: Scope = ANN) -> int:
    return (await stack.real_ledger.head(scope.partition)).revision


async def update(stack: Stack, memory_id: str, patch: Patch) -> None:
    await stack.memories.update(WHO, memory_id, patch, NO)


async def evict(stack: Stack) -> None:
    loaded = stack.residency.peek(WHO)
    assert loaded is not None
    loaded.leaving = True
    await stack.residency._unload(loaded)
    assert stack.residency.peek(WHO) is None


def tail_of(stack: Stack) -> Tail:
    return stack.watch._tails[WHO][0]


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


async def test_a_slow_watcher_is_told_and_then_reads_everything_in_order(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_module, "MOST_ENTRIES", 8)
    async with watching(stack) as slow, watching(stack) as quick:
        for n in range(50):
            await stack.remember(ANN, f"number {n}")
            assert await quick.changes(1) == [("CREATED", f"number {n}")]
        assert len(tail_of(stack)._held) == 8
        event = await slow.next()
        assert event == Behind(50, slow.seen[0].revision)
        assert await slow.changes(50) == [("CREATED", f"number {n}") for n in range(50)]
        assert await slow.next() == Alive(True, await head(stack))
        assert not any(isinstance(e, Behind) for e in quick.seen)


async def test_watchers_that_never_read_cost_the_same_however_much_is_written(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_module, "MOST_BYTES", 50_000)
    watchers = [stack.watch(ANN, NO_FILTER, None) for _ in range(100)]
    for events in watchers:
        await anext(events)
    for n in range(30):
        await stack.remember(ANN, *(f"{n} {m} " + "long text " * 200 for m in range(10)))
        assert tail_of(stack).nbytes <= 50_000
    assert len(stack.watch._tails) == 1
    assert sum(len(reader.page) for reader in tail_of(stack)._readers) == 0
    for events in watchers:
        await events.aclose()
    assert not stack.watch._tails
    assert not stack.changes.is_heard(WHO)


async def test_a_change_too_large_to_be_held_is_told(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_module, "MOST_BYTES", 5_000)
    async with watching(stack) as watcher:
        await stack.remember(ANN, "x" * 10_000)
        assert await watcher.changes(1) == [("CREATED", "x" * 10_000)]


async def test_long_memories_are_read_few_at_a_time(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_module, "PAGE_BYTES", 30_000)
    texts = [f"{n} " + "x" * 12_000 for n in range(40)]
    await stack.remember(ANN, *texts)
    async with watching(stack, after=0) as watcher:
        for n, text in enumerate(texts):
            assert await watcher.changes(1) == [("CREATED", text)], n
            assert all(len(reader.page) <= 2 for reader in tail_of(stack)._readers)


async def test_a_watch_outlives_an_eviction(stack: Stack) -> None:
    async with watching(stack) as watcher:
        await stack.remember(ANN, "one")
        await evict(stack)
        await stack.remember(ANN, "two")
        assert await watcher.changes(2) == [("CREATED", "one"), ("CREATED", "two")]


async def test_a_commit_that_could_not_be_applied_is_told_all_the_same(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stack.remember(ANN, "one")

    async def fails(*_: object) -> None:
        raise RuntimeError("cannot be applied")

    async with watching(stack, watch=stack.watch_with(SOON)) as watcher:
        with monkeypatch.context() as patched:
            patched.setattr(PartitionWriter, "_apply", fails)
            await stack.remember(ANN, "two")
        assert await watcher.until(await head(stack)) == [("CREATED", "two")]
        await stack.remember(ANN, "three")
        assert await watcher.until(await head(stack)) == [("CREATED", "three")]
        assert not any(isinstance(e, Behind) for e in watcher.seen)


async def test_what_is_told_is_found_by_a_recall_at_that_revision(stack: Stack) -> None:
    async def write() -> None:
        for n in range(40):
            await stack.remember(ANN, f"number {n}")

    writing = asyncio.create_task(write())
    async with watching(stack, after=0) as watcher:
        for _ in range(40):
            await watcher.changes(1)
            await stack.recall(ANN, "number", min_revision=watcher.seen[-1].revision)
    await writing


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


async def test_a_revision_that_the_store_has_not_reached_is_refused(stack: Stack) -> None:
    await stack.remember(ANN, "one")
    for after in (await head(stack) + 1, 2**63):
        with pytest.raises(RevisionUnknown, match="after"):
            await anext(stack.watch(ANN, NO_FILTER, after))
    assert not stack.watch._tails


async def test_damage_ends_the_watch_after_everything_before_it(stack: Stack) -> None:
    await stack.remember(ANN, *(f"number {n}" for n in range(10)))
    again = await stack.again()
    with closing(sqlite3.connect(stack.directory / "ledger.db")) as connection, connection:
        connection.execute("UPDATE event SET payload = zeroblob(length(payload)) WHERE revision = 6")
    async with watching(again, after=0) as watcher:
        assert await watcher.changes(5) == [("CREATED", f"number {n}") for n in range(5)]
        with pytest.raises(LedgerDamaged):
            await watcher.next()
    await again.close()


@pytest.mark.parametrize("after", [None, 0])
async def test_a_drain_ends_every_watch_at_once(stack: Stack, after: int | None) -> None:
    await stack.remember(ANN, *(f"number {n}" for n in range(200)))
    async with watching(stack, after=after) as watcher, watching(stack, BEN) as idle:
        waiting = asyncio.create_task(idle.next())
        await asyncio.sleep(0)
        stack.watch.drain()
        for ending in (watcher.next(), waiting):
            with pytest.raises(Draining):
                await ending
    assert not stack.watch._tails


async def test_a_watcher_that_goes_away_while_it_waits_leaves_nothing(stack: Stack) -> None:
    async with watching(stack) as stays:
        async with watching(stack) as goes:
            waiting = asyncio.create_task(goes.next())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
        await stack.remember(ANN, "one")
        assert await stays.changes(1) == [("CREATED", "one")]
        assert len(tail_of(stack)._readers) == 1
    assert not stack.changes.is_heard(WHO)


async def test_a_watcher_of_much_history_leaves_others_their_turns(stack: Stack) -> None:
    """Nothing of it is wanted, so that it never waits for its reader."""
    await stack.remember(ANN, *(f"number {n}" for n in range(2_000)))
    turns, stop = 0, asyncio.Event()

    async def others() -> None:
        nonlocal turns
        while not stop.is_set():
            await asyncio.sleep(0)
            turns += 1

    taking_turns = asyncio.create_task(others())
    async with watching(stack, wanted=Filter(labels={"a": "b"}), after=0) as watcher:
        assert await watcher.next() == Alive(True, await head(stack))
    stop.set()
    await taking_turns
    assert turns > 2_000 / watch_module.PAGE
