"""How a generation ends: finished, left, refused, failed, closed; nothing is left of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    GenerationEvent,
    GenerationOutcome,
    InvalidArgument,
    Recalled,
    Unavailable,
    Watermark,
)
from memsidecar_client._generation_wire import Wire
from memsidecar_client.v1.generation_service_pb2 import GenerationStart, RecallDuringRequest

from tests.clients.python.fake_sidecar import made
from tests.clients.python.scripted_generation import ScriptedGeneration, Stream, oblige


async def test_finish_says_how_it_ended_and_what_to_remember(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async with writer.generation(remember=True):
        pass
    async with writer.generation(remember=True) as generation:
        await generation.finish(GenerationOutcome.STOPPED, remember=False)
        with pytest.raises(RuntimeError, match="finished"):
            await generation.feed("late")
    first, second = server.streams
    assert [(finish.outcome, finish.remember) for finish in first.every("finish") + second.every("finish")] == [
        (1, True),
        (2, False),
    ]


async def test_nothing_is_sent_after_finish_whatever_comes_then(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def memories_on_their_way(stream: Stream) -> None:
        await stream.started()
        await stream.until("finish")
        for name in ("a", "b", "c"):
            await stream.hit(name)
        await asyncio.sleep(0.1)  # credit for them would come now
        await stream.send(finished={})

    server.scripts = [memories_on_their_way]
    taken: list[GenerationEvent] = []
    async with writer.generation(initial_credit=2, on_event=taken.append):
        pass
    assert len(taken) == 3
    assert server.streams[0].kinds() == ["start", "finish"]


async def test_the_result_says_why_the_session_has_not_got_what_is_remembered(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def without_a_session(stream: Stream) -> None:
        await stream.started()
        await stream.until("finish")
        await stream.send(finished={"remembered_memories": ["m"], "session_error": "ERROR_REASON_SESSION_ENDED"})

    server.scripts = [without_a_session]
    async with writer.generation(remember=True) as generation:
        await generation.feed("a.")
    assert generation.result is not None
    assert (generation.result.remembered, generation.result.session_error) == (("m",), "SESSION_ENDED")


async def test_leaving_by_an_exception_abandons_and_cancels(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def fail() -> None:
        async with writer.generation() as generation:
            await generation.feed("a.")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    stream = await server.stream(1)
    await asyncio.wait_for(stream.closed.wait(), 10)
    assert "finish" not in stream.kinds()


async def test_cancelling_the_application_leaves_nothing_running(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def use() -> None:
        async with writer.generation() as generation:
            async for _ in generation:
                pass

    task = asyncio.create_task(use())
    stream = await server.stream(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(stream.closed.wait(), 10)


async def test_refused_start_raises_on_entering(writer: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    async def refuse(stream: Stream) -> None:
        await stream.abort(grpc.StatusCode.INVALID_ARGUMENT, "prompt is too long", "INVALID_FIELD")

    server.scripts = [refuse]
    with pytest.raises(InvalidArgument, match="too long") as caught:
        await writer.generation("x").__aenter__()
    assert caught.value.reason == "INVALID_FIELD"


async def test_violation_is_raised_by_whatever_comes_next_and_by_leaving(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.hit("before")
        await stream.until("text")
        await stream.abort(grpc.StatusCode.INVALID_ARGUMENT, "gap", "PROTOCOL_VIOLATION")

    server.scripts = [script]
    generation = await writer.generation().__aenter__()
    await generation.feed("a.")
    assert isinstance(await anext(generation), Recalled)
    with pytest.raises(InvalidArgument, match="gap"):
        await anext(generation)
    assert [event async for event in generation] == []
    with pytest.raises(InvalidArgument, match="gap"):
        await generation.feed("b")
    with pytest.raises(InvalidArgument, match="gap"):
        await generation.flush()
    with pytest.raises(InvalidArgument, match="gap"):
        await generation.__aexit__(None, None, None)
    assert len(server.streams) == 1


async def test_memory_that_fails_does_not_interrupt_the_model_that_is_followed(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until_text("a.")
        await stream.abort(grpc.StatusCode.FAILED_PRECONDITION, "gone")

    async def model() -> AsyncIterator[str]:
        yield "a."
        with pytest.raises(FailedPrecondition):
            await anext(generation)
        yield "b."

    server.scripts = [script]
    generation = await writer.generation().__aenter__()
    assert [chunk async for chunk in generation.follow(model())] == ["a.", "b."]
    with pytest.raises(FailedPrecondition, match="gone"):
        await generation.__aexit__(None, None, None)


async def test_event_that_cannot_be_read_is_an_error_not_a_hang(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.send(hit={"hit": {"memory": {"name": "m", "create_time": {"seconds": 10**12}}}})
        await oblige(stream)

    server.scripts = [script]
    with pytest.raises(OverflowError):
        async with writer.generation() as generation:
            await generation.flush()


async def test_deadline_for_the_whole_generation_is_kept(writer: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    generation = await writer.generation(timeout=0.2).__aenter__()
    with pytest.raises(DeadlineExceeded):
        await anext(generation)
    with pytest.raises(DeadlineExceeded):
        await generation.__aexit__(None, None, None)


async def test_closing_the_client_ends_a_generation_with_a_typed_error(server: ScriptedGeneration) -> None:
    client = AsyncMemsidecar(server.target)
    generation = await client.generation().__aenter__()
    waiting = asyncio.create_task(generation.next_event())
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(Cancelled):
        await waiting
    with pytest.raises(Cancelled):
        await generation.__aexit__(None, None, None)


async def test_reason_of_the_server_is_not_lost_to_a_message_that_is_being_sent(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    """Both end at once now and then, and grpc.aio keeps the latter: many rounds, and large messages, meet it."""

    async def refuse(stream: Stream) -> None:
        await stream.started()
        await stream.until("text")
        await stream.abort(grpc.StatusCode.FAILED_PRECONDITION, "not now")

    async def write_much() -> None:
        async with writer.generation() as generation:
            for _ in range(20):
                await generation.feed("x" * 40_000 + ".")
            await generation.flush()

    server.scripts = [refuse] * 100
    for _ in range(100):
        with pytest.raises(FailedPrecondition, match="not now"):
            await write_much()
    assert len(server.streams) == 100


async def test_events_nobody_takes_do_not_pile_up(writer: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        for number in range(1000):
            await stream.send(watermark={"seq": 0, "coalesced": number})
        await oblige(stream)

    server.scripts = [script]
    async with writer.generation() as generation:
        await generation.feed("a")
        await generation.flush()
        assert generation.new_events() == [Watermark(1)]


async def test_text_without_end_is_refused_before_it_fills_the_memory(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def hang(stream: Stream) -> None:
        await stream.started()
        await asyncio.sleep(60)

    async def model() -> AsyncIterator[str]:
        yield "more"

    page = "茶" * 10_000
    server.scripts = [hang]
    generation = await writer.generation().__aenter__()
    for _ in range(34):
        await generation.feed(page)
    await generation.rewind_to(20_000)
    for _ in range(32):
        await generation.feed(page)
    with pytest.raises(InvalidArgument, match="another generation"):
        await generation.feed(page)
    assert [chunk async for chunk in generation.follow(model())] == ["more"]
    with pytest.raises(InvalidArgument, match="another generation"):
        await generation.__aexit__(None, None, None)


async def test_callback_takes_the_events_and_what_it_raises_ends_the_generation(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.hit("a")
        await oblige(stream)

    seen: list[Any] = []
    server.scripts = [script, script]
    async with writer.generation(on_event=seen.append) as generation:
        await generation.flush()
        assert generation.new_events() == []
    assert [type(event) for event in seen] == [Recalled, Watermark]

    def fail(event: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        async with writer.generation(on_event=fail) as generation:
            await generation.flush()


async def test_generation_is_used_inside_its_block_and_once(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    generation = writer.generation()
    with pytest.raises(RuntimeError, match="enter"):
        await generation.feed("a")
    with pytest.raises(RuntimeError, match="enter"):
        await generation.next_event()
    async with generation:
        with pytest.raises(InvalidArgument, match="text: must be valid Unicode, without lone surrogates"):
            await generation.feed("\ud83d")
    with pytest.raises(RuntimeError, match="once"):
        await generation.__aenter__()


async def test_sidecar_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with AsyncMemsidecar(f"unix:{tmp_path}/none.sock", timeout=0.2) as client:
        with pytest.raises(DeadlineExceeded, match="is the sidecar running"):
            await client.generation().__aenter__()
    async with AsyncMemsidecar(f"unix:{tmp_path}/none.sock", wait_for_ready=False) as client:
        with pytest.raises(Unavailable):
            await client.generation().__aenter__()


async def test_a_call_that_ended_behind_unread_messages_leaves_no_task(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    """A message that cannot be sent gives the call a status of grpc.aio's own; the server's never comes."""

    async def refuses_behind_messages(stream: Stream) -> None:
        await stream.started()
        await stream.hit("a")
        await stream.hit("b")
        await stream.abort(grpc.StatusCode.RESOURCE_EXHAUSTED)

    server.scripts = [refuses_behind_messages]
    wire = Wire(writer._connection, None)
    await wire.open(made(GenerationStart, scope={"namespace": "acme", "user": "ana"}), 5)
    for _ in range(500):
        if not await wire.write(made(RecallDuringRequest, flush={})):
            break
        await asyncio.sleep(0.01)
    else:
        pytest.fail("the call has not ended")
    wire.cancel()
