"""WatchMemories through a real server, over the real services and ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from memsidecar.domain.draft import Request
from memsidecar.domain.revision import revision_token
from memsidecar.domain.scope import Partition, Scope
from memsidecar.server.app import Server, ServerSettings
from memsidecar.v1 import conflict_pb2, memory_pb2, recall_service_pb2, scope_pb2
from memsidecar.v1.watch_pb2 import WatchMemoriesRequest, WatchMemoriesResponse
from tests.doubles.hash_embedder import HashEmbedder
from tests.server.api import Api, Refusal, refused_stream, taken_apart
from tests.server.fakes import World
from tests.services.conflicting import supersede
from tests.services.stack import Stack, stored
from tests.session_servers import until

ANN, BEN = Scope("home", "ann"), Scope("home", "ben")
WHO = ANN.partition
SCOPE = scope_pb2.Scope(user="ann")
PATIENCE = 20.0


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Stack]:
    opened = await Stack.open(tmp_path, HashEmbedder())
    yield opened
    await opened.close()
    # Whose threads read snapshots and fold, and stay for the next one.
    await asyncio.get_running_loop().shutdown_default_executor()


@pytest.fixture
def settings(settings: ServerSettings) -> ServerSettings:
    return replace(settings, max_concurrent_rpcs=2, max_streams=1, max_watches=6, max_watches_per_namespace=4)


@pytest.fixture
async def server(settings: ServerSettings, world: World, stack: Stack) -> AsyncIterator[Server]:
    running = Server(settings, replace(world.services(), watch=stack.watch, memories=stack.memories))
    await running.start()
    yield running
    await running.drain(1)


def asking(user: str = "ann", after: int | None = None, namespace: str = "", **more: Any) -> WatchMemoriesRequest:
    request = WatchMemoriesRequest(scope=scope_pb2.Scope(namespace=namespace, user=user), **more)
    if after is not None:
        request.after.token = revision_token(Partition(namespace or "home", user), after)
    return request


async def begun(api: Api, request: WatchMemoriesRequest | None = None, **more: Any) -> Any:
    """The call of a watch that has said where it begins."""
    call = api.memory.WatchMemories(request or asking(), **more)
    assert (await next_of(call)).HasField("heartbeat")
    return call


async def next_of(call: Any) -> WatchMemoriesResponse:
    response: WatchMemoriesResponse = await asyncio.wait_for(call.read(), PATIENCE)
    assert isinstance(response, WatchMemoriesResponse), response
    return response


async def changes(call: Any, count: int) -> list[WatchMemoriesResponse]:
    found: list[WatchMemoriesResponse] = []
    while len(found) < count:
        response = await next_of(call)
        if response.HasField("change"):
            found.append(response)
    return found


async def refused_at_last(call: Any) -> Refusal:
    """The status of a watch that has begun."""

    async def read_on() -> None:
        while await asyncio.wait_for(call.read(), PATIENCE) is not grpc.aio.EOF:
            pass

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await read_on()
    return taken_apart(caught.value)


def nobody_listens(stack: Stack) -> Callable[[], Awaitable[bool]]:
    async def ended() -> bool:
        return not stack.watch._tails and WHO not in stack.changes._listeners

    return ended


async def test_a_watch_says_where_it_begins_and_tells_each_change(api: Api, stack: Stack) -> None:
    await stack.remember(ANN, "before")
    call = await begun(api)
    (memory,) = stored(await stack.remember(ANN, "drinks tea"))
    (response,) = await changes(call, 1)
    assert response.revision.token == revision_token(WHO, 2)
    assert response.change.name == f"namespaces/home/users/ann/memories/{memory.id}/revisions/2"
    assert response.change.change == memory_pb2.MEMORY_CHANGE_CREATED
    assert response.change.snapshot.fact.statement == "drinks tea"
    await stack.memories.delete(WHO, memory.id, "", True, "asked to", Request(actor="planner"))
    (response,) = await changes(call, 1)
    assert response.change.change == memory_pb2.MEMORY_CHANGE_PURGED
    assert (response.change.actor, response.change.reason) == ("planner", "asked to")
    assert not response.change.HasField("snapshot")
    call.cancel()


async def test_a_watch_goes_on_after_the_revision_of_any_answer(api: Api, stack: Stack) -> None:
    for n in range(5):
        await stack.remember(ANN, f"number {n}")
    call = await begun(api, asking(after=0))
    told = await changes(call, 2)
    call.cancel()
    again = await begun(api, WatchMemoriesRequest(scope=SCOPE, after=told[-1].revision))
    told += await changes(again, 3)
    assert [r.change.snapshot.fact.statement for r in told] == [f"number {n}" for n in range(5)]
    assert (await next_of(again)).heartbeat.caught_up
    again.cancel()


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (WatchMemoriesRequest(scope=SCOPE, after=scope_pb2.Revision(token="junk")), "after.token"),
        (
            WatchMemoriesRequest(scope=SCOPE, after=scope_pb2.Revision(token=revision_token(BEN.partition, 1))),
            "after.token",
        ),
        (asking(filter=memory_pb2.MemoryFilter(entities=["namespaces/home/users/ben/memories/e1"])), "filter.entities"),
        (WatchMemoriesRequest(scope=scope_pb2.Scope(user="a\0b")), "scope.user"),
    ],
)
async def test_a_wrong_request_is_refused_by_the_name_of_the_field(
    api: Api, request_: WatchMemoriesRequest, field: str
) -> None:
    refusal = await refused_stream(api.memory.WatchMemories(request_))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD")
    assert any(path.startswith(field) for path in refusal.fields)


async def test_a_revision_from_the_future_is_unknown(api: Api) -> None:
    refusal = await refused_stream(api.memory.WatchMemories(asking(after=7)))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "REVISION_UNKNOWN")


async def test_users_and_tenants_are_told_of_their_own_only(api: Api, stack: Stack) -> None:
    elsewhere = Scope("elsewhere", "ann")
    calls = [await begun(api), await begun(api, asking("ben")), await begun(api, asking(namespace="elsewhere"))]
    for scope in (ANN, BEN, elsewhere):
        await stack.remember(scope, f"of {scope.partition.name}")
    for call, scope in zip(calls, (ANN, BEN, elsewhere), strict=True):
        (response,) = await changes(call, 1)
        assert response.change.name.startswith(scope.partition.name + "/")
        assert response.change.snapshot.fact.statement == f"of {scope.partition.name}"
        call.cancel()


async def test_more_watches_than_allowed_are_refused_and_told_when_to_come_back(api: Api, stack: Stack) -> None:
    calls = [await begun(api) for _ in range(4)]
    refusal = await refused_stream(api.memory.WatchMemories(asking()))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
    assert refusal.metadata == {"limit": "limits.max_watches_per_namespace"}
    assert refusal.retry_after
    calls += [await begun(api, asking(namespace=name)) for name in ("one", "two")]
    refusal = await refused_stream(api.memory.WatchMemories(asking(namespace="three")))
    assert refusal.metadata == {"limit": "limits.max_watches"}
    for call in calls:
        call.cancel()
    await until(nobody_listens(stack))
    (await begun(api)).cancel()


async def test_watches_keep_no_other_call_out(api: Api) -> None:
    calls = [await begun(api) for _ in range(4)]
    query = recall_service_pb2.Query(text="q")
    async for _ in api.recall.Recall(recall_service_pb2.RecallRequest(scope=SCOPE, query=query)):
        pass
    await api.recall.RecallOnce(recall_service_pb2.RecallOnceRequest(scope=SCOPE, query=query))
    for call in calls:
        call.cancel()


@pytest.mark.parametrize("way", ["cancel", "deadline", "close"])
async def test_a_watch_that_ends_in_any_way_leaves_nothing(
    api: Api, stack: Stack, settings: ServerSettings, way: str
) -> None:
    if way == "close":
        async with grpc.aio.insecure_channel(f"unix:{settings.socket}") as channel:
            await begun(Api(channel))
    elif way == "cancel":
        (await begun(api)).cancel()
    else:
        refusal = await refused_at_last(await begun(api, timeout=0.3))
        assert refusal.code is grpc.StatusCode.DEADLINE_EXCEEDED
    await until(nobody_listens(stack))


@pytest.fixture
async def patient(server: Server, settings: ServerSettings) -> AsyncIterator[Api]:
    """A client that takes 64 KiB from the wire before it is read, and no more when more comes."""
    options = [("grpc.http2.bdp_probe", 0)]
    async with grpc.aio.insecure_channel(f"unix:{settings.socket}", options=options) as channel:
        yield Api(channel)


async def test_a_client_that_does_not_read_reads_everything_later(patient: Api, stack: Stack) -> None:
    call = await begun(patient)
    texts = [f"{n} " + "long " * 2_000 for n in range(80)]
    for text in texts:
        await stack.remember(ANN, text)
    (tail, _) = stack.watch._tails[WHO]
    assert tail.nbytes < 300_000
    told: list[str] = []
    behind = 0
    while len(told) < len(texts):
        response = await next_of(call)
        behind += response.HasField("behind")
        if response.HasField("change"):
            told.append(response.change.snapshot.fact.statement)
    assert told == texts
    assert behind
    call.cancel()


async def test_a_drain_ends_watches_at_once_also_those_that_nobody_reads(
    api: Api, patient: Api, stack: Stack, server: Server
) -> None:
    reads, idle, stuck = await begun(api), await begun(api, asking("ben")), await begun(patient)
    for n in range(30):
        await stack.remember(ANN, f"{n} " + "long " * 2_000)
    await changes(reads, 30)
    began = time.monotonic()
    await server.drain(30)
    assert time.monotonic() - began < 10
    for call in (reads, idle):
        refusal = await refused_at_last(call)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        assert refusal.retry_after
    await refused_at_last(stuck)
    assert not stack.watch._tails


async def test_a_conflict_is_told_after_what_it_did_with_its_names_and_its_state(api: Api, stack: Stack) -> None:
    rome, oslo = stored(await stack.remember(ANN, "Ann lives in Rome", "Ann lives in Oslo"))
    call = await begun(api)
    conflict = await supersede(stack, rome, oslo, scope=ANN)
    (change,) = await changes(call, 1)
    assert change.change.change == memory_pb2.MEMORY_CHANGE_SUPERSEDED
    told = await next_of(call)
    assert told.conflict.name == f"namespaces/home/users/ann/conflicts/{conflict}"
    assert told.conflict.state == conflict_pb2.CONFLICT_STATE_RESOLVED
    assert told.conflict.winner == f"namespaces/home/users/ann/memories/{oslo.id}"
    call.cancel()
    again = await begun(api, WatchMemoriesRequest(scope=SCOPE, after=change.revision))
    assert await next_of(again) == told
    again.cancel()
