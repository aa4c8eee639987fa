"""The server dies, fills up, forgets, or is slow."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest
from redis.asyncio import Redis

from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.domain.errors import StoreFull, StoreUnavailable
from tests.adapters.redis_sessions.conftest import HOUR, NOW, a_session, key_of, said
from tests.session_servers import RunningServer, until

SESSION = a_session()
KEY = key_of(SESSION)


async def test_acknowledged_messages_survive_a_killed_server(server: RunningServer, store: RedisSessions) -> None:
    await store.create(SESSION, "", b"")
    acknowledged: list[int] = []

    async def write(name: str) -> None:
        try:
            for number in range(10_000):
                appended = await store.append(KEY, [said(f"{name}{number}")], NOW, None, "", b"")
                acknowledged.extend(appended.seqs)
                if len(acknowledged) > 300:
                    server.kill()
        except StoreUnavailable:
            return

    await asyncio.gather(write("a"), write("b"))
    server.start()
    stored = [message.seq for message in await store.messages(KEY, 0, 10_000)]
    assert set(acknowledged) <= set(stored)
    assert stored == list(range(1, len(stored) + 1))


async def test_calls_fail_typed_while_the_server_is_away_and_work_after(
    server: RunningServer, store: RedisSessions
) -> None:
    await store.create(SESSION, "", b"")
    server.kill()
    for call in (
        store.get(KEY),
        store.check(),
        store.list(KEY.partition, "", 5),
        store.append(KEY, [said("x")], NOW, None, "r", b"d"),
        store.delete(KEY),
    ):
        with pytest.raises(StoreUnavailable) as away:
            await call
        assert away.value.__cause__ is not None
    server.start()
    assert (await store.append(KEY, [said("x")], NOW, None, "", b"")).seqs == (1,)


async def test_scripts_that_the_server_forgot_are_sent_again(server: RunningServer, store: RedisSessions) -> None:
    await store.create(SESSION, "", b"")
    async with Redis.from_url(server.url) as admin:
        await admin.script_flush()
    assert (await store.append(KEY, [said("x")], NOW, None, "", b"")).seqs == (1,)


async def test_a_lost_answer_is_asked_for_again_only_with_a_request_id(server: RunningServer) -> None:
    """A proxy that forwards the first append and cuts the line instead of answering."""
    cuts = 0

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal cuts
        up_reader, up_writer = await asyncio.open_unix_connection(server.socket)
        while data := await reader.read(65536):
            up_writer.write(data)
            answer = await up_reader.read(65536)
            if b"cut me" in data and cuts > 0 and b"NOSCRIPT" not in answer:
                cuts -= 1
                break
            writer.write(answer)
        up_writer.close()
        writer.close()

    path = str(server.directory / "proxy")
    async with await asyncio.start_unix_server(forward, path):
        store = RedisSessions.connect(RedisSettings(f"unix://{path}"))
        await store.create(SESSION, "", b"")
        cuts = 1
        assert (await store.append(KEY, [said("cut me")], NOW, None, "r1", b"d")).seqs == (1,)
        assert (await store.get(KEY)).last_seq == 1
        cuts = 1
        with pytest.raises(StoreUnavailable):
            await store.append(KEY, [said("cut me")], NOW, None, "", b"")
        assert (await store.get(KEY)).last_seq == 2
        await store.close()


async def test_a_server_that_hangs_is_unavailable_and_usable_later(server: RunningServer, store: RedisSessions) -> None:
    await store.create(SESSION, "", b"")
    impatient = RedisSessions.connect(RedisSettings(server.url, timeout_s=0.1))
    os.kill(server.pid, signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailable):
            await impatient.append(KEY, [said("x")], NOW, None, "", b"")
    finally:
        os.kill(server.pid, signal.SIGCONT)

    async def answers() -> bool:
        try:
            return (await impatient.get(KEY)).id == "s"
        except StoreUnavailable:
            return False

    await until(answers)
    await impatient.close()


async def test_a_server_that_hangs_is_asked_once_and_then_given_less_time(
    server: RunningServer, store: RedisSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.create(SESSION, "", b"")
    patient = RedisSessions.connect(RedisSettings(server.url, timeout_s=4.0))
    await patient.get(KEY)
    asked: list[object] = []
    execute: Any = Redis.execute_command

    async def counted(self: Redis, *args: object) -> object:
        asked.append(args)
        return await execute(self, *args)

    monkeypatch.setattr(Redis, "execute_command", counted)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailable) as hangs:
            await patient.get(KEY)
        assert hangs.value.retry_after
        assert len(asked) == 1
        # As long as the first one could have taken: the next three, a client's other attempts, end before that.
        async with asyncio.timeout(4.0):
            for _ in range(3):
                with pytest.raises(StoreUnavailable):
                    await patient.get(KEY)
    finally:
        os.kill(server.pid, signal.SIGCONT)

    async def answers() -> bool:
        try:
            return (await patient.get(KEY)).id == "s"
        except StoreUnavailable:
            return False

    await until(answers)
    await patient.close()


async def test_cancelled_calls_leave_the_pool_usable(server: RunningServer) -> None:
    store = RedisSessions.connect(RedisSettings(server.url, max_connections=3, timeout_s=20.0))
    await store.create(SESSION, "", b"")
    for pause in (0, 1, 2, 3, 4):
        os.kill(server.pid, signal.SIGSTOP)
        try:
            calls = [asyncio.create_task(store.append(KEY, [said("x")], NOW, None, "", b"")) for _ in range(8)]
            for _ in range(pause):
                await asyncio.sleep(0)
            for call in calls:
                call.cancel()
            results = await asyncio.gather(*calls, return_exceptions=True)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
        before = (await store.get(KEY)).last_seq
        after = await asyncio.gather(*(store.append(KEY, [said("y")], NOW, None, "", b"") for _ in range(8)))
        seqs = sorted(seq for appended in after for seq in appended.seqs)
        assert seqs[0] > before
        assert len(set(seqs)) == 8
        assert {message.text for message in await store.messages(KEY, seqs[0] - 1, 1)} <= {"x", "y"}
    await store.close()


async def test_more_callers_than_connections_wait_for_their_turn(server: RunningServer) -> None:
    store = RedisSessions.connect(RedisSettings(server.url, max_connections=2))
    await store.create(SESSION, "", b"")
    await asyncio.gather(*(store.append(KEY, [said("x")], NOW, None, "", b"") for _ in range(100)))
    assert (await store.get(KEY)).last_seq == 100
    await store.close()


async def test_two_writers_of_200_appends_lose_and_reorder_nothing(server: RunningServer) -> None:
    stores = [RedisSessions.connect(RedisSettings(server.url)) for _ in range(2)]
    await stores[0].create(SESSION, "", b"")

    async def write(name: str, store: RedisSessions) -> list[int]:
        appends = [await store.append(KEY, [said(f"{name}{n}")], NOW, None, "", b"") for n in range(200)]
        return [seq for appended in appends for seq in appended.seqs]

    seqs = await asyncio.gather(write("a", stores[0]), write("b", stores[1]))
    assert sorted([*seqs[0], *seqs[1]]) == list(range(1, 401))
    assert all(own == sorted(own) for own in seqs)
    texts = [message.text for message in await stores[0].messages(KEY, 0, 1000)]
    for name in "ab":
        assert [text for text in texts if text[0] == name] == [f"{name}{n}" for n in range(200)]
    for store in stores:
        await store.close()


async def test_a_full_server_refuses_writes_whole_and_serves_reads(server: RunningServer, store: RedisSessions) -> None:
    await store.create(SESSION, "", b"")
    await store.append(KEY, [said("kept")], NOW, None, "", b"")
    async with Redis.from_url(server.url) as admin:
        await admin.config_set("maxmemory-policy", "noeviction")
        await admin.config_set("maxmemory", "1")
        with pytest.raises(StoreFull):
            await store.append(KEY, [said("a"), said("b")], NOW, None, "", b"")
        assert [message.text for message in await store.newest(KEY, 5)] == ["kept"]
        assert (await store.get(KEY)).version == 2
        assert await store.delete(KEY) is True


async def test_a_session_that_cannot_be_read_is_reported(server: RunningServer, store: RedisSessions) -> None:
    async with Redis.from_url(server.url) as admin:
        await admin.hset("ms1:{n/u/s}:meta", "version", "no number")
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        await store.get(KEY)


async def test_every_key_of_a_session_expires_with_it(server: RunningServer, store: RedisSessions) -> None:
    fixed = a_session("fixed")
    for session in (SESSION, fixed):
        await store.create(session, "r1", b"d")
        key = key_of(session)
        await store.append(key, [said("x")], NOW, None, "r2", b"d")
        await store.end(key, NOW, "r3", b"d")
    async with Redis.from_url(server.url) as admin:
        for name in await admin.keys("*{n/u/*}*"):
            left = await admin.pttl(name)
            assert HOUR / 1000 - 20_000 < left <= HOUR / 1000 + 1000, name


async def test_ids_of_expired_sessions_do_not_pile_up(server: RunningServer, store: RedisSessions) -> None:
    """As if those sessions had expired two minutes ago, and one had slid on."""
    async with Redis.from_url(server.url) as admin:
        seconds, _ = await admin.time()
        for number in range(6):
            await admin.zadd("ms1:{n/u}:sessions", {f"old{number}": 0})
            await admin.zadd("ms1:{n/u}:sessions-due", {f"old{number}": (seconds - 120) * 1000})
        await store.create(a_session("live"), "", b"")
        await admin.zadd("ms1:{n/u}:sessions-due", {"live": (seconds - 130) * 1000})
        await store.create(a_session("one"), "", b"")
        await store.create(a_session("two"), "", b"")
        assert await admin.zrange("ms1:{n/u}:sessions", 0, -1) == [b"live", b"one", b"two"]
        assert await admin.zcard("ms1:{n/u}:sessions-due") == 3


async def test_a_listing_never_hides_a_session_that_is_being_created(
    server: RunningServer, store: RedisSessions
) -> None:
    """Between the step that lists an id and the one that creates its session, a listing looks at it."""
    async with Redis.from_url(server.url) as admin:
        await store.create(SESSION, "", b"")
        state = await admin.dump("ms1:{n/u/s}:meta")
        assert state is not None
        await admin.delete("ms1:{n/u/s}:meta")
        assert await store.list(KEY.partition, "", 10) == ()
        await admin.restore("ms1:{n/u/s}:meta", 0, state)
    assert [session.id for session in await store.list(KEY.partition, "", 10)] == ["s"]
