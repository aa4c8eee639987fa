"""What the server says of text that was rewound meanwhile, which has crossed the rewind on its way."""

from __future__ import annotations

import asyncio

import grpc
import pytest
from memsidecar_client import AsyncGeneration, AsyncMemsidecar, GenerationEvent, Recalled, Watermark
from memsidecar_client._enums import TextSource
from memsidecar_client._generation_script import Script

from tests.clients.python.scripted_generation import ScriptedGeneration, Stream, oblige


def marks(events: list[GenerationEvent]) -> list[Watermark]:
    return [event for event in events if isinstance(event, Watermark)]


async def write(generation: AsyncGeneration, stream: Stream, *texts: str) -> None:
    """Each as a piece of its own, and sent."""
    for text in texts:
        await generation.feed(text)
        await stream.until_text(text)


async def test_watermark_that_crosses_a_rewind_says_nothing_of_the_new_text(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until("flush")
        await stream.send(watermark={"seq": 2, "coalesced": 7, "rewinds": 0})
        await stream.hit("new", trigger_seq=2)
        await oblige(stream)

    server.scripts = [script]
    async with writer.generation() as generation:
        await write(generation, await server.stream(1), "one.", "old.")
        await generation.rewind(1)
        await generation.feed("new.")
        assert await generation.flush() == Watermark(2)
        assert [hit.memory.name for hit in generation.memories] == ["new"]
        assert marks(generation.new_events()) == [Watermark(2)]


async def test_flush_before_a_rewind_is_answered_by_the_watermark_that_crosses_it(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until("rewind")
        await stream.send(watermark={"seq": 2, "coalesced": 7, "rewinds": 0})
        await asyncio.sleep(60)

    server.scripts = [script]
    generation = await writer.generation().__aenter__()
    stream = await server.stream(1)
    await write(generation, stream, "one.", "old.")
    before = asyncio.create_task(generation.flush())
    await stream.until("flush")
    await generation.rewind(1)
    await generation.feed("new.")
    after = asyncio.create_task(generation.flush())
    assert await before == Watermark(1, coalesced=7), "of the text that is left"
    assert not after.done()
    assert generation.new_events() == []
    await generation.__aexit__(ZeroDivisionError, None, None)
    assert (await asyncio.gather(after, return_exceptions=True))[0] is not None


async def test_watermark_that_nobody_has_taken_is_lowered_by_a_rewind(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async with writer.generation() as generation:
        await write(generation, await server.stream(1), "one.", "old.")
        assert await generation.flush() == Watermark(2)
        await generation.rewind(1)
        await generation.feed("new.")
        assert generation.new_events() == [Watermark(1)]


@pytest.mark.parametrize("seq", [2, 3])
async def test_older_server_that_does_not_count_rewinds_is_believed_as_far_as_there_is_text(
    writer: AsyncMemsidecar, server: ScriptedGeneration, seq: int
) -> None:
    async def script(stream: Stream) -> None:
        await stream.started()
        await stream.until("flush")
        await stream.send(watermark={"seq": seq, "coalesced": 7})
        await stream.send(watermark={"seq": 2})
        await stream.until("finish")
        await stream.send(finished={})

    server.scripts = [script]
    async with writer.generation() as generation:
        await write(generation, await server.stream(1), "one.", "two.", "three.")
        await generation.rewind(1)
        await generation.feed("new.")
        assert await generation.flush() == Watermark(2, coalesced=7 if seq == 2 else 0)


async def test_call_that_replaces_another_counts_from_its_own_beginning(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def first(stream: Stream) -> None:
        await stream.started()
        await stream.until("flush")
        await stream.abort(grpc.StatusCode.UNAVAILABLE, "away")

    async def second(stream: Stream) -> None:
        await stream.started()
        await stream.hit("replayed")
        await stream.until("flush")
        await stream.send(watermark={"seq": 2, "rewinds": 0})
        await stream.until("flush", 2)
        await stream.send(watermark={"seq": 3, "coalesced": 7, "rewinds": 0})
        await oblige(stream)

    server.scripts = [first, second]
    async with writer.generation() as generation:
        await write(generation, await server.stream(1), "one.", "old.")
        await generation.rewind(1)
        await generation.feed("two.")
        assert await generation.flush() == Watermark(2), "asked of the call that broke, after its rewind"
        await write(generation, await server.stream(2), "old.")
        await generation.rewind(2)
        await generation.feed("three.")
        assert await generation.flush() == Watermark(3)
        assert [type(event) for event in generation.new_events()][-2:] == [Recalled, Watermark]


def sent(script: Script) -> list[str | None]:
    """All that is due now, by kind."""
    return [message.WhichOneof("event") for message in iter(lambda: script.next(10.0), None)]


def test_rewinds_are_counted_as_the_messages_that_they_become() -> None:
    script = Script()
    for text in ("a.", "b.", "c."):
        script.feed(text, TextSource.MODEL, 0.0)
        assert sent(script) == ["text"]
    script.rewind(3)
    assert script.rewinds == 0, "nothing is dropped"
    script.feed("never sent", TextSource.MODEL, 10.0)
    script.rewind_to(6, 10.0)
    assert script.rewinds == 0
    script.rewind(2)
    script.rewind(1)
    assert script.rewinds == 1, "the two are one message"
    assert sent(script) == ["rewind"]
    script.rewind_to(1, 10.0)
    assert script.rewinds == 2
    assert sent(script) == ["rewind"]
    assert script.own_rewinds(2) == 2
    script.replay(flush=False)
    assert (script.rewinds, script.own_rewinds(0)) == (2, 2), "it begins with what stands"
