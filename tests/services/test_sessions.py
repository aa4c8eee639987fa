from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from memsidecar.adapters.quicktok_tokenizer import QuicktokTokenizer
from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.domain.draft import Request
from memsidecar.domain.errors import AlreadyExists, EtagMismatch, InvalidField, NotFound, TokenizerUnknown
from memsidecar.domain.session import Message, Role, ScratchWrite, Session, ToolCall
from memsidecar.ports.sessions import SessionKey
from memsidecar.services.sessions import DEFAULT_TTL, Sessions
from tests.doubles.runtime import CountedIds, PinnedClock
from tests.services.stack import ANN
from tests.session_servers import RunningServer

NO = Request()
SECOND = 1_000_000


@pytest.fixture
def clock() -> PinnedClock:
    return PinnedClock(time.time_ns() // 1000)


@pytest.fixture
async def sessions(server: RunningServer, clock: PinnedClock) -> AsyncIterator[Sessions]:
    store = RedisSessions.connect(RedisSettings(server.url))
    yield Sessions(store, QuicktokTokenizer(), clock, CountedIds())
    await store.close()


async def made(sessions: Sessions, name: str, **given: object) -> tuple[SessionKey, Session]:
    created = await sessions.create(ANN, name, {}, given.get("expires_at"), given.get("ttl"), NO)  # type: ignore[arg-type]
    return SessionKey(ANN.partition, created.id), created


def text(words: str, tokens: int = 0, role: Role = Role.USER, pinned: bool = False) -> Message:
    return Message(role, words, token_count=tokens, pinned=pinned)


async def test_the_id_is_given_or_the_scopes_or_new(sessions: Sessions) -> None:
    assert (await made(sessions, "given"))[1].id == "given"
    scoped = await sessions.create(replace(ANN, session="scoped"), "", {}, None, None, NO)
    fresh = await sessions.create(ANN, "", {}, None, None, NO)
    assert (scoped.id, scoped.scope.session, fresh.id) == ("scoped", "scoped", "m000001")
    with pytest.raises(AlreadyExists):
        await made(sessions, "given")


async def test_a_message_is_said_when_it_is_appended(sessions: Sessions, clock: PinnedClock) -> None:
    key, _ = await made(sessions, "dated")
    first = clock.time
    await sessions.append(key, [text("one"), text("two")], None, NO)
    clock.time += SECOND
    await sessions.append(key, [text("three")], None, NO)
    listed = await sessions.messages(key, 0, 10)
    assert [message.created_at for message in listed] == [first, first, first + SECOND]
    window = await sessions.window(key, 0, None, 0, "")
    assert [message.created_at for message in window.messages] == [first, first, first + SECOND]


async def test_a_session_lives_an_hour_from_its_last_use_unless_told(sessions: Sessions, clock: PinnedClock) -> None:
    key, session = await made(sessions, "default")
    assert (session.ttl, session.sliding, session.expires_at) == (DEFAULT_TTL, True, clock.time + DEFAULT_TTL)
    clock.time += SECOND
    appended = await sessions.append(key, [text("hi")], None, NO)
    assert appended.session.expires_at == clock.time + DEFAULT_TTL


async def test_an_expire_time_is_not_moved_by_use_and_a_ttl_is(sessions: Sessions, clock: PinnedClock) -> None:
    end = clock.time + 100 * SECOND
    key, session = await made(sessions, "fixed", expires_at=end)
    assert (session.expires_at, session.sliding) == (end, False)
    clock.time += SECOND
    assert (await sessions.append(key, [text("hi")], None, NO)).session.expires_at == end
    slid = await sessions.update(key, None, None, 50 * SECOND, "", NO)
    assert (slid.expires_at, slid.sliding) == (clock.time + 50 * SECOND, True)
    fixed = await sessions.update(key, None, end, None, "", NO)
    assert (fixed.expires_at, fixed.sliding) == (end, False)
    kept = await sessions.update(key, {"a": "b"}, None, None, "", NO)
    assert (kept.expires_at, kept.sliding, dict(kept.labels)) == (end, False, {"a": "b"})


async def test_an_end_that_has_passed_is_refused_by_its_name(sessions: Sessions, clock: PinnedClock) -> None:
    key, _ = await made(sessions, "past")
    for wrong in (clock.time, clock.time - 1):
        with pytest.raises(InvalidField, match="expire_time"):
            await made(sessions, "never", expires_at=wrong)
        with pytest.raises(InvalidField, match="expire_time"):
            await sessions.update(key, None, wrong, None, "", NO)


@pytest.mark.parametrize("etag", ["999", "x", "-1", "1.0"])
async def test_a_wrong_etag_is_refused(sessions: Sessions, etag: str) -> None:
    key, session = await made(sessions, f"etag {etag}")
    with pytest.raises(EtagMismatch):
        await sessions.update(key, {"a": "b"}, None, None, etag, NO)
    assert (await sessions.update(key, {"a": "b"}, None, None, str(session.version), NO)).labels == {"a": "b"}


async def test_deleting_again_is_harmless_only_for_a_retry(sessions: Sessions) -> None:
    key, _ = await made(sessions, "deleted")
    await sessions.delete(key, NO)
    with pytest.raises(NotFound):
        await sessions.delete(key, NO)
    await sessions.delete(key, Request("r"))
    with pytest.raises(NotFound):
        await sessions.get(key)


async def test_tokens_are_counted_where_the_caller_did_not(sessions: Sessions) -> None:
    key, _ = await made(sessions, "counted")
    call = Message(Role.ASSISTANT, "", tool_calls=(ToolCall("1", "look_up", '{"q": "tea"}'),))
    await sessions.append(key, [text("Hello there, friend"), text("Hello", 7), call], None, NO)
    counts = [m.token_count for m in await sessions.messages(key, 0, 10)]
    assert counts[1] == 7
    assert counts[0] >= 3
    assert counts[2] > 3


async def test_a_windows_defaults(sessions: Sessions) -> None:
    key, _ = await made(sessions, "window")
    await sessions.append(key, [text("be brief", 10, Role.SYSTEM)], None, NO)
    await sessions.append(key, [text(f"turn {n}", 100) for n in range(60)], None, NO)
    window = await sessions.window(key, 0, None, 0, "")
    assert len(window.messages) == 20
    assert window.messages[0].text == "be brief"
    assert window.messages[-1].text == "turn 59"
    assert window.omitted == 61 - 20


async def test_a_window_without_room_for_the_newest_message_is_refused(sessions: Sessions) -> None:
    key, _ = await made(sessions, "reserved")
    await sessions.append(key, [text("pinned", 50, pinned=True), text("hello", 5), text("again", 5)], None, NO)
    with pytest.raises(InvalidField, match="max_tokens"):
        await sessions.window(key, 100, 500, 0, "")
    assert [m.text for m in (await sessions.window(key, 70, 0, 0, "")).messages] == ["pinned", "again"]
    assert [m.text for m in (await sessions.window(key, 1_000, 0, 2, "")).messages] == ["pinned", "again"]


@pytest.mark.parametrize("tokenizer", ["", "cl100k_base"])
async def test_of_a_newest_message_over_the_budget_the_window_has_both_ends(sessions: Sessions, tokenizer: str) -> None:
    key, _ = await made(sessions, f"long{tokenizer}")
    long = "First of all. " + "word " * 9000 + "What does it mean?"
    await sessions.append(key, [text("first", 0), text(long, 0)], None, NO)
    window = await sessions.window(key, 1000, None, 0, tokenizer)
    (message,) = window.messages
    assert message.text.startswith("First of all. word")
    assert message.text.endswith("word What does it mean?")
    assert (message.seq, window.shortened, window.omitted) == (2, True, 1)
    assert 700 < window.token_count <= 750
    assert window == await sessions.window(key, 1000, None, 0, tokenizer)
    whole = await sessions.window(key, 20_000, None, 0, tokenizer)
    assert (whole.messages[-1].text, whole.shortened) == (long, False)


async def test_a_window_counts_with_the_tokenizer_asked_for(sessions: Sessions) -> None:
    key, _ = await made(sessions, "tokenizer")
    await sessions.append(key, [text("Guten Morgen, wie geht es dir heute?", 1_000)], None, NO)
    stored = await sessions.window(key, 8_000, 0, 0, "")
    asked = await sessions.window(key, 8_000, 0, 0, "cl100k_base")
    assert stored.token_count >= 1_000
    assert asked.token_count < 100 or asked.token_count == stored.token_count
    with pytest.raises(TokenizerUnknown):
        await sessions.window(key, 0, None, 0, "no such tokenizer!")


async def test_scratch_values_end_when_told(sessions: Sessions, clock: PinnedClock) -> None:
    key, _ = await made(sessions, "scratch")
    writes = [ScratchWrite("a", "1"), ScratchWrite("b", "2", expires_at=clock.time + 5 * SECOND)]
    await sessions.set_scratch(key, writes, 2 * SECOND, NO)
    assert [e.key for e in await sessions.scratch(key, ["b", "a"])] == ["b", "a"]
    clock.time += 3 * SECOND
    assert [e.key for e in await sessions.scratch(key, ["a", "b"])] == ["b"]
    assert [e.key for e in await sessions.list_scratch(key, "", "", 10)] == ["b"]
    assert await sessions.delete_scratch(key, ["b"], NO) == 1
