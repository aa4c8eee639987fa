"""A watch tells typed events, goes on after a break, and ends when it is left or something stays wrong."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import grpc
import pytest
from memsidecar_client import (
    AsyncMemoryWatch,
    AsyncMemsidecar,
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    Filter,
    MemoryChange,
    MemoryChanged,
    MemoryKind,
    MemoryWatch,
    Memsidecar,
    Unavailable,
    WatchBehind,
    WatchEvent,
    WatchHeartbeat,
    WatchInterrupted,
)
from memsidecar_client._defaults import WATCH_QUEUE_EVENTS
from memsidecar_client.v1.watch_pb2 import WatchMemoriesResponse

from tests.clients.python.fake_sidecar import Failure, FakeSidecar, made

GONE = Failure(grpc.StatusCode.UNAVAILABLE, "restarting")


def told(revision: str, **event: Any) -> WatchMemoriesResponse:
    return made(WatchMemoriesResponse, revision={"token": revision}, **event)


def begins(revision: str, caught_up: bool = True) -> WatchMemoriesResponse:
    return told(revision, heartbeat={"caught_up": caught_up})


def change(revision: str) -> WatchMemoriesResponse:
    snapshot = {"name": "n/memories/m", "fact": {"statement": f"at {revision}"}}
    made_by = {"name": f"n/memories/m/revisions/{revision}", "change": 1, "snapshot": snapshot, "actor": "planner"}
    return told(revision, change=made_by)


def _gone_at_once() -> list[WatchMemoriesResponse | Failure]:
    return [GONE]


async def some(watch: AsyncMemoryWatch, count: int) -> list[WatchEvent]:
    return [event async for _, event in _numbered(watch, count)]


async def _numbered(watch: AsyncMemoryWatch, count: int) -> Any:
    for number in range(count):
        yield number, await asyncio.wait_for(anext(watch), 10)


def revisions(events: list[WatchEvent]) -> list[str]:
    return [event.revision for event in events if isinstance(event, MemoryChanged)]


async def test_events_are_typed_and_in_order(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.watches.append(
        [begins("r1", False), change("r2"), told("r2", behind={"pending": 7}), told("r9"), begins("r9")]
    )
    async with client.watch_memories(after="r1", filter=Filter(kinds=(MemoryKind.FACT,)), session="s") as watch:
        assert watch.revision == "r1"
        first, changed, behind, last = await some(watch, 4)
        assert first == WatchHeartbeat(False, "r1")
        assert isinstance(changed, MemoryChanged)
        assert (changed.memory, changed.revision) == ("n/memories/m", "r2")
        assert (changed.change.change, changed.change.actor) == (MemoryChange.CREATED, "planner")
        assert changed.change.snapshot is not None
        assert changed.change.snapshot.text == "at r2"
        assert behind == WatchBehind(7, "r2")
        assert last == WatchHeartbeat(True, "r9")
        assert watch.revision == "r9"
    request = fake.only("WatchMemories")
    assert (request.scope.user, request.scope.session, request.after.token) == ("ana", "s", "r1")
    assert list(request.filter.kinds) == [MemoryKind.FACT]
    assert fake.cancelled.wait(5)


async def test_a_watch_goes_on_after_what_it_told_last(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.watches += [
        [begins("r1"), change("r2"), change("r3"), GONE],
        *(_gone_at_once() for _ in range(6)),
        [begins("r3"), change("r4"), GONE],
        [begins("r4"), change("r5")],
    ]
    async with client.watch_memories() as watch:
        events = [await asyncio.wait_for(anext(watch), 10)]
        while events[-1].revision != "r5":
            events.append(await asyncio.wait_for(anext(watch), 10))
    assert revisions(events) == ["r2", "r3", "r4", "r5"]
    interrupted = [event for event in events if isinstance(event, WatchInterrupted)]
    assert [(type(event.error), event.revision) for event in interrupted] == [(Unavailable, "r3"), (Unavailable, "r4")]
    asked = [call.request.after.token for call in fake.calls["WatchMemories"]]
    assert asked == ["", *["r3"] * 7, "r4"]


async def test_what_does_not_pass_ends_the_watch_after_what_came_before(
    client: AsyncMemsidecar, fake: FakeSidecar
) -> None:
    lasting = Failure(grpc.StatusCode.FAILED_PRECONDITION, "after is no revision of this store")
    fake.watches += [[begins("r1"), change("r2"), GONE], [lasting]]
    async with client.watch_memories() as watch:
        assert revisions(await some(watch, 3)) == ["r2"]
        with pytest.raises(FailedPrecondition, match="no revision"):
            await asyncio.wait_for(anext(watch), 10)
        assert await watch.next_event() is None
        assert watch.revision == "r2"


async def test_a_watch_that_does_not_begin_says_why(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.watches += [[Failure(grpc.StatusCode.FAILED_PRECONDITION, "no such revision")], [], []]
    with pytest.raises(FailedPrecondition, match="no such revision"):
        async with client.watch_memories():
            pass
    with pytest.raises(DeadlineExceeded, match="not opened in time"):
        async with client.watch_memories(timeout=0.1):
            pass
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1), client.watch_memories():
            pass


async def test_a_sidecar_that_is_not_there_is_not_waited_for_for_ever() -> None:
    async with AsyncMemsidecar("unix:///nowhere/s.sock") as client:
        with pytest.raises(DeadlineExceeded, match="is the sidecar running"):
            async with client.watch_memories(timeout=0.2):
                pass


async def test_waiting_may_time_out_or_be_cancelled_without_harm(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.watches.append([begins("r1")])
    async with client.watch_memories() as watch:
        assert await watch.next_event(timeout=5) == WatchHeartbeat(True, "r1")
        with pytest.raises(TimeoutError):
            await watch.next_event(timeout=0.02)
        waiting = asyncio.create_task(watch.next_event())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert not fake.cancelled.is_set()


async def test_a_watch_can_be_left_while_it_waits_to_go_on_and_while_nobody_reads(
    client: AsyncMemsidecar, fake: FakeSidecar
) -> None:
    fake.watches += [[begins("r1"), GONE], *(_gone_at_once() for _ in range(40))]
    async with client.watch_memories() as watch:
        await some(watch, 2)
    fake.watches.clear()
    fake.watches.append([begins("r1"), *(change(f"r{n}") for n in range(2, 4 * WATCH_QUEUE_EVENTS))])
    async with client.watch_memories() as watch:
        await some(watch, 1)


async def test_closing_the_client_ends_its_watches(fake: FakeSidecar) -> None:
    fake.watches.append([begins("r1")])
    client = AsyncMemsidecar(fake.target, user="ana")
    async with client.watch_memories() as watch:
        await some(watch, 1)
        await client.close()
        with pytest.raises(Cancelled, match="closed"):
            await asyncio.wait_for(anext(watch), 10)


async def test_a_watch_is_entered_once(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.watches.append([begins("r1")])
    watch = client.watch_memories()
    with pytest.raises(RuntimeError, match="enter the watch first"):
        aiter(watch)
    async with watch:
        with pytest.raises(RuntimeError, match="used once"):
            await watch.__aenter__()


def test_the_blocking_watch_is_a_with_and_a_for(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    fake.watches += [[begins("r1"), change("r2"), GONE], [begins("r2"), change("r3")]]
    found: list[WatchEvent] = []
    with blocking_client.watch_memories() as watch:
        for event in watch:
            found.append(event)
            if event.revision == "r3":
                break
        with pytest.raises(TimeoutError):
            watch.next_event(timeout=0.02)
        assert watch.revision == "r3"
    assert revisions(found) == ["r2", "r3"]
    assert fake.cancelled.wait(5)


def test_another_thread_ends_a_blocking_watch(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    fake.watches.append([begins("r1")])
    read, ended = threading.Event(), threading.Event()

    def follow(watch: MemoryWatch) -> None:
        for _ in watch:
            read.set()
        ended.set()

    with blocking_client.watch_memories() as watch:
        thread = threading.Thread(target=follow, args=(watch,))
        thread.start()
        assert read.wait(5)
    assert ended.wait(5)
    thread.join()
