"""A generation whose stream breaks goes on with another one, and nothing is lost or sent twice."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import grpc
import pytest
from memsidecar_client import (
    AsyncGeneration,
    AsyncMemsidecar,
    Cancelled,
    DeadlineExceeded,
    Draining,
    Fact,
    GenerationEvent,
    Memory,
    Recalled,
    ResourceExhausted,
    Resumed,
    Retracted,
    RetractionReason,
    TextSource,
    Unavailable,
    Watermark,
)

from tests.clients.python.scripted_generation import Script, ScriptedGeneration, Stream, oblige


async def lost(stream: Stream) -> None:
    await stream.abort(grpc.StatusCode.UNAVAILABLE, "away", "DRAINING", retry=True)


def breaking_after(text: str, *hits: str) -> Script:
    """Sends the hits, and is lost once it has read that text."""

    async def script(stream: Stream) -> None:
        await stream.started()
        for name in hits:
            await stream.hit(name)
        await stream.until_text(text)
        await lost(stream)

    return script


async def until(generation: AsyncGeneration, kind: type) -> list[GenerationEvent]:
    """Events up to the first of that kind."""
    seen: list[GenerationEvent] = []
    async with asyncio.timeout(10):
        while not seen or not isinstance(seen[-1], kind):
            seen.append(await anext(generation))
    return seen


async def test_broken_stream_goes_on_with_all_text_and_nothing_comes_twice(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def second(stream: Stream) -> None:
        await stream.started()
        await stream.hit("a", "again")
        await stream.hit("b")
        await oblige(stream)

    server.memories = {name: {"fact": {"statement": name}} for name in ("a", "k")}
    server.scripts = [breaking_after("two.", "a"), second]
    async with writer.generation("the question", known=["k"], initial_credit=4, max_total_hits=10) as generation:
        await generation.feed("hm ", TextSource.REASONING)
        await generation.feed("one. ")
        await (await server.stream(1)).until_text("one.")
        await generation.feed("two.")
        seen = await until(generation, Resumed)
        await generation.feed("three.")
        await generation.flush()
        seen += generation.new_events()
        summary = await generation.finish()
    first, second_stream = server.streams
    start = second_stream.start
    assert (start.prompt, list(start.known_memories)) == ("the question", ["a", "k"])
    assert start.generation_id == first.start.generation_id != ""
    assert (start.max_total_hits, start.initial_credit) == (9, 3)
    pieces = second_stream.every("text")
    assert [(piece.text, piece.source) for piece in pieces] == [("hm ", 2), ("one. two.", 1), ("three.", 1)]
    assert [piece.seq for piece in pieces] == [2, 3, 4], "of three pieces two were joined; the next one is the fourth"
    assert start.first_seq == 2
    assert [event.hit.memory.name for event in seen if isinstance(event, Recalled)] == ["a", "b"]
    assert (summary.recalled, summary.resumed) == (2, 1)


async def test_numbers_of_a_resumed_stream_are_those_of_the_pieces_that_were_fed(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def second(stream: Stream) -> None:
        await stream.started()
        await stream.hit("prompt", trigger_seq=0)
        await stream.hit("reasoning", trigger_seq=stream.start.first_seq)
        await stream.hit("answer", trigger_seq=stream.start.first_seq + 1)
        await oblige(stream)

    server.scripts = [breaking_after("4."), second]
    async with writer.generation() as generation:
        for text, source in (("1.", TextSource.REASONING), ("2.", TextSource.REASONING), ("3.", TextSource.MODEL)):
            await generation.feed(text, source)
            await (await server.stream(1)).until_text(text)
        await generation.feed("4.")
        await until(generation, Resumed)
        assert (await generation.flush()).seq == 4
        assert [event.trigger_seq for event in generation.new_memories()] == [0, 2, 4]


async def test_what_stopped_being_true_while_nobody_listened_is_retracted(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    server.memories = {
        "holds": {"fact": {"statement": "holds"}},
        "changed": {"fact": {"statement": "in other words"}},
        "superseded": {"fact": {"statement": "superseded"}, "state": 2},
        "deleted": {"fact": {"statement": "deleted"}, "state": 5},
    }
    server.scripts = [breaking_after("x", "holds", "changed", "superseded", "deleted", "erased")]
    async with writer.generation() as generation:
        await generation.feed("x.")
        await until(generation, Resumed)
        retracted = [(await until(generation, Retracted))[-1] for _ in range(4)]
        assert [hit.memory.name for hit in generation.memories] == ["holds"]
    assert [(event.memory, event.reason) for event in retracted if isinstance(event, Retracted)] == [
        ("changed", RetractionReason.UPDATED),
        ("superseded", RetractionReason.SUPERSEDED),
        ("deleted", RetractionReason.DELETED),
        ("erased", RetractionReason.PURGED),
    ]
    assert isinstance(retracted[0], Retracted)
    assert retracted[0].successor is not None
    assert retracted[0].successor.text == "in other words"


async def test_known_memory_that_stopped_being_true_while_nobody_listened_is_retracted(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    server.memories = {
        "holds": {"fact": {"statement": "holds"}},
        "changed": {"fact": {"statement": "in other words"}},
        "deleted": {"fact": {"statement": "deleted"}, "state": 5},
        "named": {"fact": {"statement": "nobody knows what it said before"}},
    }
    known = [Memory(Fact(name), name=name) for name in ("holds", "changed")]
    server.scripts = [breaking_after("x")]
    async with writer.generation(known=[*known, "deleted", "erased", "named"]) as generation:
        await generation.feed("x.")
        await until(generation, Resumed)
        retracted = [(await until(generation, Retracted))[-1] for _ in range(3)]
    assert [(event.memory, event.reason) for event in retracted if isinstance(event, Retracted)] == [
        ("changed", RetractionReason.UPDATED),
        ("deleted", RetractionReason.DELETED),
        ("erased", RetractionReason.PURGED),
    ]
    # What is gone for good is not to be sent either; what has changed may be.
    assert sorted(server.streams[1].start.known_memories) == ["changed", "deleted", "erased", "holds", "named"]
    assert generation.result is not None
    assert generation.result.retracted == 3


async def test_flush_that_waits_is_asked_for_again(writer: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    async def first(stream: Stream) -> None:
        await stream.started()
        await stream.until("flush")
        await lost(stream)

    server.scripts = [first]
    async with writer.generation() as generation:
        await generation.feed("x")
        assert await generation.flush() == Watermark(1)
    assert server.streams[1].kinds() == ["start", "text", "flush", "finish"]


async def test_server_that_dies_and_comes_back_is_found_again_while_the_model_writes_on(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async with writer.generation() as generation:
        await generation.feed("before. ")
        await generation.flush()
        await server.stop()
        for number in range(20):
            await generation.feed(f"{number} ")
        await server.start()
        await generation.flush()
        assert isinstance((await until(generation, Resumed))[-1], Resumed)
    assert server.streams[1].text == "before. " + "".join(f"{number} " for number in range(20))


async def test_server_that_drains_is_left_when_it_ends_the_stream_and_its_refusals_are_waited_out(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def first(stream: Stream) -> None:
        await stream.started()
        await stream.send(draining={"grace": {"seconds": 1}})
        await stream.until_text("goes on")
        await lost(stream)

    server.scripts = [first, lost, lost]
    async with writer.generation() as generation:
        assert await anext(generation) == Draining(timedelta(seconds=1))
        await generation.feed("goes on.")
        (resumed,) = await until(generation, Resumed)
        assert isinstance(resumed, Resumed)
        assert resumed.away >= timedelta(seconds=0.15), "it came back when it was told to"
    assert len(server.streams) == 4


async def test_server_that_stays_away_is_given_up(writer: AsyncMemsidecar, server: ScriptedGeneration) -> None:
    generation = await writer.generation(resume_timeout=0.3).__aenter__()
    await server.stop()
    with pytest.raises(Unavailable, match=r"could not go on within 0\.3 s.*is the sidecar running"):
        await generation.flush()
    with pytest.raises(Unavailable):
        await generation.__aexit__(None, None, None)


async def test_server_that_takes_streams_and_drops_them_is_given_up_too(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def drop(stream: Stream) -> None:
        await stream.started()
        await stream.abort(grpc.StatusCode.UNAVAILABLE, "oops")

    server.scripts = [drop] * 1000
    generation = await writer.generation(resume_timeout=0.5).__aenter__()
    with pytest.raises(Unavailable, match=r"within 0\.5 s"):
        await generation.flush()
    await generation.__aexit__(ZeroDivisionError, None, None)
    assert len(server.streams) < 15


async def test_overloaded_server_is_asked_again_when_it_says_so_and_not_otherwise(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def full(stream: Stream) -> None:
        await stream.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "full", "OVERLOADED", retry=True)

    async def too_much(stream: Stream) -> None:
        await stream.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too much")

    server.scripts = [breaking_after("x"), full, breaking_after("y"), too_much]
    generation = await writer.generation().__aenter__()
    await generation.feed("x.")
    await until(generation, Resumed)
    await generation.feed("y.")
    with pytest.raises(ResourceExhausted, match="too much"):
        await generation.flush()
    await generation.__aexit__(ZeroDivisionError, None, None)
    server.scripts = [full]
    with pytest.raises(ResourceExhausted, match="full"):
        await writer.generation().__aenter__()


async def test_stream_that_was_idle_is_opened_again_for_the_next_text_only(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def idle(stream: Stream) -> None:
        await stream.started()
        await stream.abort(grpc.StatusCode.ABORTED, "idle", "STREAM_IDLE")

    server.scripts = [idle]
    async with writer.generation() as generation:
        await (await server.stream(1)).closed.wait()
        await asyncio.sleep(0.2)
        assert len(server.streams) == 1
        await generation.feed("x.")
        await (await server.stream(2)).until_text("x.")


async def test_rewind_into_text_that_was_joined_takes_another_stream(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    server.scripts = [breaking_after("2.")]
    async with writer.generation() as generation:
        await generation.feed("1.")
        await (await server.stream(1)).until_text("1.")
        await generation.feed("2.")
        await until(generation, Resumed)
        await (await server.stream(2)).until_text("1.2.")
        await generation.rewind(1)
        await generation.feed("3.")
        assert (await generation.flush()).seq == 2
        await generation.feed("4.")
        await generation.flush()
        await generation.rewind(2)
        await generation.feed("5.")
        assert (await generation.flush()).seq == 3
    assert [stream.text for stream in server.streams] == ["1.2.", "1.2.", "1.3.4.5."]
    assert [rewind.seq for rewind in server.streams[2].every("rewind")] == [2]


async def test_finish_that_is_lost_is_repeated_unless_it_may_have_been_remembered(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def first(stream: Stream) -> None:
        await stream.started()
        await stream.until("finish")
        await lost(stream)

    server.scripts = [first]
    async with writer.generation() as generation:
        assert (await generation.finish()).resumed == 1
    server.scripts = [first]
    generation = await writer.generation(remember=True).__aenter__()
    with pytest.raises(Unavailable, match="unknown whether the generation was remembered"):
        await generation.__aexit__(None, None, None)


@pytest.mark.parametrize("kind", [None, ZeroDivisionError])
async def test_leaving_while_the_server_is_away_does_not_wait_for_it(
    writer: AsyncMemsidecar, server: ScriptedGeneration, kind: type[BaseException] | None
) -> None:
    generation = await writer.generation(resume_timeout=60).__aenter__()
    await server.stop()
    async with asyncio.timeout(5):
        if kind is None:
            with pytest.raises(DeadlineExceeded, match="not finished in time"):
                await generation.finish(timeout=0.1)
        await generation.__aexit__(ZeroDivisionError, None, None)


async def test_closing_the_client_ends_a_generation_that_waits_for_the_server(server: ScriptedGeneration) -> None:
    client = AsyncMemsidecar(server.target)
    generation = await client.generation(resume_timeout=60).__aenter__()
    await server.stop()
    await asyncio.sleep(0.2)
    async with asyncio.timeout(5):
        await client.close()
        with pytest.raises(Cancelled):
            await generation.flush()
        await generation.__aexit__(ZeroDivisionError, None, None)


async def test_hits_past_the_total_of_all_streams_are_not_taken(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def second(stream: Stream) -> None:
        await stream.started()
        await stream.hit("c")
        await stream.hit("d")
        await oblige(stream)

    server.scripts = [breaking_after("x", "a", "b"), second]
    server.memories = {name: {"fact": {"statement": name}} for name in "ab"}
    async with writer.generation(max_total_hits=3) as generation:
        await generation.feed("x.")
        await until(generation, Resumed)
        await generation.flush()
        assert [hit.memory.name for hit in generation.memories] == ["a", "b", "c"]
