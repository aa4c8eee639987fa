"""What every session store promises about scratch; `sessions` has the small limits that conftest.py names."""

from __future__ import annotations

import pytest

from memsidecar.domain.errors import (
    EtagMismatch,
    InvalidField,
    RequestIdReused,
    SessionEnded,
)
from memsidecar.domain.session import ScratchWrite
from memsidecar.ports.sessions import SessionStore
from tests.contracts.session_values import NOW, started

AWKWARD = ["a:b", "a*", "a[b]?", "{x}", "a/b", "a b", "ключ", "鍵", "🙂", "\n", "'", '"', "%41", ""]


async def test_scratch_keys_hold_any_character(sessions: SessionStore) -> None:
    key = await started(sessions)
    writes = [ScratchWrite(name, f'"{number}"') for number, name in enumerate(AWKWARD)]
    written = await sessions.set_scratch(key, writes, NOW, "", b"")
    assert [(entry.key, entry.value) for entry in written] == [(write.key, write.value) for write in writes]
    assert await sessions.scratch(key, AWKWARD, NOW) == written
    listed = await sessions.list_scratch(key, "", "", 100, NOW)
    assert [entry.key for entry in listed] == sorted(AWKWARD)
    assert [entry.key for entry in await sessions.list_scratch(key, "a*", "", 100, NOW)] == ["a*"]
    assert await sessions.delete_scratch(key, ["a*", "nothing", "a*"], NOW, "", b"") == 1
    assert len(await sessions.list_scratch(key, "", "", 100, NOW)) == len(AWKWARD) - 1


async def test_deleting_scratch_that_is_not_there_is_no_error(sessions: SessionStore) -> None:
    key = await started(sessions)
    assert await sessions.delete_scratch(key, ["never"], NOW, "", b"") == 0
    await sessions.set_scratch(key, [ScratchWrite("k", "1")], NOW, "", b"")
    assert await sessions.delete_scratch(key, ["never", "k"], NOW, "", b"") == 1
    assert await sessions.delete_scratch(key, ["never", "k"], NOW, "", b"") == 0


async def test_an_ended_session_keeps_its_scratch(sessions: SessionStore) -> None:
    key = await started(sessions)
    await sessions.set_scratch(key, [ScratchWrite("k", "1")], NOW, "", b"")
    await sessions.end(key, NOW, "", b"")
    with pytest.raises(SessionEnded):
        await sessions.delete_scratch(key, ["k"], NOW, "", b"")
    assert [entry.key for entry in await sessions.scratch(key, ["k"], NOW)] == ["k"]


async def test_scratch_is_paged_within_a_prefix(sessions: SessionStore) -> None:
    key = await started(sessions)
    await sessions.set_scratch(key, [ScratchWrite(f"p{n}", "1") for n in range(5)], NOW, "", b"")
    await sessions.set_scratch(key, [ScratchWrite("q", "1")], NOW, "", b"")
    first = await sessions.list_scratch(key, "p", "", 3, NOW)
    second = await sessions.list_scratch(key, "p", first[-1].key, 3, NOW)
    assert [entry.key for entry in (*first, *second)] == ["p0", "p1", "p2", "p3", "p4"]


async def test_scratch_reads_follow_the_order_asked_for(sessions: SessionStore) -> None:
    key = await started(sessions)
    await sessions.set_scratch(key, [ScratchWrite("a", "1"), ScratchWrite("b", "2")], NOW, "", b"")
    assert [entry.key for entry in await sessions.scratch(key, ["b", "none", "a"], NOW)] == ["b", "a"]
    assert await sessions.scratch(key, [], NOW) == ()


async def test_scratch_is_written_over_the_expected_version_only(sessions: SessionStore) -> None:
    key = await started(sessions)
    (entry,) = await sessions.set_scratch(key, [ScratchWrite("k", "1", expected_version=0)], NOW, "", b"")
    with pytest.raises(EtagMismatch, match="k"):
        await sessions.set_scratch(key, [ScratchWrite("k", "2", expected_version=0)], NOW, "", b"")
    with pytest.raises(EtagMismatch):
        await sessions.set_scratch(key, [ScratchWrite("k", "2", expected_version=entry.version + 5)], NOW, "", b"")
    (newer,) = await sessions.set_scratch(key, [ScratchWrite("k", "2", None, entry.version)], NOW, "", b"")
    assert newer.version > entry.version
    await sessions.delete_scratch(key, ["k"], NOW, "", b"")
    with pytest.raises(EtagMismatch):
        await sessions.set_scratch(key, [ScratchWrite("k", "3", None, newer.version)], NOW, "", b"")
    (reborn,) = await sessions.set_scratch(key, [ScratchWrite("k", "3")], NOW, "", b"")
    assert reborn.version > newer.version


async def test_scratch_is_written_all_or_none(sessions: SessionStore) -> None:
    key = await started(sessions)
    await sessions.set_scratch(key, [ScratchWrite("b", "1")], NOW, "", b"")
    with pytest.raises(EtagMismatch, match="scratch b"):
        await sessions.set_scratch(key, [ScratchWrite("a", "2"), ScratchWrite("b", "2", None, 0)], NOW, "", b"")
    assert [entry.value for entry in await sessions.list_scratch(key, "", "", 10, NOW)] == ["1"]


async def test_a_scratch_key_is_named_once_in_a_write(sessions: SessionStore) -> None:
    key = await started(sessions)
    with pytest.raises(InvalidField):
        await sessions.set_scratch(key, [ScratchWrite("a", "1"), ScratchWrite("a", "2")], NOW, "", b"")


async def test_a_repeated_scratch_write_gives_the_first_result(sessions: SessionStore) -> None:
    key = await started(sessions)
    writes = [ScratchWrite("a", "1", NOW + 9), ScratchWrite("b", "2", None, 0)]
    first = await sessions.set_scratch(key, writes, NOW, "r1", b"d")
    await sessions.set_scratch(key, [ScratchWrite("b", "3")], NOW, "", b"")
    assert await sessions.set_scratch(key, writes, NOW, "r1", b"d") == first
    assert [entry.value for entry in await sessions.scratch(key, ["b"], NOW)] == ["3"]


async def test_scratch_expires_by_the_time_given(sessions: SessionStore) -> None:
    key = await started(sessions)
    await sessions.set_scratch(key, [ScratchWrite("k", "1", NOW + 10), ScratchWrite("l", "1")], NOW, "", b"")
    assert len(await sessions.scratch(key, ["k"], NOW + 9)) == 1
    assert await sessions.scratch(key, ["k"], NOW + 10) == ()
    assert await sessions.delete_scratch(key, ["k"], NOW + 10, "", b"") == 0
    await sessions.set_scratch(key, [ScratchWrite("k", "2", NOW + 20, 0)], NOW + 10, "", b"")
    await sessions.set_scratch(key, [ScratchWrite("k", "3", NOW + 40, 0)], NOW + 20, "", b"")
    assert [entry.value for entry in await sessions.scratch(key, ["k"], NOW + 30)] == ["3"]
    assert [entry.key for entry in await sessions.list_scratch(key, "", "", 10, NOW + 40)] == ["l"]


async def test_scratch_is_bounded_in_entries(sessions: SessionStore) -> None:
    key = await started(sessions)
    await sessions.set_scratch(key, [ScratchWrite(str(n), "1", NOW + 10) for n in range(20)], NOW, "", b"")
    with pytest.raises(InvalidField, match="20 entries"):
        await sessions.set_scratch(key, [ScratchWrite("more", "1")], NOW, "", b"")
    await sessions.set_scratch(key, [ScratchWrite("0", "over an old one", NOW + 10)], NOW, "", b"")
    await sessions.set_scratch(key, [ScratchWrite("more", "1")], NOW + 10, "", b"")
    assert [entry.key for entry in await sessions.list_scratch(key, "", "", 100, NOW + 10)] == ["more"]


async def test_scratch_is_bounded_in_bytes(sessions: SessionStore) -> None:
    key = await started(sessions)
    for round_trip in range(3):
        await sessions.set_scratch(key, [ScratchWrite("big", "x" * 4000, NOW + round_trip)], NOW, "", b"")
    with pytest.raises(InvalidField, match="4096 bytes"):
        await sessions.set_scratch(key, [ScratchWrite("more", "x" * 200)], NOW, "", b"")
    await sessions.delete_scratch(key, ["big"], NOW, "", b"")
    await sessions.set_scratch(key, [ScratchWrite("more", "x" * 4000)], NOW, "", b"")


async def test_deleting_again_with_the_request_id_gives_the_first_answer_and_deletes_nothing_more(
    sessions: SessionStore,
) -> None:
    key = await started(sessions)
    await sessions.set_scratch(key, [ScratchWrite("a", "1"), ScratchWrite("b", "1")], NOW, "", b"")
    assert await sessions.delete_scratch(key, ["a", "b", "never"], NOW, "r", b"d") == 2
    await sessions.set_scratch(key, [ScratchWrite("a", "2")], NOW, "", b"")
    assert await sessions.delete_scratch(key, ["a", "b", "never"], NOW, "r", b"d") == 2
    assert [(e.key, e.value) for e in await sessions.scratch(key, ["a", "b"], NOW)] == [("a", "2")]
    await sessions.end(key, NOW, "", b"")
    assert await sessions.delete_scratch(key, ["a", "b", "never"], NOW, "r", b"d") == 2


async def test_id_of_a_delete_means_one_request(sessions: SessionStore) -> None:
    key = await started(sessions)
    await sessions.delete_scratch(key, ["a"], NOW, "r", b"d")
    with pytest.raises(RequestIdReused):
        await sessions.delete_scratch(key, ["b"], NOW, "r", b"other")
    with pytest.raises(RequestIdReused):
        await sessions.set_scratch(key, [ScratchWrite("a", "1")], NOW, "r", b"d")
