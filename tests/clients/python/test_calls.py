"""What every call does: scope, deadline, retries, request ids, metadata."""

from __future__ import annotations

import asyncio
from datetime import datetime
from uuid import UUID

import grpc
import pytest
from memsidecar_client import AsyncMemsidecar, Cancelled, DeadlineExceeded, Fact, Unavailable, WriteWait
from memsidecar_client.v1 import info_service_pb2, memory_service_pb2

from tests.clients.python.fake_sidecar import Failure, FakeSidecar, made

UNAVAILABLE = Failure(grpc.StatusCode.UNAVAILABLE, "starting")


async def test_scope_comes_from_the_client_and_a_call_overrides_it(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    await client.remember("tea")
    await client.remember("tea", user="ben", agent="", session="s1")
    first, second = (call.request.scope for call in fake.calls["Remember"])
    assert (first.namespace, first.user, first.agent, first.session) == ("acme", "ana", "planner", "")
    assert (second.namespace, second.user, second.agent, second.session) == ("acme", "ben", "", "s1")


async def test_unavailable_is_retried_with_the_same_request_id(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.failures["Remember"].extend([UNAVAILABLE, UNAVAILABLE])
    await client.remember("tea")
    ids = {call.request.request_id for call in fake.calls["Remember"]}
    assert len(fake.calls["Remember"]) == 3
    assert len(ids) == 1
    assert UUID(ids.pop()).version == 4


async def test_unavailable_is_raised_after_four_attempts(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.failures["GetMemory"].extend([UNAVAILABLE] * 5)
    with pytest.raises(Unavailable, match="starting"):
        await client.get_memory("namespaces/acme/memories/m")
    assert len(fake.calls["GetMemory"]) == 4


@pytest.mark.parametrize("code", [grpc.StatusCode.ABORTED, grpc.StatusCode.RESOURCE_EXHAUSTED])
async def test_other_failures_are_not_retried(
    client: AsyncMemsidecar, fake: FakeSidecar, code: grpc.StatusCode
) -> None:
    fake.failures["Remember"].append(Failure(code))
    with pytest.raises(Exception, match="refused"):
        await client.remember("tea")
    assert len(fake.calls["Remember"]) == 1


async def test_request_id_of_the_caller_is_sent(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    await client.create_memory(Fact("Ana drinks tea"), request_id="mine")
    assert fake.only("CreateMemory").request_id == "mine"


async def test_every_write_carries_a_fresh_request_id(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    memory = (await client.create_memory(Fact("Ana drinks tea"))).memory
    await client.remember("tea")
    await client.remember_many(["tea"])
    fake.answers["UpdateMemory"] = made(memory_service_pb2.UpdateMemoryResponse, memory={"fact": {"statement": "x"}})
    await client.undelete_memory("n")
    await client.delete_memory("n")
    async with client.remember_stream():
        pass
    session = client.session("s")
    await session.create()
    await session.update(labels={"a": "b"})
    await session.append([])
    await session.set_scratch({"a": 1})
    await session.delete_scratch(["a"])
    await session.end()
    await session.delete()
    assert memory.name == ""
    sent = [
        (call.request[0].start if method == "StreamRemember" else call.request).request_id
        for method, calls in fake.calls.items()
        for call in calls
        if method != "GetServerInfo"
    ]
    assert len(sent) == 13
    assert len({UUID(request_id) for request_id in sent}) == 13


async def test_deadline_is_ten_seconds_unless_said_otherwise(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    await client.recall("tea")
    await client.recall("tea", timeout=120)
    default, given = (call.time_remaining for call in fake.calls["RecallOnce"])
    assert default is not None
    assert given is not None
    # gRPC rounds deadlines up by as much as a second.
    assert default < 12 < 60 < given < 122


async def test_deadline_is_reported_as_such(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.go_on.clear()
    with pytest.raises(DeadlineExceeded) as caught:
        await client.recall("tea", timeout=0.05)
    assert caught.value.code == "DEADLINE_EXCEEDED"
    assert "no connection" not in str(caught.value)


async def test_missing_sidecar_fails_at_once_without_wait_for_ready() -> None:
    async with AsyncMemsidecar("unix:///nonexistent/s.sock", wait_for_ready=False, timeout=60) as client:
        with pytest.raises(Unavailable):
            await client.recall("tea")


async def test_missing_sidecar_is_named_when_waiting_for_it_runs_out() -> None:
    async with AsyncMemsidecar("unix:///nonexistent/s.sock", timeout=0.05) as client:
        with pytest.raises(DeadlineExceeded, match=r"no connection to unix:///nonexistent/s\.sock"):
            await client.recall("tea")


async def test_stream_to_a_missing_sidecar_is_not_waited_for_without_end() -> None:
    async with AsyncMemsidecar("unix:///nonexistent/s.sock", timeout=0.05) as client:
        with pytest.raises(DeadlineExceeded, match="not opened in time; no connection to unix:///nonexistent"):
            await client.remember_stream().__aenter__()
        with pytest.raises(DeadlineExceeded, match="no connection to unix:///nonexistent"):
            async with client.recall_stream("tea") as events:
                await anext(events)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_ready_waits_for_a_sidecar_that_starts_late() -> None:
    late = FakeSidecar()
    late.answers["GetServerInfo"] = made(info_service_pb2.GetServerInfoResponse, version="1.2", capabilities=["watch"])
    async with AsyncMemsidecar(late.target, wait_for_ready=False) as client:
        waiting = asyncio.create_task(client.ready(timeout=10))
        with pytest.raises(Unavailable):
            await client.server_info()
        late.start()
        info = await waiting
    late.close()
    assert info.version == "1.2"
    assert info.capabilities == {"watch"}


async def test_token_and_correlation_id_travel_with_calls_and_streams(fake: FakeSidecar) -> None:
    ids = iter(("a", "b", "c"))
    async with AsyncMemsidecar(fake.target, token="s3cret", correlation_id=lambda: next(ids)) as client:
        await client.recall("tea")
        async with client.recall_stream("tea") as events:
            assert [event async for event in events] == []
        async with client.remember_stream():
            pass
    sent = [fake.calls[method][0].metadata for method in ("RecallOnce", "Recall", "StreamRemember")]
    assert [metadata["authorization"] for metadata in sent] == ["Bearer s3cret"] * 3
    assert [metadata["x-request-id"] for metadata in sent] == ["a", "b", "c"]


async def test_cancelling_the_caller_cancels_the_call(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.go_on.clear()
    task = asyncio.create_task(client.recall("tea"))
    await asyncio.to_thread(fake.arrived.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(fake.cancelled.wait, 10)


async def test_closing_the_client_ends_its_calls_with_a_typed_error(fake: FakeSidecar) -> None:
    fake.go_on.clear()
    client = AsyncMemsidecar(fake.target)
    task = asyncio.create_task(client.recall("tea"))
    await asyncio.to_thread(fake.arrived.wait, 10)
    await client.close()
    with pytest.raises(Cancelled, match="closed"):
        await task
    await client.close()
    with pytest.raises(RuntimeError, match="closed"):
        await client.recall("tea")


async def test_naive_times_are_refused_before_anything_is_sent(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    with pytest.raises(ValueError, match="time zone"):
        await client.remember("tea", time=datetime(2026, 5, 1))
    assert not fake.calls


async def test_tcp_target_works(fake: FakeSidecar) -> None:
    async with AsyncMemsidecar(fake.tcp_target) as client:
        await client.remember("tea", wait=WriteWait.DURABLE)
    assert fake.only("Remember").options.wait == WriteWait.DURABLE
