"""What every session store promises about sessions; `sessions` has the small limits that conftest.py names."""

from __future__ import annotations

from uuid import uuid4

import pytest

from memsidecar.domain.errors import (
    AlreadyExists,
    EtagMismatch,
    InvalidField,
    NotFound,
    RequestIdReused,
    SessionEnded,
)
from memsidecar.domain.scope import Partition
from memsidecar.domain.session import Message, Role, ScratchWrite
from memsidecar.ports.sessions import SessionChange, SessionKey, SessionStore
from tests.contracts.session_values import HOUR, NOW, a_session, said, say, started
from tests.session_servers import until


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
        sessions.delete_scratch(key, ["k"], NOW, "", b""),
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


async def test_a_fixed_session_keeps_its_time(sessions: SessionStore) -> None:
    key = await started(sessions, a_session(sliding=False))
    appended = await sessions.append(key, said("x"), NOW + 5, None, "", b"")
    assert appended.session.expires_at == NOW + HOUR


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


async def test_a_live_store_passes_its_check(sessions: SessionStore) -> None:
    await sessions.check()
