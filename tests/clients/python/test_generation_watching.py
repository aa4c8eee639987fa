"""What a generation has brought stays watched: over a break of its stream, and while nothing is said."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
from memsidecar_client import (
    AsyncGeneration,
    AsyncMemsidecar,
    Fact,
    Hit,
    HitStanding,
    Memory,
    MemoryState,
    Recalled,
    Resumed,
    Retracted,
    RetractionReason,
    Tier,
)

from tests.clients.python.scripted_generation import ScriptedGeneration, Stream, oblige

SUPERSEDED = 2


async def until(generation: AsyncGeneration, kind: type) -> Any:
    """The first event of that kind."""
    async with asyncio.timeout(10):
        while not isinstance(event := await anext(generation), kind):
            pass
    return event


async def lost(stream: Stream) -> None:
    await stream.abort(grpc.StatusCode.UNAVAILABLE, "away")


async def idle(stream: Stream) -> None:
    await stream.abort(grpc.StatusCode.ABORTED, "idle", "STREAM_IDLE", idle_seconds="0.4")


def fact(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "fact": {"statement": name}, **fields}


async def tells(stream: Stream, *superseded_before: str, **fields: Any) -> None:
    """A server that says what it takes to be known, as of now: of what the start says, that."""
    known = {name: list(superseded_before) for name in stream.start.known_memories}
    known |= {each.memory: list(each.superseded) for each in stream.start.known}
    await stream.started(known=[{"memory": name, "superseded": gone} for name, gone in known.items()], **fields)


async def test_next_stream_is_told_what_is_known_to_be_superseded_and_its_retractions_name_what_holds_instead(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def first(stream: Stream) -> None:
        await tells(stream, "f")
        standings = [{"memory": "f1", "state": SUPERSEDED}, {"memory": "f2", "state": 3}]
        await stream.send(hit={"hit": {"memory": fact("a"), "standings": standings}})
        await stream.send(hit={"hit": {"memory": fact("b")}})
        await stream.until("flush")
        await lost(stream)

    async def second(stream: Stream) -> None:
        await tells(stream)
        successor = fact("c")
        await stream.send(retracted={"memory": "b", "reason": 1, "successor": successor})
        await oblige(stream)

    server.scripts = [first, second]
    # What the next stream tells of by itself, the client leaves to it.
    server.memories = {name: fact(name) for name in ("a", "n", "v", "h")} | {"b": fact("b", state=SUPERSEDED)}
    gone = HitStanding("h1", MemoryState.SUPERSEDED)
    known: list[str | Hit | Memory] = [
        "n",
        Memory(Fact("v"), name="v"),
        Hit(Memory(Fact("h"), name="h"), 0.5, Tier.VECTOR, standings=(gone,)),
    ]
    async with writer.generation(known=known) as generation:
        flushing = asyncio.create_task(generation.flush())
        await until(generation, Resumed)
        retracted = await until(generation, Retracted)
        await flushing
        assert (retracted.memory, retracted.reason) == ("b", RetractionReason.SUPERSEDED)
        assert retracted.successor.text == "c"
        assert [hit.memory.name for hit in generation.memories] == ["a"]
        assert generation.new_events()[:-1] == []
    starts = [stream.start.known for stream in server.streams]
    assert [(each.memory, list(each.superseded)) for each in starts[0]] == [("h", ["h1"])]
    assert {each.memory: list(each.superseded) for each in starts[1]} == {
        "a": ["f1"],
        "b": [],
        "n": ["f"],
        "v": ["f"],
        "h": ["h1"],
    }


async def test_what_was_superseded_when_it_came_is_not_taken_back_for_it(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def first(stream: Stream) -> None:
        await tells(stream, "named")
        await stream.send(hit={"hit": {"memory": fact("old", state=SUPERSEDED)}})
        await stream.until("flush")
        await lost(stream)

    server.scripts = [first]
    server.memories = {name: fact(name, state=SUPERSEDED) for name in ("old", "named")}
    async with writer.generation(known=["named"]) as generation:
        await generation.flush()
        assert generation.result is None
        assert [hit.memory.name for hit in generation.memories] == ["old"]
    assert generation.result is not None
    assert (generation.result.resumed, generation.result.retracted) == (1, 0)


async def test_memory_whose_validity_ended_while_nobody_listened_is_taken_back(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    now = datetime.now(UTC)

    def ends(seconds: float) -> dict[str, Any]:
        at = now + timedelta(seconds=seconds)
        return {"valid_end_time": {"seconds": int(at.timestamp()), "nanos": at.microsecond * 1000}}

    server.memories = {
        "past": fact("past", **ends(-60)),
        "over": fact("over", **ends(0.5)),
        "later": fact("later", **ends(60)),
    }

    async def first(stream: Stream) -> None:
        await stream.started()
        for memory in server.memories.values():
            await stream.send(hit={"hit": {"memory": memory}})
        await stream.until("flush")
        await asyncio.sleep(0.6)
        await lost(stream)

    server.scripts = [first]
    async with writer.generation() as generation:
        await generation.flush()
        retracted = await until(generation, Retracted)
        assert (retracted.memory, retracted.reason) == ("over", RetractionReason.EXPIRED)
        assert [hit.memory.name for hit in generation.memories] == ["past", "later"]


async def test_stream_that_was_idle_is_opened_again_at_once_while_a_memory_holds_and_then_kept(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def first(stream: Stream) -> None:
        await stream.started()
        await stream.hit("a")
        await idle(stream)

    async def second(stream: Stream) -> None:
        await stream.started()
        await stream.until("flush", 3)
        await stream.send(retracted={"memory": "a", "reason": 3})
        await asyncio.sleep(0.5)
        assert len(stream.every("flush")) == 3, "nothing is left to be watched"
        await idle(stream)

    server.scripts, server.memories = [first, second], {"a": fact("a")}
    async with writer.generation() as generation:
        assert (await until(generation, Recalled)).hit.memory.name == "a"
        await until(generation, Resumed)
        assert (await until(generation, Retracted)).memory == "a"
        await (await server.stream(2)).closed.wait()
        await asyncio.sleep(0.2)
        assert len(server.streams) == 2


async def test_known_memory_is_watched_as_one_that_was_brought(
    writer: AsyncMemsidecar, server: ScriptedGeneration
) -> None:
    async def first(stream: Stream) -> None:
        await stream.started()
        await idle(stream)

    server.scripts, server.memories = [first], {"k": fact("k")}
    async with writer.generation(known=["k"]):
        await (await server.stream(2)).until("flush")
