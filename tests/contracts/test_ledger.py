"""What every ledger promises. Another adapter joins by adding its opener to OPENERS."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memsidecar.domain.errors import LedgerDamaged, StoreUnavailable
from memsidecar.domain.events import Entry, Event, MemoryPurged, VectorsRecorded
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Append, Head, Ledger, Request, RequestKnown, StaleRevision
from tests.contracts.conftest import Opener
from tests.contracts.ledger_samples import (
    ANN,
    BEN,
    MODEL,
    NOW,
    batch,
    fill,
    meaning,
    meanings,
    recorded,
    rows_by_memory,
    vectors,
)


async def test_an_empty_ledger_has_nothing(ledger: Ledger) -> None:
    assert await ledger.head(ANN) == Head(0, b"")
    assert await ledger.position() == 0
    assert list(await ledger.read(ANN, 0, 10)) == []
    assert list(await ledger.tail(0, 10)) == []
    assert list(await ledger.history(ANN, "m", 10, 10)) == []
    assert list(await ledger.vectors(ANN, MODEL)) == []
    assert list(await ledger.vectors_of(ANN, ["m"], MODEL)) == []
    assert list(await ledger.partitions(None, 10)) == []
    assert list(await ledger.verify(ANN)) == []
    assert await ledger.find_request(ANN, "r") is None
    await ledger.check()


async def test_append_gives_each_event_the_next_revision(ledger: Ledger) -> None:
    first = await ledger.append(batch(0, recorded("a"), recorded("b")))
    second = await ledger.append(batch(2, recorded("c"), recorded_at=NOW + 5))

    assert [(entry.revision, entry.subject, entry.recorded_at) for entry in [*first, *second]] == [
        (1, "a", NOW),
        (2, "b", NOW),
        (3, "c", NOW + 5),
    ]
    assert [entry.position for entry in [*first, *second]] == [1, 2, 3]
    assert (await ledger.head(ANN)).revision == 3


async def test_what_was_appended_is_read_back(ledger: Ledger) -> None:
    events: list[Event] = [
        recorded("a", "drinks green tea", vectors(1)),
        recorded("b", "绿茶 \x00 '; DROP TABLE event"),
        VectorsRecorded("b", vectors(2)),
        MemoryPurged("c", "admin", "asked to"),
    ]
    await ledger.append(batch(0, *events))

    entries = await ledger.read(ANN, 0, 10)

    assert meanings(entries) == [meaning(event) for event in events]
    assert {entry.partition for entry in entries} == {ANN}


async def test_a_stale_revision_is_refused_with_the_head(ledger: Ledger) -> None:
    await fill(ledger, 2)

    for expected in (0, 1, 3):
        with pytest.raises(StaleRevision) as refused:
            await ledger.append(batch(expected, recorded("late")))
        assert refused.value.head == await ledger.head(ANN)

    assert (await ledger.head(ANN)).revision == 2


async def test_of_racing_appends_exactly_one_wins(ledger: Ledger) -> None:
    racing = [ledger.append(batch(0, recorded(f"m{number}"))) for number in range(8)]

    results = await asyncio.gather(*racing, return_exceptions=True)

    assert sum(isinstance(result, StaleRevision) for result in results) == 7
    assert len(await ledger.read(ANN, 0, 10)) == 1


async def test_a_batch_that_cannot_be_stored_stores_nothing_and_harms_no_neighbour(ledger: Ledger) -> None:
    # A lone surrogate has no UTF-8 form.
    bad = batch(0, recorded("fine"), recorded("\ud800"), requests=[Request("r", b"d", b"a")])
    good = batch(0, recorded("b", partition=BEN), partition=BEN)

    refused, stored = await asyncio.gather(ledger.append(bad), ledger.append(good), return_exceptions=True)

    assert isinstance(refused, ValueError)
    assert not isinstance(stored, BaseException)
    assert (await ledger.head(ANN)).revision == 0
    assert await ledger.find_request(ANN, "r") is None
    assert (await ledger.head(BEN)).revision == 1


async def test_many_partitions_append_at_the_same_time(ledger: Ledger) -> None:
    async def write(partition: Partition) -> list[Entry]:
        return [
            entry
            for number in range(10)
            for entry in await ledger.append(
                batch(number, recorded(f"m{number}", partition=partition), partition=partition)
            )
        ]

    partitions = [Partition("acme", f"user-{number}") for number in range(16)]
    written = [entry for entries in await asyncio.gather(*map(write, partitions)) for entry in entries]

    assert sorted(entry.position for entry in written) == list(range(1, 161))
    for partition in partitions:
        assert [entry.subject for entry in await ledger.read(partition, 0, 100)] == [f"m{n}" for n in range(10)]
        assert list(await ledger.verify(partition)) == []


async def test_an_append_whose_caller_gave_up_is_committed(ledger: Ledger) -> None:
    waiting = asyncio.create_task(_append(ledger, batch(0, recorded("a"))))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    await ledger.append(batch(0, recorded("b", partition=BEN), partition=BEN))

    assert [entry.subject for entry in await ledger.read(ANN, 0, 10)] == ["a"]
    await ledger.append(batch(1, recorded("c")))


async def _append(ledger: Ledger, appended: Append) -> None:
    await ledger.append(appended)


async def test_requests_are_found_in_their_partition_only(ledger: Ledger) -> None:
    requests = [Request("r1", b"digest 1", b"answer 1"), Request("r2", b"digest 2", b"")]
    await ledger.append(batch(0, recorded("a"), requests=requests))

    assert await ledger.find_request(ANN, "r1") == requests[0]
    assert await ledger.find_request(ANN, "r2") == requests[1]
    assert await ledger.find_request(ANN, "r3") is None
    assert await ledger.find_request(BEN, "r1") is None


async def test_a_request_that_changed_nothing_is_recorded_too(ledger: Ledger) -> None:
    answered = Request("r1", b"digest", b"nothing to do")

    assert list(await ledger.append(batch(0, requests=[answered]))) == []

    assert await ledger.find_request(ANN, "r1") == answered
    assert await ledger.head(ANN) == Head(0, b"")
    assert [entry.revision for entry in await ledger.append(batch(0, recorded("a")))] == [1]


async def test_entries_carry_the_id_of_the_one_request_that_brought_them(ledger: Ledger) -> None:
    await ledger.append(batch(0, recorded("a"), requests=[Request("r1", b"", b"")]))
    await ledger.append(batch(1, recorded("b"), requests=[Request("r2", b"", b""), Request("r3", b"", b"")]))

    assert [entry.request_id for entry in await ledger.read(ANN, 0, 10)] == ["r1", ""]


async def test_reading_goes_on_where_it_stopped(ledger: Ledger) -> None:
    await fill(ledger, 5)

    first = await ledger.read(ANN, 0, 2)
    rest = await ledger.read(ANN, first[-1].revision, 10)

    assert [entry.revision for entry in first] == [1, 2]
    assert [entry.revision for entry in rest] == [3, 4, 5]
    assert list(await ledger.read(ANN, 5, 10)) == []
    assert list(await ledger.read(ANN, 99, 10)) == []
    assert list(await ledger.read(ANN, 0, 0)) == []


async def test_reading_is_checked_against_the_head_that_the_reader_knows(ledger: Ledger) -> None:
    await fill(ledger, 2)
    known = await ledger.head(ANN)
    await fill(ledger, 1, start=2)

    assert [entry.subject for entry in await ledger.read(ANN, 2, 10, known.chain)] == ["m2"]
    with pytest.raises(LedgerDamaged):
        await ledger.read(ANN, 2, 10, b"x" * 32)


async def test_history_is_one_memory_newest_first(ledger: Ledger) -> None:
    texts = ["one", "two", "three"]
    for number, text in enumerate(texts):
        await ledger.append(batch(2 * number, recorded("a", text), recorded("b", text)))

    history = await ledger.history(ANN, "a", 100, 10)

    assert meanings(history) == [meaning(recorded("a", text)) for text in reversed(texts)]
    assert [entry.revision for entry in history] == [5, 3, 1]
    assert [entry.revision for entry in await ledger.history(ANN, "a", 5, 1)] == [3]
    assert list(await ledger.history(BEN, "a", 100, 10)) == []


async def test_tail_follows_all_partitions(ledger: Ledger) -> None:
    await ledger.append(batch(0, recorded("a1")))
    await ledger.append(batch(0, recorded("b1", partition=BEN), partition=BEN))
    await ledger.append(batch(1, recorded("a2"), recorded("a3")))

    tail = await ledger.tail(0, 10)

    assert [(entry.partition, entry.revision, entry.subject) for entry in tail] == [
        (ANN, 1, "a1"),
        (BEN, 1, "b1"),
        (ANN, 2, "a2"),
        (ANN, 3, "a3"),
    ]
    assert [entry.subject for entry in await ledger.tail(tail[1].position, 1)] == ["a2"]
    assert await ledger.position() == tail[-1].position


async def test_vectors_are_those_of_the_newest_event_that_brought_some(ledger: Ledger) -> None:
    old, new, late = vectors(1), vectors(2, count=3), vectors(3)
    await ledger.append(batch(0, recorded("a", brought=old), recorded("b"), recorded("c", brought=old)))
    await ledger.append(batch(3, recorded("a", brought=new), VectorsRecorded("b", late), recorded("c")))

    stored = rows_by_memory(await ledger.vectors(ANN, MODEL))

    assert stored == {"a": new.rows.tolist(), "b": late.rows.tolist(), "c": old.rows.tolist()}
    assert rows_by_memory(await ledger.vectors_of(ANN, ["b", "none", "a", "b"], MODEL)) == {
        "a": new.rows.tolist(),
        "b": late.rows.tolist(),
    }
    assert list(await ledger.vectors(BEN, MODEL)) == []
    assert list(await ledger.verify(ANN)) == []


async def test_vectors_of_a_new_model_replace_those_of_the_old(ledger: Ledger) -> None:
    await ledger.append(batch(0, recorded("a", brought=vectors(1)), recorded("b", brought=vectors(2))))
    other = vectors(3, model="model-b", dimensions=4)
    await ledger.append(batch(2, VectorsRecorded("a", other)))

    assert rows_by_memory(await ledger.vectors(ANN, "model-b")) == {"a": other.rows.tolist()}
    assert [one.memory_id for one in await ledger.vectors(ANN, MODEL)] == ["b"]
    assert list(await ledger.vectors_of(ANN, ["a"], MODEL)) == []
    assert list(await ledger.verify(ANN)) == []


async def test_a_purge_erases_what_came_before_it(ledger: Ledger) -> None:
    request = Request("r", b"d", b"answer")
    await ledger.append(batch(0, recorded("a", brought=vectors(1)), recorded("b"), requests=[request]))
    before = await ledger.head(ANN)
    purge = MemoryPurged("a", "admin", "asked to")
    await ledger.append(batch(2, recorded("a", "again"), purge))

    entries = await ledger.read(ANN, 0, 10)

    assert meanings(entries) == [None, meaning(recorded("b")), None, purge]
    assert [entry.subject for entry in entries] == ["a", "b", "a", "a"]
    assert meanings(await ledger.history(ANN, "a", 100, 10)) == [purge, None, None]
    assert list(await ledger.vectors(ANN, MODEL)) == []
    assert await ledger.find_request(ANN, "r") == request
    assert list(await ledger.verify(ANN)) == []
    assert len(await ledger.read(ANN, 2, 10, before.chain)) == 2


async def test_what_comes_after_a_purge_stays(ledger: Ledger) -> None:
    again = vectors(2)
    await ledger.append(batch(0, recorded("a", brought=vectors(1))))
    await ledger.append(batch(1, MemoryPurged("a"), recorded("a", "new", again)))
    await ledger.append(batch(0, recorded("a", partition=BEN), partition=BEN))

    assert meanings(await ledger.read(ANN, 1, 10)) == [MemoryPurged("a"), meaning(recorded("a", "new"))]
    assert rows_by_memory(await ledger.vectors(ANN, MODEL)) == {"a": again.rows.tolist()}
    assert meanings(await ledger.read(BEN, 0, 10)) == [meaning(recorded("a", partition=BEN))]
    assert list(await ledger.verify(ANN)) == []


async def test_partitions_come_in_order_and_page_by_page(ledger: Ledger) -> None:
    names = [
        Partition("b", ""),
        Partition("a", "z"),
        Partition("b", "\U0001f375"),
        Partition("a", ""),
        Partition("b", "é"),
    ]
    for partition in names:
        await ledger.append(batch(0, recorded("m", partition=partition), partition=partition))
    ordered = sorted(names, key=lambda partition: (partition.namespace, partition.user))

    first = await ledger.partitions(None, 2)
    rest = await ledger.partitions(first[-1], 10)

    assert [*first, *rest] == ordered
    assert list(await ledger.partitions(ordered[-1], 10)) == []


async def test_a_clock_that_steps_back_changes_no_order(ledger: Ledger) -> None:
    for number, at in enumerate([NOW, NOW - 10_000_000, NOW - 5, 0]):
        await ledger.append(batch(number, recorded(f"m{number}"), recorded_at=at))

    assert [entry.recorded_at for entry in await ledger.read(ANN, 0, 10)] == [NOW, NOW - 10_000_000, NOW - 5, 0]
    assert [entry.subject for entry in await ledger.tail(0, 10)] == ["m0", "m1", "m2", "m3"]


async def test_everything_is_there_after_closing_and_opening(opener: Opener, tmp_path: Path) -> None:
    first = await opener(tmp_path)
    await fill(first, 3)
    await first.append(batch(3, requests=[Request("r", b"d", b"a")]))
    head, entries, stored = await first.head(ANN), await first.read(ANN, 0, 10), await first.vectors(ANN, MODEL)
    await first.close()

    second = await opener(tmp_path)
    try:
        assert await second.head(ANN) == head
        assert meanings(await second.read(ANN, 0, 10)) == meanings(entries)
        assert rows_by_memory(await second.vectors(ANN, MODEL)) == rows_by_memory(stored)
        assert await second.find_request(ANN, "r") == Request("r", b"d", b"a")
        (entry,) = await second.append(batch(3, recorded("next")))
        assert (entry.revision, entry.position) == (4, 4)
        assert list(await second.verify(ANN)) == []
    finally:
        await second.close()


async def test_closing_finishes_what_was_asked_for_and_refuses_the_rest(opener: Opener, tmp_path: Path) -> None:
    ledger = await opener(tmp_path)
    waiting = asyncio.create_task(_append(ledger, batch(0, recorded("a"))))
    await asyncio.sleep(0)

    await asyncio.gather(ledger.close(), ledger.close())

    await waiting
    for refused in (ledger.append(batch(1, recorded("b"))), ledger.head(ANN), ledger.check()):
        with pytest.raises(StoreUnavailable):
            await refused


async def test_a_request_id_is_recorded_once_and_its_answer_is_told(ledger: Ledger) -> None:
    first = Request("r1", b"digest", b"answer")
    await ledger.append(Append(ANN, 0, [recorded("m1")], 1, [first]))
    with pytest.raises(RequestKnown) as known:
        await ledger.append(Append(ANN, 1, [recorded("m2")], 2, [Request("r2", b"", b""), Request("r1", b"x", b"y")]))
    assert list(known.value.known) == [first]
    assert (await ledger.head(ANN)).revision == 1
    assert await ledger.find_request(ANN, "r2") is None
    await ledger.append(Append(BEN, 0, [recorded("m1")], 3, [first]))
