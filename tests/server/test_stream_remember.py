from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import grpc
import pytest

from memsidecar.domain.errors import NotFound, StoreFull
from memsidecar.server.app import Server, ServerSettings
from memsidecar.v1 import memory_service_pb2 as pb
from memsidecar.v1 import scope_pb2
from tests.server.api import Api, refused, sent
from tests.server.fakes import World

START = pb.StreamRememberRequest(start=pb.StreamRememberStart(scope=scope_pb2.Scope(user="ann")))
FINISH = pb.StreamRememberRequest(finish=pb.StreamRememberFinish())


def chunk(*texts: str) -> pb.StreamRememberRequest:
    items = [pb.RememberItem(text=text) for text in texts]
    return pb.StreamRememberRequest(items=pb.StreamRememberItems(items=items))


async def test_chunks_are_committed_one_by_one_and_counted(api: Api, world: World) -> None:
    world.item_errors[1] = NotFound("x")
    response = await api.memory.StreamRemember(sent([START, chunk("a", "b", ""), chunk("c"), FINISH]))
    assert (response.received, response.failure_count) == (4, 2)
    assert dict(response.action_counts) == {"REMEMBER_ACTION_CREATED": 2}
    assert [(f.index, f.error.code) for f in response.failures] == [(1, 5), (2, 3)]
    assert [len(call[2]) for call in world.calls] == [2, 1]
    assert response.revision.token


async def test_stream_of_nothing_is_fine(api: Api, world: World) -> None:
    response = await api.memory.StreamRemember(sent([START, FINISH]))
    assert response.received == 0
    assert world.calls == []


async def test_only_the_first_hundred_failures_are_told(api: Api) -> None:
    response = await api.memory.StreamRemember(sent([START, chunk(*[""] * 250), FINISH]))
    assert (response.failure_count, len(response.failures)) == (250, 100)


async def test_chunk_ids_follow_from_the_streams(api: Api, world: World) -> None:
    stream_id = uuid.uuid4()
    start = pb.StreamRememberRequest(start=pb.StreamRememberStart(request_id=str(stream_id)))
    for _ in range(2):
        await api.memory.StreamRemember(sent([start, chunk("a"), chunk("a"), FINISH]))
    requests = [call[4] for call in world.calls]
    assert [r.request_id for r in requests[:2]] == [str(uuid.uuid5(stream_id, n)) for n in ("0", "1")]
    assert requests[:2] == requests[2:]


@pytest.mark.parametrize(
    ("messages", "expected", "received"),
    [
        ([], "start", "the end of the stream"),
        ([chunk("a")], "start", "items"),
        ([FINISH], "start", "finish"),
        ([START, START], "items or finish", "start"),
        ([START, pb.StreamRememberRequest()], "items or finish", "an empty message"),
        ([START, chunk("a")], "items or finish", "the end of the stream"),
        ([START, FINISH, chunk("a")], "the end of the stream", "items"),
    ],
)
async def test_message_out_of_turn_is_refused(
    api: Api, messages: list[pb.StreamRememberRequest], expected: str, received: str
) -> None:
    refusal = await refused(api.memory.StreamRemember(sent(messages)))
    assert refusal.reason == "PROTOCOL_VIOLATION"
    assert refusal.metadata == {"expected": expected, "received": received}


async def test_empty_chunk_and_bad_start_are_refused(api: Api) -> None:
    assert set((await refused(api.memory.StreamRemember(sent([START, chunk(), FINISH])))).fields) == {"items.items"}
    bad = pb.StreamRememberRequest(start=pb.StreamRememberStart(request_id="x"))
    assert set((await refused(api.memory.StreamRemember(sent([bad, FINISH])))).fields) == {"start.request_id"}


async def test_full_store_ends_the_stream_with_its_error(api: Api, world: World) -> None:
    world.failures["remember"] = StoreFull("ledger")
    refusal = await refused(api.memory.StreamRemember(sent([START, chunk("a"), FINISH])))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "STORE_FULL")


@pytest.mark.parametrize("ending", ["cancel", "deadline", "disconnect"])
@pytest.mark.parametrize("busy", [True, False])
async def test_stream_that_is_given_up_leaves_nothing_behind(
    channel: grpc.aio.Channel, api: Api, world: World, ending: str, busy: bool
) -> None:
    if busy:
        world.gates["remember"] = asyncio.Event()
    forever = asyncio.Event()

    async def messages() -> AsyncIterator[pb.StreamRememberRequest]:
        yield START
        yield chunk("a")
        await forever.wait()

    call = api.memory.StreamRemember(messages(), timeout=0.3 if ending == "deadline" else None)
    waiting = asyncio.ensure_future(call)
    await world.entered.wait()
    if ending == "cancel":
        call.cancel()
    elif ending == "disconnect":
        await channel.close()
    await asyncio.gather(waiting, return_exceptions=True)
    await asyncio.wait_for(world.left.wait(), 5)
    forever.set()
    assert len(world.calls) == 1


async def test_client_that_waits_for_the_answer_before_it_closes_gets_it(api: Api) -> None:
    call = api.memory.StreamRemember()
    for message in (START, chunk("a"), FINISH):
        await call.write(message)
    assert (await call).received == 1


@pytest.mark.parametrize("sends", [[], [START], [START, chunk("a")]])
async def test_stream_that_its_client_forgot_is_ended_and_its_place_is_free(
    settings: ServerSettings, world: World, sends: list[pb.StreamRememberRequest]
) -> None:
    server = Server(replace(settings, stream_idle=0.2, max_streams=1), world.services())
    await server.start()
    async with grpc.aio.insecure_channel(f"unix:{settings.socket}") as channel:
        api = Api(channel)
        call = api.memory.StreamRemember()
        for message in sends:
            await call.write(message)
        refusal = await refused(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.ABORTED, "STREAM_IDLE")
        assert refusal.metadata == {"idle_seconds": "0.2"}
        assert len(world.calls) == max(0, len(sends) - 1)  # what came in time is stored
        assert (await api.memory.StreamRemember(sent([START, FINISH]))).received == 0
    await server.drain(1)


async def test_time_that_the_server_takes_is_not_the_clients(settings: ServerSettings, world: World) -> None:
    world.gates["remember"] = asyncio.Event()
    server = Server(replace(settings, stream_idle=0.2), world.services())
    await server.start()
    async with grpc.aio.insecure_channel(f"unix:{settings.socket}") as channel:
        api = Api(channel)
        waiting = asyncio.ensure_future(api.memory.StreamRemember(sent([START, chunk("a"), FINISH])))
        await world.entered.wait()
        await asyncio.sleep(0.3)
        world.gates["remember"].set()
        assert (await waiting).received == 1
    await server.drain(1)
