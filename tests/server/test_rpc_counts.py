"""Every call is counted once when it begins and once when it ends, whatever becomes of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from memsidecar.domain.measures import Histogram
from memsidecar.server.app import Server, ServerSettings
from memsidecar.v1 import memory_service_pb2 as pb
from tests.server.api import Api, refused, refused_stream
from tests.server.fakes import World
from tests.server.test_server import M1, RECALL, running
from tests.session_servers import until

Key = tuple[str, ...]
MEMORY = "memsidecar.v1.MemoryService"
RECALLING = "memsidecar.v1.RecallService"


def shown(server: Server, name: str) -> dict[Key, Any]:
    (metric,) = [each for each in server.metrics() if each.name == name]
    return {
        labels: sum(value.counts) if isinstance(value, Histogram) else value
        for labels, value in metric.read()
        if not isinstance(value, float | int) or value
    }


async def handled(server: Server, *expected: Key) -> None:
    """Waits for the ends: a client may have its status a moment before they are counted."""

    async def all_ended() -> bool:
        return set(shown(server, "grpc_server_handled_total")) == set(expected)

    await until(all_ended)


async def test_calls_are_counted_by_method_type_and_code(settings: ServerSettings, world: World) -> None:
    async with running(settings, world) as (server, api):
        for _ in range(2):
            await api.memory.GetMemory(M1)
        await refused(api.memory.GetMemory(pb.GetMemoryRequest(name=M1.name.replace("m1", "m2"))))
        events = [event async for event in api.recall.Recall(RECALL)]
        unary, stream = (MEMORY, "GetMemory", "unary"), (RECALLING, "Recall", "server_stream")
        await handled(server, (*unary, "OK"), (*unary, "NotFound"), (*stream, "OK"))
        assert shown(server, "grpc_server_handled_total")[*unary, "OK"] == 2
        assert shown(server, "grpc_server_started_total") == {unary: 3, stream: 1}
        assert shown(server, "grpc_server_handling_seconds") == {unary: 3, stream: 1}
        assert shown(server, "grpc_server_msg_received_total") == {unary: 3, stream: 1}
        assert shown(server, "grpc_server_msg_sent_total") == {unary: 2, stream: len(events)}
        assert shown(server, "memsidecar_errors_total") == {("RESOURCE_NOT_FOUND",): 1}


async def test_refusals_are_counted_and_health_is_not(settings: ServerSettings, world: World) -> None:
    async with running(replace(settings, token="s3cret", max_streams=1), world) as (server, api):
        good = (("authorization", "Bearer s3cret"),)
        await refused(api.memory.GetMemory(M1))
        raw = api_raw(settings, b"\x0a\x02\xff\xff", good)
        await refused(raw)
        world.gates["recall"] = asyncio.Event()
        stream = api.recall.Recall(RECALL, metadata=good)
        await world.entered.wait()
        await refused_stream(api.recall.Recall(RECALL, metadata=good))
        assert shown(server, "memsidecar_calls_open") == {("stream",): 1}
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.health_port}") as channel:
            await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service="liveness"))
        stream.cancel()
        await world.left.wait()
        unary, streams = (MEMORY, "GetMemory", "unary"), (RECALLING, "Recall", "server_stream")
        await handled(
            server,
            (*unary, "Unauthenticated"),
            (*unary, "InvalidArgument"),
            (*streams, "ResourceExhausted"),
            (*streams, "Canceled"),
        )
        assert shown(server, "memsidecar_errors_total") == {
            ("TOKEN_INVALID",): 1,
            ("INVALID_FIELD",): 1,
            ("OVERLOADED",): 1,
        }
        assert shown(server, "memsidecar_calls_open") == {}


async def api_raw(settings: ServerSettings, data: bytes, metadata: Any) -> Any:
    """GetMemory with bytes that are no message."""
    async with grpc.aio.insecure_channel(f"unix:{settings.socket}") as channel:
        call: Any = channel.unary_unary(f"/{MEMORY}/GetMemory")
        return await call(data, metadata=metadata)


async def test_messages_of_a_stream_are_counted_as_they_come(settings: ServerSettings, world: World) -> None:
    async with running(settings, world) as (server, api):
        item = pb.StreamRememberRequest()
        await refused(api.memory.StreamRemember(iter([item, item])))
        stream = (MEMORY, "StreamRemember", "client_stream")
        await handled(server, (*stream, "InvalidArgument"))
        assert shown(server, "grpc_server_msg_received_total")[stream] >= 1


async def test_a_drain_is_seen(settings: ServerSettings, world: World) -> None:
    world.gates["recall"] = asyncio.Event()
    async with running(settings, world) as (server, api):
        await until(lambda: _is(server, "memsidecar_ready"))
        call = api.recall.Recall(RECALL)
        await world.entered.wait()
        assert shown(server, "memsidecar_draining_seconds") == {}
        draining = asyncio.create_task(server.drain(0.05))
        await until(lambda: _is(server, "memsidecar_draining_seconds"))
        assert shown(server, "memsidecar_ready") == {}
        await draining
        assert shown(server, "memsidecar_drain_cut_off_calls") == {(): 1}
        assert shown(server, "memsidecar_draining_seconds")[()] > 0.05
        call.cancel()


async def _is(server: Server, name: str) -> bool:
    return bool(shown(server, name).get((), 0))


@pytest.mark.parametrize("kind", ["short", "stream", "generation", "watch"])
async def test_limits_are_shown(server: Server, api: Api, kind: str) -> None:
    assert shown(server, "memsidecar_calls_limit")[kind,] > 0
