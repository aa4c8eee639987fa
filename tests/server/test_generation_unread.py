"""Streams whose clients do not read."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from dataclasses import replace
from typing import Any

import grpc
import pytest

from memsidecar.domain.draft import Draft
from memsidecar.domain.memory import Fact
from memsidecar.domain.revision import revision_token
from memsidecar.server.app import ServerSettings
from memsidecar.v1 import recall_service_pb2, watch_pb2
from tests.server.api import Api
from tests.server.live import Live, Talk, nothing_left, served
from tests.services.stack import ANN
from tests.session_servers import until

SCOPE = {"namespace": ANN.namespace, "user": ANN.user}
SENTENCE = "Caroline adopted a grey cat called Biscuit."
# Little is under way between the two, so that what is not read is soon not written either.
NARROW = (("grpc.http2.bdp_probe", 0), ("grpc.use_local_subchannel_pool", 1))
LARGE = [Draft(Fact(f"{SENTENCE} Number {n}. {'z' * 100_000}")) for n in range(10)]


async def test_readers_that_never_read_cost_no_more_the_longer_they_write(
    alive: Live, settings: ServerSettings
) -> None:
    await alive.stack.remember(ANN, *(f"{SENTENCE} Number {n} is another one." for n in range(60)))
    async with served(settings, alive.services) as (_, line):
        talks = [
            await Talk.open(line, min_confidence=0.0, max_total_hits=20, trigger={"min_interval": {"nanos": 1000}})
            for _ in range(40)
        ]

        async def write(rounds: int) -> None:
            for _ in range(rounds):
                for talk in talks:
                    await talk.write(SENTENCE, SENTENCE)
                    await talk.rewind(0)

        tracemalloc.start()
        await write(10)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        await write(10)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert after - before < 6 * 40_000
        for talk in talks:
            talk.call.cancel()
        await nothing_left(alive)


@pytest.mark.parametrize("finished", [False, True])
async def test_idle_client_that_does_not_read_keeps_no_place(
    alive: Live, settings: ServerSettings, finished: bool
) -> None:
    await alive.stack.remember(ANN, *LARGE)
    async with (
        served(replace(settings, stream_idle=0.3, max_generations=1), alive.services) as (_, line),
        grpc.aio.insecure_channel(f"unix:{settings.socket}", options=NARROW) as other,
    ):
        deaf = await Talk.open(other, min_confidence=0.0, max_total_tokens=262_144, options={"max_hits": 10})
        await deaf.until("started")
        await deaf.write(SENTENCE)
        await deaf.say(flush={})
        if finished:
            await asyncio.sleep(0.2)
            await deaf.say(finish={})
        await nothing_left(alive)
        await (await Talk.open(line)).finish()


@pytest.mark.parametrize("method", ["recall", "watch"])
async def test_stream_of_the_server_that_is_not_read_keeps_no_place(
    alive: Live, settings: ServerSettings, method: str
) -> None:
    await alive.stack.remember(ANN, *LARGE)
    start = revision_token(ANN.partition, 0)

    def begun(line: grpc.aio.Channel) -> Any:
        if method == "recall":
            question: dict[str, Any] = {"scope": SCOPE, "query": {"text": SENTENCE}}
            return Api(line).recall.Recall(recall_service_pb2.RecallRequest(**question))
        since: dict[str, Any] = {"scope": SCOPE, "after": {"token": start}}
        return Api(line).memory.WatchMemories(watch_pb2.WatchMemoriesRequest(**since))

    async def is_open(line: grpc.aio.Channel, free: bool) -> bool:
        """Whether there is room for one more, or none."""
        call = begun(line)
        try:
            await call.read()
        except grpc.aio.AioRpcError as error:
            return not free and error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        call.cancel()
        return free

    async with (
        served(replace(settings, stream_idle=1.0, max_streams=1, max_watches=1), alive.services) as (_, line),
        grpc.aio.insecure_channel(f"unix:{settings.socket}", options=NARROW) as other,
    ):
        deaf = begun(other)
        await deaf.read()
        await until(lambda: is_open(line, free=False))
        await until(lambda: is_open(line, free=True))
        deaf.cancel()


async def test_remembering_may_take_longer_than_a_client_may_be_silent(alive: Live, settings: ServerSettings) -> None:
    keep = alive.recall_during._parts.keep
    async with served(replace(settings, stream_idle=0.1), alive.services) as (_, line):
        talk = await Talk.open(line)
        await talk.write(SENTENCE)
        remember = keep._remember

        async def slowly(*args: object) -> object:
            await asyncio.sleep(1.5)
            return await remember(*args)  # type: ignore[arg-type]

        keep._remember = slowly  # type: ignore[assignment]
        assert len((await talk.finish(remember=True)).remembered_memories) == 1
