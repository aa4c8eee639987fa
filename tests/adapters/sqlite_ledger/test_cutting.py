"""A ledger taken back to a point in time holds nothing that came later, and is a ledger that verifies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import SqliteLedger, cut_ledger
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.events import NO_VECTORS, Change, Event, MemoryPurged, MemoryRecorded, VectorsRecorded
from memsidecar.domain.job import ItemDue, ItemSettled, ItemState
from memsidecar.domain.memory import Fact, State
from memsidecar.domain.point_in_time import AtRevision, AtTime, Cut, PointInTime
from memsidecar.ports.ledger import Append, DuePurge, Request
from tests.contracts.ledger_samples import (
    ANN,
    BEN,
    MODEL,
    NOW,
    batch,
    fill,
    meanings,
    recorded,
    rows_by_memory,
    vectors,
)

LATER = NOW + 1_000_000
DUE = LATER + 30 * 24 * 3600 * 1_000_000


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[SqliteLedger]:
    ledger = await SqliteLedger.open(folder, ProtobufEventCodec())
    yield ledger
    await ledger.close()


def cut(folder: Path, until: PointInTime) -> Sequence[Cut]:
    return cut_ledger(folder / "ledger.db", ProtobufEventCodec(), until)


def changed(memory_id: str, text: str, state: State = State.ACTIVE) -> MemoryRecorded:
    event = recorded(memory_id, text, vectors(99))
    memory = replace(event.memory, body=Fact(text), version=2, state=state)
    deleted = state is State.DELETED
    if deleted:
        memory = replace(memory, deleted_at=LATER, purge_at=DUE)
    return replace(event, change=Change.DELETED if deleted else Change.UPDATED, memory=memory)


async def test_what_came_later_is_gone_and_the_rest_is_as_it_was(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await fill(ledger, 3)
        await fill(ledger, 2, BEN)
        then = {p: (await ledger.head(p), meanings(await ledger.read(p, 0, 99))) for p in (ANN, BEN)}
        stored = rows_by_memory(await ledger.vectors(ANN, MODEL))
        await ledger.append(batch(3, recorded("new", "new words", vectors(7)), recorded_at=LATER))
        await ledger.append(batch(2, recorded("new", "new words"), partition=BEN, recorded_at=LATER))
    assert cut(tmp_path, AtTime(NOW)) == [Cut(ANN, 3, 1), Cut(BEN, 2, 1)]
    async with opened(tmp_path) as ledger:
        for partition, (head, events) in then.items():
            assert await ledger.head(partition) == head
            assert meanings(await ledger.read(partition, 0, 99)) == events
            assert await ledger.verify(partition) == []
        assert rows_by_memory(await ledger.vectors(ANN, MODEL)) == stored
        await fill(ledger, 2, start=3)  # it goes on
        assert await ledger.verify(ANN) == []
    assert b"new words" not in (tmp_path / "ledger.db").read_bytes()


async def test_one_partition_goes_back_to_a_revision_and_the_others_stay(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        for number in range(3):
            await ledger.append(batch(number, recorded(f"m{number}"), recorded_at=NOW + number))
        await ledger.append(batch(0, recorded("b"), partition=BEN, recorded_at=LATER))
    assert cut(tmp_path, AtRevision(ANN, 2)) == [Cut(ANN, 2, 1)]
    async with opened(tmp_path) as ledger:
        assert (await ledger.head(ANN)).revision == 2
        assert (await ledger.head(BEN)).revision == 1


@pytest.mark.parametrize(
    ("until", "problem"),
    [
        (AtRevision(ANN, 2), "inside one write (revisions 1 to 3); take 3"),
        (AtRevision(ANN, 9), "revisions 1 to 3"),
        (AtRevision(ANN, 0), "revisions 1 to 3"),
        (AtRevision(ANN, 1 << 64), "revisions 1 to 3"),
        (AtRevision(BEN, 1), "is not in this backup"),
        (AtTime(NOW - 1), "nothing was recorded by then"),
    ],
)
async def test_a_point_that_is_none_is_refused(tmp_path: Path, until: PointInTime, problem: str) -> None:
    async with opened(tmp_path) as ledger:
        await fill(ledger, 3)
    with pytest.raises(InvalidField, match=problem.replace("(", "\\(").replace(")", "\\)")):
        cut(tmp_path, until)


async def test_a_clock_that_stepped_back_does_not_reorder(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        for number, at in enumerate((NOW, LATER, NOW)):
            await ledger.append(batch(number, recorded(f"m{number}"), recorded_at=at))
    assert cut(tmp_path, AtTime(NOW)) == [Cut(ANN, 1, 2)]


async def test_what_was_asked_before_a_clock_stepped_back_stays_asked(tmp_path: Path) -> None:
    early, late = Request("early", b"d", b"a"), Request("late", b"d", b"a")
    async with opened(tmp_path) as ledger:
        asked = batch(0, recorded("m0"), recorded_at=LATER, requests=[early])
        await ledger.append(replace(asked, jobs=(ItemDue("job", "m0"),)))
        await ledger.append(batch(1, recorded("m1"), recorded_at=NOW))
        gone = batch(2, recorded("m2"), recorded_at=NOW + 1, requests=[late])
        await ledger.append(replace(gone, jobs=(ItemDue("gone", "m2"),)))
    assert cut(tmp_path, AtRevision(ANN, 2)) == [Cut(ANN, 2, 1)]
    async with opened(tmp_path) as ledger:
        assert await ledger.find_request(ANN, "early") is not None
        assert await ledger.find_request(ANN, "late") is None
        assert [item.job_id for item in await ledger.due_items(9, 9)] == ["job"]


async def test_a_request_is_new_again_when_its_events_are_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        old, new = (Request(name, b"d", b"a") for name in ("old", "new"))
        await ledger.append(batch(0, recorded("m0"), requests=[old]))
        await ledger.append(batch(1, recorded("m1"), recorded_at=LATER, requests=[new]))
        # Of a commit that stepped back in time, and of one that changed nothing.
        await ledger.append(batch(2, recorded("m2"), requests=[Request("back", b"d", b"a")]))
        await ledger.append(batch(3, recorded_at=LATER, requests=[Request("nothing", b"d", b"a")]))
    cut(tmp_path, AtTime(NOW))
    async with opened(tmp_path) as ledger:
        assert [await ledger.find_request(ANN, name) for name in ("new", "nothing")] == [None, None]
    async with opened(tmp_path) as ledger:
        await ledger.append(batch(1, recorded("m1"), requests=[new]))


async def test_what_was_purged_since_is_named_and_leaves_no_trace(tmp_path: Path) -> None:
    """A memory that was there, one that was purged before, made again and purged again, and one made later."""
    async with opened(tmp_path) as ledger:
        await fill(ledger, 2)
        await ledger.append(batch(2, MemoryPurged("m1")))
        later: list[Event] = [recorded("m1", "again"), recorded("m5", "later"), *map(MemoryPurged, ("m0", "m1", "m5"))]
        await ledger.append(batch(3, *later, recorded_at=LATER))
    (done,) = cut(tmp_path, AtTime(NOW))
    assert (done.revision, set(done.purged), done.without_vectors) == (3, {"m0", "m1"}, ())
    async with opened(tmp_path) as ledger:
        await ledger.append(batch(3, *map(MemoryPurged, done.purged)))
        assert await ledger.verify(ANN) == []


async def test_vectors_that_were_overwritten_since_are_due(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await fill(ledger, 2)
        await ledger.append(batch(2, recorded("m2", "without vectors")))
        events: list[Event] = [changed("m0", "another text"), VectorsRecorded("m2", vectors(5))]
        await ledger.append(batch(3, *events, recorded_at=LATER))
        kept = rows_by_memory(await ledger.vectors(ANN, MODEL))["m1"]
    assert cut(tmp_path, AtTime(NOW)) == [Cut(ANN, 3, 2, (), ("m0",))]
    async with opened(tmp_path) as ledger:
        await ledger.append(batch(3, VectorsRecorded("m0", NO_VECTORS)))
        assert await ledger.verify(ANN) == []
        assert rows_by_memory(await ledger.vectors(ANN, MODEL)) == {"m1": kept}
        await ledger.append(batch(4, VectorsRecorded("m0", vectors(0))))
        assert await ledger.verify(ANN) == []


async def test_a_deletion_is_due_if_it_was_then(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        await fill(ledger, 3)
        await ledger.append(batch(3, changed("m0", "text 0", State.DELETED)))
        events: list[Event] = [changed("m0", "text 0"), changed("m1", "text 1", State.DELETED), MemoryPurged("m2")]
        await ledger.append(batch(4, *events, recorded_at=LATER))
    cut(tmp_path, AtTime(NOW))
    async with opened(tmp_path) as ledger:
        assert list(await ledger.due_purges(DUE, None, 9)) == [DuePurge(ANN, "m0")]


async def test_jobs_are_as_they_were(tmp_path: Path) -> None:
    async with opened(tmp_path) as ledger:
        begun = [ItemDue(job, memory) for job, memory in (("old", "m0"), ("old", "m1"), ("done", "m0"))]
        await ledger.append(replace(batch(0, recorded("m0"), recorded("m1")), jobs=begun))
        by_memory = {(i.job_id, i.memory_id): i.position for i in await ledger.due_items(9, 9)}
        settled = ItemSettled(by_memory["done", "m0"], ItemState.DONE)
        await ledger.append(Append(ANN, 2, (), NOW, (), (settled,)))
        read = ItemSettled(by_memory["old", "m0"], ItemState.DONE)
        found = replace(batch(2, recorded("found"), recorded_at=LATER), jobs=(read,))
        await ledger.append(found)
        await ledger.append(replace(batch(3, recorded("m3"), recorded_at=LATER), jobs=(ItemDue("new", "m3"),)))
    cut(tmp_path, AtTime(NOW))
    async with opened(tmp_path) as ledger:
        assert {(i.job_id, i.memory_id) for i in await ledger.due_items(9, 9)} == {("old", "m0"), ("old", "m1")}
        jobs = {job.id: (job.total, job.done, job.updated_at) for job in await ledger.list_jobs(ANN, None, 9)}
        assert jobs == {"old": (2, 0, NOW), "done": (1, 1, NOW)}
