"""The server as a process sees it: sockets, tokens, limits, health, drain."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from memsidecar.domain.as_of import AsOf
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition
from memsidecar.server.app import Server, ServerSettings
from memsidecar.server.listen import CannotListen
from memsidecar.services.patience import seconds_left
from memsidecar.v1 import recall_service_pb2, scope_pb2
from memsidecar.v1.info_service_pb2 import GetServerInfoRequest
from memsidecar.v1.memory_service_pb2 import GetMemoryRequest
from tests.server.api import Api, refused, refused_stream
from tests.server.fakes import FakeMemories, World

M1 = GetMemoryRequest(name="namespaces/home/users/ann/memories/m1")
RECALL = recall_service_pb2.RecallRequest(scope=scope_pb2.Scope(user="ann"), query=recall_service_pb2.Query(text="q"))
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@asynccontextmanager
async def running(settings: ServerSettings, world: World) -> AsyncIterator[tuple[Server, Api]]:
    server = Server(settings, world.services())
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"unix:{settings.socket}") as channel:
            yield server, Api(channel)
    finally:
        await server.drain(0.1)


async def state_of(port: int, service: str) -> int:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        answer = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=service))
        return int(answer.status)


async def until(port: int, service: str, state: int) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        async for answer in health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(service=service)):
            if answer.status == state:
                return


async def test_what_serves_a_call_knows_how_long_its_caller_waits(
    server: Server, api: Api, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[float | None] = []
    actual = FakeMemories.get

    async def get(self: FakeMemories, partition: Partition, memory_id: str, as_of: AsOf) -> Memory:
        left.append(seconds_left())
        return await actual(self, partition, memory_id, as_of)

    monkeypatch.setattr(FakeMemories, "get", get)
    await api.memory.GetMemory(M1, timeout=50)
    await api.memory.GetMemory(M1)
    assert left[0] is not None
    # gRPC rounds a deadline up on its way.
    assert 0 < left[0] <= 51
    assert left[1] is None


async def test_socket_is_for_its_owner_and_group_only(server: Server, settings: ServerSettings) -> None:
    state = os.stat(settings.socket)  # noqa: PTH116
    assert stat.S_ISSOCK(state.st_mode)
    assert stat.S_IMODE(state.st_mode) == 0o660


async def test_socket_belongs_to_the_group_asked_for(settings: ServerSettings, world: World) -> None:
    group = os.getgroups()[0] if os.getuid() else 12345
    async with running(replace(settings, socket_group=str(group), socket_mode=0o600), world):
        state = os.stat(settings.socket)  # noqa: PTH116
        assert (state.st_gid, stat.S_IMODE(state.st_mode)) == (group, 0o600)


async def test_socket_of_a_killed_process_is_replaced(settings: ServerSettings, world: World) -> None:
    import socket

    dead = socket.socket(socket.AF_UNIX)
    dead.bind(settings.socket)
    dead.close()
    async with running(settings, world) as (_, api):
        assert (await api.memory.GetMemory(M1)).memory.name == M1.name
    assert not os.path.exists(settings.socket)  # noqa: PTH110, ASYNC240


async def test_socket_of_a_living_process_is_left_to_it(settings: ServerSettings, world: World) -> None:
    async with running(settings, world) as (_, api):
        second = Server(settings, world.services())
        with pytest.raises(CannotListen, match="in use by another process"):
            await second.start()
        assert (await api.memory.GetMemory(M1)).memory.name == M1.name


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"socket": "{tmp}/file"}, "listen.socket: .* is not a socket"),
        ({"socket": "{tmp}/none/m.sock"}, "listen.socket: .* does not exist"),
        ({"socket": "{tmp}/" + "x" * 120}, "longer than"),
        ({"socket_group": "no such group"}, "listen.socket_group: there is no group"),
        ({"tcp_host": "0.0.0.0", "tcp_port": 0}, "listen.tcp_host: .* needs a token"),
        (
            {"tcp_host": "203.0.113.1", "tcp_port": 0, "token": "t"},
            r"203.0.113.1 \(listen.tcp_host\) is not an address",
        ),
    ],
)
async def test_address_that_cannot_be_served_is_refused(
    settings: ServerSettings, world: World, tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    (tmp_path / "file").write_text("precious")
    values = {k: v.format(tmp=tmp_path) if isinstance(v, str) else v for k, v in change.items()}
    server = Server(replace(settings, **values), world.services())  # type: ignore[arg-type]
    with pytest.raises(CannotListen, match=problem):
        await server.start()
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.parametrize("setting", ["health.port", "listen.tcp_port"])
async def test_port_in_use_is_named_with_its_setting(
    settings: ServerSettings, world: World, setting: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        taken = {"health_port": port} if setting == "health.port" else {"tcp_port": port}
        with pytest.raises(CannotListen) as refused:
            await Server(replace(settings, **taken), world.services()).start()
    assert str(refused.value) == (
        f"port {port} on 127.0.0.1 is in use by another process; stop it, or set {setting} to another"
    )
    assert capfd.readouterr().err == ""  # nothing of gRPC's own


async def test_tcp_on_loopback(settings: ServerSettings, world: World) -> None:
    async with (
        running(replace(settings, tcp_port=0), world) as (server, _),
        grpc.aio.insecure_channel(f"127.0.0.1:{server.tcp_port}") as channel,
    ):
        assert (await Api(channel).memory.GetMemory(M1)).memory.name == M1.name


async def test_token_opens_and_nothing_else_does(settings: ServerSettings, world: World) -> None:
    async with running(replace(settings, token="s3cret"), world) as (server, api):
        good = (("authorization", "Bearer s3cret"),)
        for metadata in ((), (("authorization", "Bearer wrong"),), (("authorization", "s3cret"),)):
            refusal = await refused(api.memory.GetMemory(M1, metadata=metadata))
            assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_INVALID")
            assert (await refused_stream(api.recall.Recall(RECALL, metadata=metadata))).reason == "TOKEN_INVALID"
            assert (await refused(api.memory.StreamRemember(metadata=metadata))).reason == "TOKEN_INVALID"
        assert world.calls == []
        assert (await api.memory.GetMemory(M1, metadata=good)).memory.name == M1.name
        assert [e async for e in api.recall.Recall(RECALL, metadata=good)]
        assert (await api.info.GetServerInfo(GetServerInfoRequest())).version
        assert await state_of(server.health_port, "liveness") == SERVING


async def test_call_above_the_limit_is_refused_before_any_work(settings: ServerSettings, world: World) -> None:
    world.gates["memories"] = asyncio.Event()
    async with running(replace(settings, max_concurrent_rpcs=2), world) as (server, api):
        waiting = [asyncio.ensure_future(api.memory.GetMemory(M1)) for _ in range(2)]
        for _ in waiting:
            await world.arrivals.get()
        refusal = await refused(api.memory.GetMemory(M1))
        assert (refusal.reason, refusal.metadata) == ("OVERLOADED", {"limit": "limits.max_concurrent_rpcs"})
        assert refusal.retry_after == 0.5
        assert len(world.calls) == 2
        assert await state_of(server.health_port, "liveness") == SERVING
        world.gates["memories"].set()
        await asyncio.gather(*waiting)
        assert (await api.memory.GetMemory(M1)).memory.name


async def test_streams_have_a_limit_of_their_own(settings: ServerSettings, world: World) -> None:
    world.gates["recall"] = asyncio.Event()
    async with running(replace(settings, max_streams=1), world) as (_, api):
        stream = api.recall.Recall(RECALL)
        await world.entered.wait()
        assert (await refused_stream(api.recall.Recall(RECALL))).metadata == {"limit": "limits.max_streams"}
        assert (await api.memory.GetMemory(M1)).memory.name
        stream.cancel()
        await world.left.wait()
        world.gates.clear()
        assert [e async for e in api.recall.Recall(RECALL)]


async def test_request_id_comes_back_and_is_made_up_when_there_is_none(api: Api) -> None:
    for metadata, expected in (
        ((("x-request-id", "abc-1"),), "abc-1"),
        ((), None),
        ((("x-request-id", "x" * 200),), None),
    ):
        call = api.memory.GetMemory(M1, metadata=metadata)
        await call
        got = dict(await call.trailing_metadata())["x-request-id"]
        assert got == expected if expected else 0 < len(got) < 64
    refusal = await refused(api.memory.GetMemory(GetMemoryRequest(), metadata=(("x-request-id", "abc-2"),)))
    assert refusal.trailers["x-request-id"] == "abc-2"


async def test_one_line_a_call_without_its_content(api: Api, world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "memsidecar")
    await api.memory.GetMemory(M1)
    await refused(api.memory.GetMemory(GetMemoryRequest(name="my secret")))
    await api.recall.RecallOnce(
        recall_service_pb2.RecallOnceRequest(
            scope=scope_pb2.Scope(namespace="acme"), query=recall_service_pb2.Query(text="my secret")
        )
    )
    lines = [vars(r) for r in caplog.records if r.name == "memsidecar.server.calls"]
    assert [(r["method"].rpartition("/")[2], r["code"], r["reason"], r["namespace"]) for r in lines] == [
        ("GetMemory", "OK", "", "home"),
        ("GetMemory", "INVALID_ARGUMENT", "INVALID_FIELD", ""),
        ("RecallOnce", "OK", "", "acme"),
    ]
    assert all(r["ms"] > 0 and r["request_id"] for r in lines)
    # A healthy call is not worth a line in a day's log.
    assert [r["levelname"] for r in lines] == ["DEBUG", "INFO", "DEBUG"]
    assert "secret" not in str(lines)


async def test_ready_follows_the_stores_and_alive_does_not(server: Server, world: World) -> None:
    port = server.health_port
    for service in ("", "startup", "readiness", "liveness", "memsidecar.v1.MemoryService"):
        await asyncio.wait_for(until(port, service, SERVING), 5)
    world.missing = ("ledger",)
    await asyncio.wait_for(until(port, "readiness", NOT_SERVING), 5)
    assert await state_of(port, "liveness") == SERVING
    assert await state_of(port, "startup") == SERVING
    assert await state_of(port, "") == NOT_SERVING
    world.missing = ()
    await asyncio.wait_for(until(port, "memsidecar.v1.RecallService", SERVING), 5)


async def test_health_says_which_service_is_without_its_store(
    server: Server, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    port = server.health_port
    await asyncio.wait_for(until(port, "memsidecar.v1.SessionService", SERVING), 5)
    world.sessions_answer = False
    await asyncio.wait_for(until(port, "memsidecar.v1.SessionService", NOT_SERVING), 5)
    for service in ("", "readiness", "memsidecar.v1.MemoryService"):
        assert await state_of(port, service) == SERVING
    assert caplog.messages[-1] == (
        "sessions do not answer (redis.url 10.0.0.1:6379: connection refused); long-term memory goes on"
    )
    world.sessions_answer = True
    await asyncio.wait_for(until(port, "memsidecar.v1.SessionService", SERVING), 5)


async def test_store_that_hangs_makes_unready_and_not_dead(server: Server, world: World) -> None:
    await asyncio.wait_for(until(server.health_port, "readiness", SERVING), 5)
    world.hang = True
    await asyncio.wait_for(until(server.health_port, "readiness", NOT_SERVING), 8)
    assert await state_of(server.health_port, "liveness") == SERVING


async def test_drain_while_stores_are_asked_leaves_nothing_for_asyncio_to_complain_of(
    settings: ServerSettings, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.hang = True
    async with running(settings, world) as (server, _):
        await asyncio.wait_for(until(server.health_port, "liveness", SERVING), 5)
    gc.collect()
    assert [r.getMessage() for r in caplog.records if r.name == "asyncio"] == []


async def test_health_answers_on_the_data_socket_and_knows_its_services(channel: grpc.aio.Channel) -> None:
    stub = health_pb2_grpc.HealthStub(channel)
    assert (await stub.Check(health_pb2.HealthCheckRequest(service="liveness"))).status == SERVING
    refusal = await refused(stub.Check(health_pb2.HealthCheckRequest(service="nonsense")))
    assert refusal.code is grpc.StatusCode.NOT_FOUND
    watch = stub.Watch(health_pb2.HealthCheckRequest(service="nonsense"))
    assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
    watch.cancel()


@pytest.mark.parametrize("enabled", [True, False])
async def test_reflection_is_behind_a_switch(settings: ServerSettings, world: World, enabled: bool) -> None:
    async with (
        running(replace(settings, reflection=enabled), world),
        grpc.aio.insecure_channel(f"unix:{settings.socket}") as channel,
    ):
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")]))
        if enabled:
            answers = [a async for a in call]
            names = {s.name for s in answers[0].list_services_response.service}
            assert {"memsidecar.v1.MemoryService", "grpc.health.v1.Health"} <= names
        else:
            assert (await refused_stream(call)).code is grpc.StatusCode.UNIMPLEMENTED


async def test_drain_lets_calls_end_and_takes_no_new_ones(settings: ServerSettings, world: World) -> None:
    world.gates["memories"] = asyncio.Event()
    async with running(settings, world) as (server, api):
        await asyncio.wait_for(until(server.health_port, "readiness", SERVING), 5)
        in_time = asyncio.ensure_future(api.memory.GetMemory(M1))
        await world.entered.wait()
        draining = asyncio.ensure_future(server.drain(5))
        await asyncio.wait_for(until(server.health_port, "readiness", NOT_SERVING), 5)
        assert await state_of(server.health_port, "liveness") == SERVING
        refusal = await refused(api.memory.GetMemory(M1))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        assert refusal.retry_after == 1.0
        assert not draining.done()
        world.gates["memories"].set()
        assert (await in_time).memory.name == M1.name
        await asyncio.wait_for(draining, 5)
    assert not os.path.exists(settings.socket)  # noqa: PTH110, ASYNC240


async def test_drain_ends_although_a_call_and_a_watch_do_not(settings: ServerSettings, world: World) -> None:
    world.gates["recall"] = asyncio.Event()
    async with running(settings, world) as (server, api):
        stream = api.recall.Recall(RECALL)
        reading = asyncio.ensure_future(stream.read())
        watching = asyncio.ensure_future(until(server.health_port, "liveness", NOT_SERVING))
        await world.entered.wait()
        await asyncio.wait_for(server.drain(0.1), 6)
        assert world.left.is_set()
        await asyncio.gather(reading, watching, return_exceptions=True)
