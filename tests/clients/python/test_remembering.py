"""Many items travel in batches and streams."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from random import uniform
from typing import Any
from uuid import UUID

import grpc
import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    Embedding,
    Fact,
    FailedPrecondition,
    InvalidArgument,
    Item,
    Provenance,
    RememberAction,
    ResourceExhausted,
    Unavailable,
)
from memsidecar_client.v1 import error_reason_pb2
from memsidecar_client.v1.memory_service_pb2 import BatchRememberRequest, BatchRememberResponse, RememberResponse

from tests.clients.python.fake_sidecar import Failure, FakeSidecar, made


def answer_each(request: BatchRememberRequest) -> BatchRememberResponse:
    """A memory for every text, an error for those that say "bad"."""
    response = made(BatchRememberResponse, revision={"token": f"after-{len(request.items)}"})
    for index, item in enumerate(request.items):
        result = response.results.add(index=index)
        if item.text == "bad":
            result.error.code = 3
            result.error.reason = error_reason_pb2.ERROR_REASON_INVALID_FIELD
            result.error.message = "no"
        else:
            result.outcomes.add(action=1).memory.episode.text = item.text
    return response


async def test_item_arrives_whole_and_its_outcome_comes_back(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["Remember"] = made(
        RememberResponse,
        outcomes=[{"action": 2, "memory": {"episode": {"text": "tea"}}, "explanation": "e", "embedding_pending": True}],
        revision={"token": "r1"},
    )
    said = datetime(2026, 5, 1, tzinfo=UTC)
    remembered = await client.remember(
        "tea",
        speaker="Ana",
        time=said,
        entities=["Ana"],
        embedding=Embedding((0.5, 0.25), "m"),
        provenance=Provenance(document="d"),
        labels={"a": "b"},
    )
    request = fake.only("Remember")
    assert (request.item.text, request.item.speaker, list(request.item.entities)) == ("tea", "Ana", ["Ana"])
    assert request.item.time.ToDatetime(UTC) == said
    assert (list(request.item.embedding.values), request.item.embedding.model) == ([0.5, 0.25], "m")
    assert request.item.provenance.document == "d"
    assert dict(request.options.labels) == {"a": "b"}
    (outcome,) = remembered.outcomes
    assert outcome.action is RememberAction.MERGED
    assert outcome.embedding_pending
    assert remembered.memories[0].text == "tea"
    assert remembered.revision == "r1"


async def test_many_items_go_in_batches_with_results_in_order(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["BatchRemember"] = answer_each
    texts = [f"text {n}" for n in range(600)]
    texts[300] = "bad"
    done = await client.remember_many(texts)
    assert [len(call.request.items) for call in fake.calls["BatchRemember"]] == [256, 256, 88]
    assert [result.index for result in done.results] == list(range(600))
    assert [r.outcomes[0].memory.text for r in done.results if not r.error] == [t for t in texts if t != "bad"]
    (failure,) = done.failures
    assert failure.index == 300
    assert isinstance(failure.error, InvalidArgument)
    assert failure.error.reason == "INVALID_FIELD"
    assert done.revision == "after-88"


async def test_batches_stay_below_the_size_of_a_message(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    fake.answers["BatchRemember"] = answer_each
    await client.remember_many("x" * 500_000 for _ in range(13))
    sizes = [call.request.ByteSize() for call in fake.calls["BatchRemember"]]
    assert len(sizes) == 3
    assert max(sizes) < 3.1 * 1024 * 1024


async def test_repeating_many_with_its_request_id_repeats_every_id(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    mine = "6d0c6f4c-2f2f-4b53-9e0a-0a3b3b5f0001"
    for _ in range(2):
        await client.remember_many((f"t{n}" for n in range(300)), request_id=mine)
    ids = [call.request.request_id for call in fake.calls["BatchRemember"]]
    assert ids[0] == mine
    assert ids[:2] == ids[2:]
    assert len({UUID(each) for each in ids}) == 2


async def test_no_items_make_no_call(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    assert (await client.remember_many([])).results == ()
    assert not fake.calls


async def test_items_mix_texts_memories_and_details(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    await client.remember_many(["a", Fact("b"), Item("c", speaker="Ana"), Item(Fact("d"), entities=["E"])])
    items = fake.only("BatchRemember").items
    assert [item.WhichOneof("source") for item in items] == ["text", "memory", "text", "memory"]
    assert items[2].speaker == "Ana"
    assert items[3].memory.fact.statement == "d"


async def test_stream_starts_sends_chunks_and_finishes(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    async with client.remember_stream(session="s1", labels={"a": "b"}) as stream:
        await stream.send(f"t{n}" for n in range(300))
        await stream.send(["last"])
        summary = await stream.finish()
    assert summary == await stream.finish() == stream.result
    assert (summary.received, summary.action_counts, summary.revision) == (301, {"CREATED": 301}, "r9")
    kinds = [message.WhichOneof("message") for message in fake.only("StreamRemember")]
    assert kinds == ["start", "items", "items", "items", "finish"]
    start = fake.only("StreamRemember")[0].start
    assert (start.scope.user, start.scope.session, dict(start.options.labels)) == ("ana", "s1", {"a": "b"})


async def test_leaving_the_block_finishes_the_stream(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    async with client.remember_stream() as stream:
        await stream.send(["a"])
    assert stream.result is not None
    assert stream.result.received == 1


async def test_leaving_the_block_by_an_exception_abandons_the_stream(
    client: AsyncMemsidecar, fake: FakeSidecar
) -> None:
    stream = client.remember_stream()

    async def fail_midway() -> None:
        async with stream:
            await stream.send(["a"])
            await asyncio.to_thread(fake.arrived.wait, 10)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_midway()
    assert await asyncio.to_thread(fake.cancelled.wait, 10)
    assert "finish" not in [message.WhichOneof("message") for message in fake.only("StreamRemember")]
    assert stream.result is None


@pytest.mark.parametrize("code", [grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE])
async def test_stream_that_the_server_ends_says_why(
    client: AsyncMemsidecar, fake: FakeSidecar, code: grpc.StatusCode
) -> None:
    fake.failures["StreamRemember"].append(Failure(code, "disk full"))

    async def send_for_ever() -> None:
        async with client.remember_stream() as stream:
            while True:
                await stream.send(["a"])

    with pytest.raises((ResourceExhausted, Unavailable), match="disk full"):
        await send_for_ever()
    assert len(fake.calls["StreamRemember"]) == 1


async def test_reason_of_the_server_is_not_lost_to_a_message_that_is_being_sent(tmp_path: Path) -> None:
    """Both end at once now and then, and grpc.aio keeps the latter: many rounds, and large messages, meet it."""

    async def refuse(messages: Any, context: Any) -> None:
        async for _ in messages:
            await asyncio.sleep(uniform(0, 0.001))
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not now")

    handlers: dict[str, Any] = {"StreamRemember": grpc.stream_unary_rpc_method_handler(refuse)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("memsidecar.v1.MemoryService", handlers),))
    target = f"unix:{tmp_path}/refusing.sock"
    server.add_insecure_port(target)
    await server.start()
    large = "x" * 1_500_000

    async def send_for_ever(client: AsyncMemsidecar) -> None:
        async with client.remember_stream() as stream:
            while True:
                await stream.send([large])

    try:
        async with AsyncMemsidecar(target) as client:
            for _ in range(100):
                with pytest.raises(FailedPrecondition, match="not now"):
                    await send_for_ever(client)
    finally:
        await server.stop(None)


async def test_stream_is_used_inside_its_block_and_once(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    stream = client.remember_stream()
    with pytest.raises(RuntimeError, match="enter"):
        await stream.send(["a"])
    async with stream:
        await stream.finish()
        with pytest.raises(RuntimeError, match="finished"):
            await stream.send(["a"])
    with pytest.raises(RuntimeError, match="once"):
        await stream.__aenter__()


async def test_naive_time_in_a_batch_names_the_problem(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    wrong: Any = datetime(2026, 1, 1)
    with pytest.raises(ValueError, match="no time zone"):
        await client.remember_many([Item("a", time=wrong)])
