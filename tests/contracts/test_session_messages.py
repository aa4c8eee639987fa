"""What every session store promises about messages; `sessions` has the small limits that conftest.py names."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from memsidecar.domain.errors import (
    InvalidField,
    RequestIdReused,
    SequenceMismatch,
)
from memsidecar.domain.session import Message, Role, ScratchWrite, ToolCall
from memsidecar.ports.sessions import SessionChange, SessionKey, SessionStore
from tests.contracts.session_values import HOUR, NOW, said, say, started


async def test_an_append_restarts_the_time_of_a_sliding_session(sessions: SessionStore) -> None:
    key = await started(sessions)
    appended = await sessions.append(key, said("x"), NOW + 5, None, "", b"")
    assert appended.session.expires_at == NOW + 5 + HOUR
    await sessions.set_scratch(key, [ScratchWrite("k", "1")], NOW + 9, "", b"")
    assert (await sessions.get(key)).expires_at == NOW + 9 + HOUR


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
