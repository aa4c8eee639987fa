"""What a store of jobs promises: they change with what causes them, or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.domain.claims import Span
from memsidecar.domain.job import ItemDue, ItemSettled, ItemState, JobCancelled, JobChange, Told
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Append, Request, RequestKnown, StaleRevision
from tests.contracts.ledger_samples import ANN, BEN, NOW, batch, recorded

HOUR = 3600 * 1_000_000


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteLedger]:
    opened = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    yield opened
    await opened.close()


async def change(
    store: SqliteLedger,
    *changes: JobChange,
    partition: Partition = ANN,
    at: int = NOW,
    requests: Sequence[Request] = (),
) -> None:
    head = await store.head(partition)
    await store.append(Append(partition, head.revision, (), at, requests, changes))


async def due(store: SqliteLedger, each: int = 10, limit: int = 100) -> list[tuple[str, str]]:
    return [(item.job_id, item.memory_id) for item in await store.due_items(each, limit)]


async def test_a_job_is_committed_with_its_events(store: SqliteLedger) -> None:
    item = ItemDue("j", "m", (Span(2, 5),), agent="a", session="s")
    await store.append(replace(batch(0, recorded("m")), jobs=(item,)))
    (found,) = await store.due_items(10, 10)
    assert (found.partition, found.job_id, found.memory_id, found.parts, found.attempts) == (
        (ANN, "j", "m", (Span(2, 5),), 0)
    )
    job = await store.find_job(ANN, "j")
    assert job is not None
    assert (job.agent, job.session, job.created_at, job.total, job.done) == ("a", "s", NOW, 1, 0)


@pytest.mark.parametrize("expected", [0, 5])
async def test_what_is_not_appended_begins_no_job(store: SqliteLedger, expected: int) -> None:
    known = Request("r", b"d", b"a")
    await store.append(batch(0, recorded("m"), requests=[known]))
    item = ItemDue("j", "m2")
    with pytest.raises((RequestKnown, StaleRevision)):
        await store.append(replace(batch(expected + 1, recorded("m2"), requests=[known]), jobs=(item,)))
    assert await due(store) == []


async def test_an_item_that_has_ended_stays_as_it_is(store: SqliteLedger) -> None:
    await change(store, ItemDue("j", "m"))
    (item,) = await store.due_items(10, 10)
    told = (Told("m3", 1, "new"), Told(explanation="below"))
    await change(store, ItemSettled(item.position, ItemState.DONE, "", told))
    await change(store, ItemSettled(item.position, ItemState.FAILED, "late"), JobCancelled("j"))
    job = await store.find_job(ANN, "j")
    assert job is not None
    ((index, state, problem, kept),) = [(i.index, i.state, i.problem, i.told) for i in job.items]
    assert (index, state, problem, kept) == (0, ItemState.DONE, "", told)
    assert await due(store) == []


async def test_an_item_that_was_tried_stays_due(store: SqliteLedger) -> None:
    await change(store, ItemDue("j", "m"))
    (item,) = await store.due_items(10, 10)
    await change(store, ItemSettled(item.position, ItemState.DUE, "unreadable"))
    (again,) = await store.due_items(10, 10)
    assert (again.position, again.attempts) == (item.position, 1)


async def test_an_item_of_another_partition_cannot_be_settled(store: SqliteLedger) -> None:
    await change(store, ItemDue("j", "m"))
    (item,) = await store.due_items(10, 10)
    await change(store, ItemSettled(item.position, ItemState.DONE), JobCancelled("j"), partition=BEN)
    assert await due(store) == [("j", "m")]
    assert await store.find_job(BEN, "j") is None


async def test_every_partition_has_its_turn(store: SqliteLedger) -> None:
    await change(store, *(ItemDue("a", f"m{n}") for n in range(50)))
    await change(store, ItemDue("b", "x"), partition=BEN)
    assert (await due(store, each=3))[:2] == [("a", "m0"), ("b", "x")]
    assert len(await due(store, each=3)) == 4
    assert len(await due(store, limit=1)) == 1


async def test_items_are_added_to_the_job_they_name(store: SqliteLedger) -> None:
    await change(store, ItemDue("j", "m1"), at=NOW)
    await change(store, ItemDue("j", "m2"), at=NOW + HOUR)
    job = await store.find_job(ANN, "j")
    assert job is not None
    assert (job.total, job.created_at, job.updated_at) == (2, NOW, NOW + HOUR)


async def test_a_cancelled_job_is_not_due(store: SqliteLedger) -> None:
    await change(store, ItemDue("j", "m1"), ItemDue("j", "m2"), ItemDue("k", "m1"))
    await change(store, JobCancelled("j"))
    job = await store.find_job(ANN, "j")
    assert job is not None
    assert (job.total, job.cancelled) == (2, 2)
    assert await due(store) == [("k", "m1")]


async def test_jobs_are_listed_newest_first_in_pages(store: SqliteLedger) -> None:
    for n in range(5):
        await change(store, ItemDue(f"j{n}", "m"), at=NOW + n // 2)
    found: list[str] = []
    before = None
    while page := await store.list_jobs(ANN, before, 2):
        found += [job.id for job in page]
        before = (page[-1].created_at, page[-1].id)
    assert found == ["j4", "j3", "j2", "j1", "j0"]
    assert await store.list_jobs(BEN, None, 10) == []


async def test_what_has_ended_is_kept_for_a_day_and_then_forgotten(store: SqliteLedger) -> None:
    await change(store, ItemDue("done", "m"), ItemDue("due", "m"))
    first, _ = await store.due_items(10, 10)
    await change(store, ItemSettled(first.position, ItemState.DONE))
    await change(store, ItemDue("new", "m"), at=NOW + 24 * HOUR)
    assert await store.find_job(ANN, "done") is not None
    await change(store, ItemDue("newer", "m"), at=NOW + 26 * HOUR)
    assert await store.find_job(ANN, "done") is None
    assert {job for job, _ in await due(store)} == {"due", "new", "newer"}


async def test_a_file_of_an_earlier_release_takes_jobs(tmp_path: Path) -> None:
    first = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    await first.append(batch(0, recorded("m")))
    await first.close()
    with sqlite3.connect(tmp_path / "ledger.db") as file:
        file.executescript("DROP TABLE job; DROP TABLE job_item;")
    file.close()
    again = await SqliteLedger.open(tmp_path, ProtobufEventCodec())
    await change(again, ItemDue("j", "m"))
    assert await due(again) == [("j", "m")]
    await again.close()
