"""One round trip of each shape in whatever versions this interpreter has; run by test_version_skew.py, not by pytest.

Needs grpcio, protobuf and the client only. Prints the versions it ran with.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version

import grpc
from memsidecar_client import (
    AsyncMemsidecar,
    Fact,
    HitFound,
    Memsidecar,
    NotFound,
    RecallDone,
    Recalled,
    Retracted,
    Watermark,
)
from memsidecar_client.v1.memory_service_pb2 import RememberResponse
from memsidecar_client.v1.recall_service_pb2 import RecallResponse

from tests.clients.python.fake_sidecar import Failure, FakeSidecar, made


async def asynchronous(fake: FakeSidecar) -> None:
    async with AsyncMemsidecar(fake.target) as client:
        fake.failures["Remember"].append(Failure(grpc.StatusCode.UNAVAILABLE))
        remembered = await client.remember(Fact("Ana drinks tea"))
        assert remembered.memories[0].body == Fact("Ana drinks tea"), remembered
        async with client.recall_stream("tea") as events:
            assert [type(event) for event in [event async for event in events]] == [HitFound, RecallDone]
        async with client.remember_stream() as stream:
            await stream.send(["a", "b"])
        assert stream.result is not None
        assert stream.result.received == 2
        async with client.generation("tea?") as generation:
            await generation.feed("茶。")
            await generation.flush()
            recalled, retracted, watermark = generation.new_events()
        assert isinstance(recalled, Recalled)
        assert recalled.hit.memory.body == Fact("茶。")
        assert isinstance(retracted, Retracted)
        assert retracted.hit == recalled.hit
        assert watermark == Watermark(1)
        assert generation.result is not None
        assert (generation.result.recalled, generation.result.retracted) == (1, 1)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    if left:
        # Ended calls leave the loop a few turns after their end.
        _, left = await asyncio.wait(left, timeout=2)
    assert not left


def blocking(fake: FakeSidecar) -> None:
    # Status{code: 5, details: [Any{google.rpc.ErrorInfo{reason: "GONE"}}]}, as bytes: googleapis is not installed here.
    packed = b"\n(type.googleapis.com/google.rpc.ErrorInfo\x12\x06\n\x04GONE"
    status = b"\x08\x05\x1a" + bytes([len(packed)]) + packed
    trailing = (("grpc-status-details-bin", status),)
    fake.failures["GetMemory"].append(Failure(grpc.StatusCode.NOT_FOUND, "no", trailing))
    with Memsidecar(fake.target) as client:
        reason = ""
        try:
            client.get_memory("n")
        except NotFound as error:
            reason = error.reason
        assert reason == "GONE"
        with client.recall_stream("tea") as events:
            assert len(list(events)) == 2
        with client.generation() as generation:
            assert list(generation.follow(["tea."])) == ["tea."]
            generation.flush()
            assert [type(event) for event in generation.new_events()] == [Recalled, Retracted, Watermark]


if __name__ == "__main__":
    server = FakeSidecar().start()
    memory = {"name": "m", "fact": {"statement": "Ana drinks tea"}}
    server.answers["Remember"] = made(RememberResponse, outcomes=[{"action": 1, "memory": memory}])
    server.recall_events = [made(RecallResponse, hit={"memory": memory}), made(RecallResponse, summary={})]
    asyncio.run(asynchronous(server))
    blocking(server)
    server.close()
    print(f"grpcio {version('grpcio')}, protobuf {version('protobuf')}")
