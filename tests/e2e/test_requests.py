"""One request, however often it is sent, happens once."""

from __future__ import annotations

import asyncio
import uuid

import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    Fact,
    InvalidArgument,
    Memory,
    Memsidecar,
    MemsidecarError,
    Message,
    NotFound,
    Role,
)

from tests.e2e.process import CLEAN, Launch, verify


def test_repeated_after_a_kill_a_request_gets_its_first_answer(launch: Launch) -> None:
    sidecar = launch()
    ids = [str(uuid.uuid4()) for _ in range(8)]
    with Memsidecar(sidecar.target, user="ann") as client:
        first = client.create_memory(Fact("to be changed"), memory_id="a", request_id=ids[0])
        gone = client.create_memory(Fact("to be purged"), memory_id="b").memory
        etag = Memory(Fact("changed"), name=first.memory.name, etag=first.memory.etag)

        def calls() -> list[object]:
            return [
                client.create_memory(Fact("to be changed"), memory_id="a", request_id=ids[0]),
                client.update_memory(etag, fields=["fact.statement"], request_id=ids[1]),
                client.delete_memory(first.memory.name, request_id=ids[2]),
                client.undelete_memory(first.memory.name, request_id=ids[3]),
                client.delete_memory(gone.name, purge=True, request_id=ids[4]),
                client.remember("one", request_id=ids[5]),
                client.remember_many(["two", "three", "two"], request_id=ids[6]),
            ]

        answers = calls()
        assert answers[0] == first
        stored = list(client.list_memories())
        assert calls() == answers
        sidecar.kill()
        sidecar.start()
        assert calls() == answers
        assert list(client.list_memories()) == stored

        # What an answer was about may be gone by now: then that is what is said.
        client.delete_memory(first.memory.name, purge=True)
        with pytest.raises(NotFound):
            client.create_memory(Fact("to be changed"), memory_id="a", request_id=ids[0])
        with pytest.raises(NotFound):
            client.update_memory(etag, fields=["fact.statement"], request_id=ids[1])
        with pytest.raises(NotFound):
            client.undelete_memory(first.memory.name, request_id=ids[3])


def test_other_content_under_a_known_id_is_refused(launch: Launch) -> None:
    sidecar = launch()
    request_id = str(uuid.uuid4())
    with Memsidecar(sidecar.target, user="ann") as client:
        name = client.remember("one", request_id=request_id).memories[0].name
        for restarted in (False, True):
            if restarted:
                sidecar.kill()
                sidecar.start()
            for other in (
                lambda: client.remember("two", request_id=request_id),
                lambda: client.remember_many(["one"], request_id=request_id),
                lambda: client.create_memory(Fact("one"), request_id=request_id),
                lambda: client.delete_memory(name, request_id=request_id),
            ):
                with pytest.raises(InvalidArgument) as refused:
                    other()
                assert refused.value.reason == "REQUEST_ID_REUSED"
        # Another user's ids are their own.
        assert client.remember("two", user="bob", request_id=request_id).memories[0].text == "two"
        assert [m.text for m in client.list_memories()] == ["one"]


async def test_concurrent_duplicates_make_one_memory(launch: Launch) -> None:
    sidecar = launch()
    request_ids = [str(uuid.uuid4()) for _ in range(20)]
    async with AsyncMemsidecar(sidecar.target, user="ann") as client, AsyncMemsidecar(sidecar.target) as other:
        session = client.session("s")
        await session.create()
        answers = await asyncio.gather(
            *(
                (client if n % 2 else other).remember(Fact(f"fact {i}"), user="ann", request_id=request_id)
                for n in range(4)
                for i, request_id in enumerate(request_ids)
            )
        )
        assert len({answer.memories[0].name for answer in answers}) == len(request_ids)
        assert len([m async for m in client.list_memories(page_size=1000)]) == len(request_ids)
        appended = await asyncio.gather(
            *(session.append([Message(Role.USER, "once")], request_id=request_ids[0]) for _ in range(8))
        )
        assert {a.seqs for a in appended} == {(1,)}

        # Half of them are for other content: whoever comes first, wins; nobody gets another's memory.
        clashing = await asyncio.gather(
            *(client.remember(Fact(f"clash {n % 2}"), request_id=request_ids[0], user="cleo") for n in range(10)),
            return_exceptions=True,
        )
        stored = [m.text async for m in client.list_memories(user="cleo")]
        assert len(stored) == 1
        for number, answer in enumerate(clashing):
            if isinstance(answer, MemsidecarError):
                assert answer.reason == "REQUEST_ID_REUSED"
                assert f"clash {number % 2}" not in stored
            else:
                assert not isinstance(answer, BaseException)
                assert [m.text for m in answer.memories] == stored
    assert await asyncio.to_thread(sidecar.stop) == 0
    assert await asyncio.to_thread(verify, sidecar.data_dir) == CLEAN
