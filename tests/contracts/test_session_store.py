"""What every session store promises. Cases get `sessions`, a store with the small limits that conftest.py names."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest

from memsidecar.domain.errors import (
    AlreadyExists,
    EtagMismatch,
    InvalidField,
    NotFound,
    RequestIdReused,
    SequenceMismatch,
    SessionEnded,
)
from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.session import Message, Role, ScratchWrite, Session, ToolCall
from memsidecar.ports.sessions import SessionChange, SessionKey, SessionStore
from tests.session_servers import until

HOUR = 3_600_000_000
NOW = 1_900_000_000_000_000
AWKWARD = ["a:b", "a*", "a[b]?", "{x}", "a/b", "a b", "ключ", "鍵", "🙂", "\n", "'", '"', "%41", ""]


def a_session(session_id: str = "s", partition: Partition | None = None, ttl: int = HOUR, **more: object) -> Session:
    where = partition or Partition(f"n-{uuid4()}", "u")
    scope = Scope(where.namespace, where.user, "agent", session_id)
    return Session(session_id, scope, NOW, NOW, NOW + ttl, ttl, **more)  # type: ignore[arg-type]


async def started(sessions: SessionStore, session: Session | None = None) -> SessionKey:
    session = session or a_session()
    await sessions.create(session, "", b"")
    return SessionKey(session.scope.partition, session.id)


def said(*texts: str, tokens: int = 3) -> list[Message]:
    return [Message(Role.USER, text, created_at=NOW, token_count=tokens) for text in texts]


async def say(sessions: SessionStore, key: SessionKey, *texts: str) -> None:
    await sessions.append(key, said(*texts), NOW, None, "", b"")


async def test_a_created_session_is_read_back_as_it_is(sessions: SessionStore) -> None:
    session = a_session(labels={"ключ": "значение"}, sliding=False)
    created = await sessions.create(session, "", b"")
    assert created == session
    assert await sessions.get(SessionKey(session.scope.partition, "s")) == session


async def test_a_new_session_starts_empty_whatever_it_claims(sessions: SessionStore) -> None:
    session = a_session(last_seq=9, message_count=9, token_count=9, version=9)
    created = await sessions.create(session, "", b"")
    assert (created.last_seq, created.message_count, created.token_count, created.version) == (0, 0, 0, 1)


async def test_an_id_is_taken_once(sessions: SessionStore) -> None:
    session = a_session()
    await sessions.create(session, "r1", b"d")
    with pytest.raises(AlreadyExists):
        await sessions.create(session, "r2", b"d")


async def test_creating_again_with_the_request_id_gives_the_session(sessions: SessionStore) -> None:
    session = a_session()
    first = await sessions.create(session, "r1", b"d")
    assert await sessions.create(session, "r1", b"d") == first
    with pytest.raises(RequestIdReused):
        await sessions.create(session, "r1", b"other")


@pytest.mark.parametrize("ttl", [0, -5])
async def test_a_session_needs_a_time_to_live(sessions: SessionStore, ttl: int) -> None:
    with pytest.raises(InvalidField):
        await sessions.create(a_session(ttl=ttl), "", b"")


async def test_everything_about_a_session_that_does_not_exist_is_not_found(sessions: SessionStore) -> None:
    key = SessionKey(Partition("nobody"), "none")
    for call in (
        sessions.get(key),
        sessions.update(key, SessionChange(sliding=False), NOW, "", b""),
        sessions.end(key, NOW, "", b""),
        sessions.append(key, said("x"), NOW, None, "", b""),
        sessions.messages(key, 0, 10),
        sessions.messages(key, 0, 0),
        sessions.newest(key, 10),
        sessions.pinned(key),
        sessions.set_scratch(key, [ScratchWrite("k", "1")], NOW, "", b""),
        sessions.scratch(key, ["k"], NOW),
        sessions.list_scratch(key, "", "", 10, NOW),
        sessions.delete_scratch(key, ["k"], NOW),
    ):
        with pytest.raises(NotFound):
            await call
    assert await sessions.delete(key) is False


async def test_an_expired_session_is_gone_with_all_it_held(sessions: SessionStore) -> None:
    session = a_session()
    key = await started(sessions, session)
    await sessions.append(key, [Message(Role.SYSTEM, "be kind")], NOW, None, "", b"")
    await sessions.set_scratch(key, [ScratchWrite("k", "1")], NOW, "", b"")
    await sessions.update(key, SessionChange(ttl=1), NOW, "", b"")

    async def gone() -> bool:
        return not await sessions.list(key.partition, "", 10)

    await until(gone)
    with pytest.raises(NotFound):
        await sessions.get(key)
    await sessions.create(session, "", b"")
    assert await sessions.newest(key, 10) == ()
    assert await sessions.pinned(key) == ()
    assert await sessions.list_scratch(key, "", "", 10, NOW) == ()


async def test_an_append_restarts_the_time_of_a_sliding_session(sessions: SessionStore) -> None:
    key = await started(sessions)
    appended = await sessions.append(key, said("x"), NOW + 5, None, "", b"")
    assert appended.session.expires_at == NOW + 5 + HOUR
    await sessions.set_scratch(key, [ScratchWrite("k", "1")], NOW + 9, "", b"")
    assert (await sessions.get(key)).expires_at == NOW + 9 + HOUR


async def test_a_fixed_session_keeps_its_time(sessions: SessionStore) -> None:
    key = await started(sessions, a_session(sliding=False))
    appended = await sessions.append(key, said("x"), NOW + 5, None, "", b"")
    assert appended.session.expires_at == NOW + HOUR


async def test_messages_come_back_with_every_field(sessions: SessionStore) -> None:
    key = await started(sessions)
    messages = [
        Message(Role.SYSTEM, "prompt", created_at=1, token_count=2),
        Message(
            Role.ASSISTANT,
            "emoji 🙂 : { } \x01 line\nbreak",
            created_at=NOW,
            token_count=4,
            metadata='{"a": 1}',
            tool_calls=(ToolCall("c1", "f", '{"x": [1]}'), ToolCall("c2", "g")),
            group_key="turn:1",
            name="bot",
        ),
        Message(Role.TOOL, "", tool_call_id="c1", pinned=True, group_key="turn:1"),
    ]
    await sessions.append(key, messages, NOW, None, "", b"")
    stored = tuple(replace(message, seq=seq) for seq, message in enumerate(messages, 1))
    assert await sessions.messages(key, 0, 10) == stored
    assert await sessions.pinned(key) == (stored[0], stored[2])


async def test_seqs_are_consecutive_and_counts_add_up(sessions: SessionStore) -> None:
    key = await started(sessions)
    first = await sessions.append(key, said("a", "b"), NOW + 1, None, "", b"")
    second = await sessions.append(key, said("c", tokens=5), NOW + 2, 2, "", b"")
    assert (first.seqs, first.token_count) == ((1, 2), 6)
    assert (second.seqs, second.token_count) == ((3,), 5)
    session = second.session
    assert (session.last_seq, session.message_count, session.token_count) == (3, 3, 11)
    assert (session.version, session.updated_at) == (3, NOW + 2)


async def test_an_append_to_a_session_that_moved_on_is_refused(sessions: SessionStore) -> None:
    key = await started(sessions)
    await say(sessions, key, "a", "b")
    with pytest.raises(SequenceMismatch) as refused:
        await sessions.append(key, said("c"), NOW, 1, "", b"")
    assert refused.value.metadata["last_seq"] == "2"
    assert refused.value.metadata["expected_last_seq"] == "1"
    assert (await sessions.get(key)).last_seq == 2


async def test_an_empty_append_is_refused(sessions: SessionStore) -> None:
    key = await started(sessions)
    with pytest.raises(InvalidField):
        await sessions.append(key, [], NOW, None, "", b"")


async def test_text_that_is_not_unicode_is_refused_with_its_place(sessions: SessionStore) -> None:
    key = await started(sessions)
    with pytest.raises(InvalidField, match=r"messages\[1\]"):
        await sessions.append(key, said("fine", "\ud800"), NOW, None, "", b"")
    with pytest.raises(InvalidField):
        await sessions.set_scratch(key, [ScratchWrite("\ud800", "1")], NOW, "", b"")
    with pytest.raises(InvalidField):
        await sessions.get(SessionKey(key.partition, "\ud800"))
    assert (await sessions.get(key)).last_seq == 0


async def test_a_repeated_append_gives_the_first_result_and_stores_once(sessions: SessionStore) -> None:
    key = await started(sessions)
    first = await sessions.append(key, said("a", "b"), NOW, None, "r1", b"d")
    await say(sessions, key, "c")
    await sessions.end(key, NOW, "", b"")
    again = await sessions.append(key, said("a", "b"), NOW, 0, "r1", b"d")
    assert (again.seqs, again.token_count) == (first.seqs, first.token_count)
    assert (await sessions.get(key)).last_seq == 3


async def test_a_request_id_means_one_request(sessions: SessionStore) -> None:
    key = await started(sessions)
    await sessions.append(key, said("a"), NOW, None, "r1", b"d")
    for call in (
        sessions.append(key, said("b"), NOW, None, "r1", b"e"),
        sessions.end(key, NOW, "r1", b"d"),
        sessions.update(key, SessionChange(ttl=HOUR), NOW, "r1", b"d"),
        sessions.set_scratch(key, [ScratchWrite("k", "1")], NOW, "r1", b"d"),
    ):
        with pytest.raises(RequestIdReused):
            await call


async def test_a_refused_append_may_be_tried_again_with_its_request_id(sessions: SessionStore) -> None:
    key = await started(sessions)
    with pytest.raises(SequenceMismatch):
        await sessions.append(key, said("a"), NOW, 7, "r1", b"d")
    assert (await sessions.append(key, said("a"), NOW, 0, "r1", b"d")).seqs == (1,)


async def test_the_newest_request_ids_are_remembered(sessions: SessionStore) -> None:
    key = await started(sessions)
    for number in range(60):
        await sessions.append(key, said("a"), NOW, None, f"r{number}", b"d")
    assert (await sessions.append(key, said("a"), NOW, None, "r0", b"d")).seqs == (1,)


async def test_messages_are_paged_by_seq(sessions: SessionStore) -> None:
    key = await started(sessions)
    await say(sessions, key, *(str(number) for number in range(1, 11)))
    assert [message.seq for message in await sessions.messages(key, 0, 4)] == [1, 2, 3, 4]
    assert [message.text for message in await sessions.messages(key, 4, 4)] == ["5", "6", "7", "8"]
    assert [message.seq for message in await sessions.messages(key, 8, 4)] == [9, 10]
    assert await sessions.messages(key, 10, 4) == ()
    assert await sessions.messages(key, 99, 4) == ()
    assert await sessions.messages(key, 0, 0) == ()


async def test_the_newest_come_oldest_first(sessions: SessionStore) -> None:
    key = await started(sessions)
    assert await sessions.newest(key, 5) == ()
    await say(sessions, key, "a", "b", "c")
    assert [message.text for message in await sessions.newest(key, 2)] == ["b", "c"]
    assert [message.seq for message in await sessions.newest(key, 5)] == [1, 2, 3]


async def test_a_long_transcript_loses_its_oldest_messages_and_no_seq(sessions: SessionStore) -> None:
    key = await started(sessions)
    await sessions.append(key, [Message(Role.SYSTEM, "prompt", token_count=3)], NOW, None, "", b"")
    for number in range(30):
        await say(sessions, key, f"{number}a", f"{number}b")
    session = await sessions.get(key)
    assert (session.last_seq, session.message_count, session.token_count) == (61, 50, 150)
    kept = await sessions.messages(key, 0, 100)
    assert [message.seq for message in kept] == list(range(12, 62))
    assert [message.text for message in kept[:2]] == ["5a", "5b"]
    assert [message.text for message in await sessions.pinned(key)] == ["prompt"]
    assert [message.seq for message in await sessions.messages(key, 20, 2)] == [21, 22]


async def test_one_append_may_be_longer_than_the_transcript(sessions: SessionStore) -> None:
    key = await started(sessions)
    appended = await sessions.append(key, said(*map(str, range(70))), NOW, None, "", b"")
    assert appended.seqs == tuple(range(1, 71))
    assert [message.seq for message in await sessions.newest(key, 100)] == list(range(21, 71))


async def test_too_many_pinned_messages_are_refused_as_a_whole(sessions: SessionStore) -> None:
    key = await started(sessions)
    pinned = [Message(Role.USER, str(number), pinned=True) for number in range(6)]
    with pytest.raises(InvalidField, match="5 pinned"):
        await sessions.append(key, pinned, NOW, None, "", b"")
    assert (await sessions.get(key)).last_seq == 0
    await sessions.append(key, pinned[:5], NOW, None, "", b"")
    await say(sessions, key, "others still fit")


async def test_two_writers_lose_and_reorder_nothing(sessions: SessionStore) -> None:
    key = await started(sessions)
    seqs: list[int] = []

    async def write(name: str) -> None:
        for number in range(25):
            appended = await sessions.append(key, said(f"{name} {number}"), NOW, None, "", b"")
            seqs.extend(appended.seqs)

    await asyncio.gather(write("a"), write("b"))
    assert sorted(seqs) == list(range(1, 51))
    texts = [message.text for message in await sessions.messages(key, 0, 50)]
    for name in "ab":
        assert [text for text in texts if text[0] == name] == [f"{name} {number}" for number in range(25)]


async def test_only_one_of_two_writers_with_one_expectation_wins(sessions: SessionStore) -> None:
    key = await started(sessions)
    calls = (sessions.append(key, said(str(number)), NOW, 0, "", b"") for number in range(8))
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(result, SequenceMismatch) for result in results) == 7
    assert (await sessions.get(key)).last_seq == 1


async def test_an_update_changes_what_it_names(sessions: SessionStore) -> None:
    key = await started(sessions, a_session(labels={"a": "1"}))
    changed = await sessions.update(key, SessionChange(ttl=2 * HOUR), NOW + 7, "", b"")
    assert (changed.ttl, changed.expires_at, changed.labels) == (2 * HOUR, NOW + 7 + 2 * HOUR, {"a": "1"})
    changed = await sessions.update(key, SessionChange(labels={}, sliding=False), NOW + 9, "", b"")
    assert (changed.labels, changed.sliding, changed.expires_at) == ({}, False, NOW + 7 + 2 * HOUR)
    assert (changed.version, changed.updated_at) == (3, NOW + 9)


async def test_an_update_of_another_version_is_refused(sessions: SessionStore) -> None:
    key = await started(sessions)
    await say(sessions, key, "a")
    with pytest.raises(EtagMismatch) as refused:
        await sessions.update(key, SessionChange(ttl=HOUR, expected_version=1), NOW, "", b"")
    assert refused.value.metadata["current_etag"] == "2"
    await sessions.update(key, SessionChange(ttl=HOUR, expected_version=2), NOW, "", b"")


async def test_a_repeated_update_changes_once(sessions: SessionStore) -> None:
    key = await started(sessions)
    change = SessionChange(labels={"a": "1"}, expected_version=1)
    await sessions.update(key, change, NOW, "r1", b"d")
    assert (await sessions.update(key, change, NOW, "r1", b"d")).version == 2


async def test_an_ended_session_can_be_read_but_not_written(sessions: SessionStore) -> None:
    key = await started(sessions)
    await say(sessions, key, "a")
    ended = await sessions.end(key, NOW + 3, "", b"")
    assert ended.ended_at == NOW + 3
    assert (await sessions.end(key, NOW + 9, "", b"")) == ended
    with pytest.raises(SessionEnded):
        await say(sessions, key, "b")
    with pytest.raises(SessionEnded):
        await sessions.set_scratch(key, [ScratchWrite("k", "1")], NOW, "", b"")
    assert [message.text for message in await sessions.newest(key, 5)] == ["a"]


async def test_a_deleted_session_leaves_nothing_to_its_successor(sessions: SessionStore) -> None:
    session = a_session()
    key = await started(sessions, session)
    await sessions.append(key, [Message(Role.SYSTEM, "x")], NOW, None, "r1", b"d")
    await sessions.set_scratch(key, [ScratchWrite("k", "1")], NOW, "", b"")
    assert await sessions.delete(key) is True
    assert await sessions.delete(key) is False
    assert await sessions.list(key.partition, "", 10) == ()
    await sessions.create(session, "", b"")
    assert [listed.id for listed in await sessions.list(key.partition, "", 10)] == ["s"]
    assert await sessions.pinned(key) == ()
    assert await sessions.scratch(key, ["k"], NOW) == ()
    assert (await sessions.append(key, said("a"), NOW, None, "r1", b"e")).seqs == (1,)


async def test_sessions_are_listed_in_the_order_of_their_ids(sessions: SessionStore) -> None:
    partition = Partition(f"n-{uuid4()}", "u")
    ids = sorted(["b", "a", "a:1", "a*", "Z", "é", "🙂", "鍵", "{a}", "a/b", "\uffff"])
    for session_id in reversed(ids):
        await started(sessions, a_session(session_id, partition))
    found: list[str] = []
    while page := await sessions.list(partition, found[-1] if found else "", 3):
        assert len(page) <= 3
        found += [session.id for session in page]
    assert found == ids
    assert await sessions.list(partition, "", 0) == ()


async def test_expired_sessions_do_not_end_a_page_early(sessions: SessionStore) -> None:
    partition = Partition(f"n-{uuid4()}", "u")
    for number in range(60):
        await started(sessions, a_session(f"a{number}", partition, ttl=1_000))
    await started(sessions, a_session("b", partition))

    async def only_the_live_one_is_left() -> bool:
        return [session.id for session in await sessions.list(partition, "", 1)] == ["b"]

    await until(only_the_live_one_is_left)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Partition("acme", "u"), Partition("acme-corp", "u")),
        (Partition("acme", "john_doe"), Partition("acme", "john-doe")),
        (Partition("a/b", "c"), Partition("a", "b/c")),
        (Partition("a}", "b"), Partition("a", "}b")),
        (Partition("a", ""), Partition("a", "u")),
        (Partition("a%2F", "b"), Partition("a/", "b")),
    ],
)
async def test_partitions_never_meet(sessions: SessionStore, one: Partition, other: Partition) -> None:
    run = str(uuid4())
    mine, theirs = SessionKey(one, run), SessionKey(other, run)
    await started(sessions, a_session(run, one))
    with pytest.raises(NotFound):
        await sessions.get(theirs)
    assert [s for s in await sessions.list(other, "", 1000) if s.id == run] == []
    await started(sessions, a_session(run, other))
    await say(sessions, mine, "secret")
    assert await sessions.newest(theirs, 5) == ()


async def test_scratch_keys_hold_any_character(sessions: SessionStore) -> None:
    key = await started(sessions)
    writes = [ScratchWrite(name, f'"{number}"') for number, name in enumerate(AWKWARD)]
    written = await sessions.set_scratch(key, writes, NOW, "", b"")
    assert [(entry.key, entry.value) for entry in written] == [(write.key, write.value) for write in writes]
    assert await sessions.scratch(key, AWKWARD, NOW) == written
    listed = await sessions.list_scratch(key, "", "", 100, NOW)
    assert [entry.key for entry in listed] == sorted(AWKWARD)
    assert [entry.key for entry in await sessions.list_scratch(key, "a*", "", 100, NOW)] == ["a*"]
    assert await sessions.delete_scratch(key, ["a*", "nothing", "a*"], NOW) == 1
    assert len(await sessions.list_scratch(key, "", "", 100, NOW)) == len(AWKWARD) - 1


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
    await sessions.delete_scratch(key, ["k"], NOW)
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
    assert await sessions.delete_scratch(key, ["k"], NOW + 10) == 0
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
    await sessions.delete_scratch(key, ["big"], NOW)
    await sessions.set_scratch(key, [ScratchWrite("more", "x" * 4000)], NOW, "", b"")


async def test_a_live_store_passes_its_check(sessions: SessionStore) -> None:
    await sessions.check()
