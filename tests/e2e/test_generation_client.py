"""Generations of the Python client over the ends of real processes: nothing is lost, nothing comes twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from memsidecar_client import (
    AsyncGeneration,
    AsyncMemsidecar,
    Draining,
    Episode,
    GenerationEvent,
    Memory,
    Recalled,
    Resumed,
    Retracted,
    RetractionReason,
    Trigger,
)

from tests.sidecar import Sidecar

TEA = "Ana drinks green tea with oat milk every morning."
DOG = "Doubao the corgi must not walk far because of his knees."
E = TypeVar("E", bound=GenerationEvent)
SENTENCES = {
    TEA: "In the morning Ana wants green tea with oat milk. ",
    DOG: "Doubao the corgi walks far on his knees. ",
}


def sidecar(folder: Path, **settings: str) -> Sidecar:
    # Words alone: the process starts sooner, and what is found does not depend on a model.
    lexical = {"embedding.provider": "client", "embedding.dimensions": "16", "embedding.model": "none"}
    return Sidecar(folder / "data", {**lexical, "drain_grace": "1", **settings})


async def remember(client: AsyncMemsidecar) -> dict[str, Memory]:
    texts = [TEA, DOG, "Ben collects old maps of Lisbon.", "The lift is closed on Mondays."]
    done = await client.remember_many(texts)
    return {outcome.memory.text: outcome.memory for result in done.results for outcome in result.outcomes}


async def write(generation: AsyncGeneration, text: str) -> None:
    for token in text.split(" "):
        await generation.feed(token + " ")
        await asyncio.sleep(0.002)


async def until(generation: AsyncGeneration, kind: type[E], seen: list[GenerationEvent]) -> E:
    async with asyncio.timeout(60):
        while not isinstance(event := await anext(generation), kind):
            seen.append(event)
    seen.append(event)
    return event


def names(events: list[GenerationEvent]) -> list[str]:
    return [event.hit.memory.text for event in events if isinstance(event, Recalled)]


def following(client: AsyncMemsidecar) -> AsyncGeneration:
    return client.generation(min_confidence=0.01, max_hits=1, trigger=Trigger(on_entity_mention=False))


async def test_killed_process_is_replaced_and_what_changed_meanwhile_is_retracted(tmp_path: Path) -> None:
    server, elsewhere = sidecar(tmp_path), sidecar(tmp_path)
    seen: list[GenerationEvent] = []
    try:
        await asyncio.to_thread(server.start)
        async with AsyncMemsidecar(server.target, user="ana") as client:
            memories = await remember(client)
            async with following(client) as generation:
                await write(generation, SENTENCES[TEA])
                await generation.flush()
                seen += generation.new_events()
                assert names(seen) == [TEA]

                server.kill()
                await write(generation, SENTENCES[DOG])
                await asyncio.to_thread(elsewhere.start)
                async with AsyncMemsidecar(elsewhere.target, user="ana") as other:
                    await other.delete_memory(memories[TEA].name)
                await asyncio.to_thread(elsewhere.stop)
                await asyncio.to_thread(server.start)

                await until(generation, Resumed, seen)
                retracted = await until(generation, Retracted, seen)
                assert (retracted.memory, retracted.reason) == (memories[TEA].name, RetractionReason.DELETED)
                await generation.flush()
                seen += generation.new_events()
                assert names(seen) == [TEA, DOG]
                assert [hit.memory.text for hit in generation.memories] == [DOG]
            assert generation.result is not None
            assert (generation.result.recalled, generation.result.resumed) == (2, 1)
    finally:
        server.close()
        elsewhere.close()


async def test_turn_that_was_corrected_while_the_stream_was_broken_is_retracted_with_what_holds_instead(
    tmp_path: Path,
) -> None:
    server, elsewhere = sidecar(tmp_path), sidecar(tmp_path)
    try:
        await asyncio.to_thread(server.start)
        async with AsyncMemsidecar(server.target, user="ana") as client:
            turn, fact = [each.memory for each in (await client.remember("I live in Rome.", speaker="Ana")).outcomes]
            async with client.generation(known=[turn.name, fact]) as generation:
                server.kill()
                await asyncio.to_thread(elsewhere.start)
                async with AsyncMemsidecar(elsewhere.target, user="ana") as other:
                    await other.remember("I moved to Oslo.", speaker="Ana")
                await asyncio.to_thread(elsewhere.stop)
                await asyncio.to_thread(server.start)

                await until(generation, Resumed, [])
                gone = [await until(generation, Retracted, []) for _ in range(2)]
            said = {(each.memory, each.reason, each.successor and each.successor.text) for each in gone}
            superseded = RetractionReason.SUPERSEDED
            assert said == {(name, superseded, "I moved to Oslo") for name in (turn.name, fact.name)}
    finally:
        server.close()
        elsewhere.close()


async def test_correction_reaches_a_generation_that_is_idle_beyond_the_servers_limit(tmp_path: Path) -> None:
    server = sidecar(tmp_path, **{"limits.stream_idle": "1"})
    try:
        await asyncio.to_thread(server.start)
        async with AsyncMemsidecar(server.target, user="ana") as client:
            memories = await remember(client)
            async with client.generation(known=[memories[TEA].name]) as generation:
                await until(generation, Resumed, [])
                await asyncio.sleep(2.5)
                await client.delete_memory(memories[TEA].name)
                assert (await until(generation, Retracted, [])).memory == memories[TEA].name
                assert [event for event in generation.new_events() if isinstance(event, Resumed)] == []
            assert generation.result is not None
            assert generation.result.resumed == 1
    finally:
        server.close()


async def test_drained_streams_go_on_with_the_next_process(tmp_path: Path) -> None:
    server = sidecar(tmp_path)
    together = 30

    async def generate(client: AsyncMemsidecar, stopped: asyncio.Event) -> list[GenerationEvent]:
        seen: list[GenerationEvent] = []
        async with following(client) as generation:
            await write(generation, SENTENCES[TEA])
            await generation.flush()
            stopped_once.release()
            await until(generation, Draining, seen)
            await stopped.wait()
            await write(generation, SENTENCES[DOG])
            await until(generation, Resumed, seen)
            await generation.flush()
            seen += generation.new_events()
        assert generation.result is not None
        assert generation.result.recalled == 2
        return seen

    stopped_once = asyncio.Semaphore(0)
    try:
        await asyncio.to_thread(server.start)
        async with AsyncMemsidecar(server.target, user="ana", timeout=60) as client:
            await remember(client)
            stopped = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                generations = [group.create_task(generate(client, stopped)) for _ in range(together)]
                for _ in range(together):
                    await stopped_once.acquire()
                assert await asyncio.to_thread(server.stop) == 0
                stopped.set()
                await asyncio.to_thread(server.start)
        for generation in generations:
            assert Counter(names(generation.result())) == {TEA: 1, DOG: 1}
    finally:
        server.close()


async def test_memory_that_a_stream_before_has_sent_is_retracted_by_the_next_one(tmp_path: Path) -> None:
    server = sidecar(tmp_path)
    seen: list[GenerationEvent] = []
    try:
        await asyncio.to_thread(server.start)
        async with AsyncMemsidecar(server.target, user="ana") as client:
            memories = await remember(client)
            async with following(client) as generation:
                await write(generation, SENTENCES[TEA])
                await generation.flush()
                server.kill()
                await asyncio.to_thread(server.start)
                await until(generation, Resumed, seen)
                await generation.flush()
                tea = memories[TEA]
                assert isinstance(tea.body, Episode)
                corrected = replace(tea.body, text=TEA.replace("green", "black"))
                await client.update_memory(replace(tea, body=corrected, etag=""), fields=["episode.text"])
                retracted = await until(generation, Retracted, seen)
                assert (retracted.memory, retracted.reason) == (tea.name, RetractionReason.UPDATED)
                assert retracted.hit is not None
                await write(generation, "Tea again: black tea with oat milk in the morning, Ana. ")
                await generation.flush()
                again = generation.new_memories()
                assert [event.hit.memory.text for event in again] == [corrected.text]
    finally:
        server.close()


@pytest.mark.parametrize("remember_it", [True, False])
async def test_finished_generation_is_remembered_if_it_should_be(tmp_path: Path, remember_it: bool) -> None:
    server = sidecar(tmp_path)
    try:
        await asyncio.to_thread(server.start)
        async with AsyncMemsidecar(server.target, user="ana") as client:
            await client.session("s").create()
            name = (await anext(client.list_sessions())).name
            async with client.generation("What about tea?", conversation=name, remember=remember_it) as generation:
                await generation.feed("Green tea is best.")
            assert generation.result is not None
            assert bool(generation.result.remembered) is remember_it
            said = [message.text async for message in client.session("s").messages()]
            assert said == (["What about tea?", "Green tea is best."] if remember_it else [])
    finally:
        server.close()
