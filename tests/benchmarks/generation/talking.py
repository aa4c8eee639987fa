"""A client that takes turns, on one channel: a sentence and its hit, a ping and its pong.

`python -m tests.benchmarks.generation.talking '{"target": ..., "user": ..., "rounds": ...}'`
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from memsidecar.v1 import generation_service_pb2 as pb
from tests.benchmarks.generation.calls import (
    HITS_A_STREAM,
    PLENTY,
    PLENTY_OF_TOKENS,
    delta,
    finish,
    follow,
    has_begun,
    sentences,
    start,
)
from tests.benchmarks.generation.process import fields, tell
from tests.benchmarks.serve import ANSWER, TALK

_WARM_UP = 100
MAX_HITS = 5
# A stream is as long as an answer of a model: so many sentences, so many hits at most.
_SENTENCES = HITS_A_STREAM // MAX_HITS


class Generation:
    """Sentences, each in a message; a new stream when one has had as many hits as it may."""

    def __init__(self, channel: grpc.aio.Channel, user: str) -> None:
        self._channel, self._user = channel, user
        self._sentences = sentences()
        self._call: Any = None
        self._seq = 0
        self.hits = 0

    async def sentence(self) -> float | None:
        """Seconds from writing one to its first hit; None when it brings none."""
        if self._call is None:
            await self._open()
        self._seq += 1
        request = delta(self._seq, next(self._sentences))
        call = self._call
        began = time.perf_counter()
        await call.write(request)
        response = await call.read()
        taken = time.perf_counter() - began
        hit = response.WhichOneof("event") == "hit"
        while response.WhichOneof("event") != "watermark":
            self.hits += 1
            response = await call.read()
        if self._seq == _SENTENCES:
            await self.close()
        return taken if hit else None

    async def close(self) -> None:
        if self._call is not None:
            await self._call.write(finish())
            await self._call.done_writing()
            while await self._call.read() is not grpc.aio.EOF:
                pass
            self._call = None

    async def _open(self) -> None:
        self._call, self._seq = follow(self._channel), 0
        # As soon as it is written: otherwise it waits for the interval, not for the server.
        begin = start(
            self._user,
            min_interval=1e-6,
            initial_credit=PLENTY,
            max_total_tokens=PLENTY_OF_TOKENS,
            min_confidence=0.0,
        )
        begin.start.options.max_hits = MAX_HITS
        await self._call.write(begin)
        await has_begun(self._call)


class Ping:
    """One open stream; the pong is what a hit is."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._call: Any = channel.stream_stream(
            TALK, pb.RecallDuringRequest.SerializeToString, pb.RecallDuringResponse.FromString
        )()
        self._sentences = sentences()

    async def pong(self) -> float:
        request = delta(1, next(self._sentences))
        began = time.perf_counter()
        await self._call.write(request)
        response = await self._call.read()
        taken = time.perf_counter() - began
        assert response.WhichOneof("event") == "hit"
        return taken

    async def close(self) -> None:
        await self._call.done_writing()
        await self._call.read()


async def _a_hit(channel: grpc.aio.Channel, user: str) -> pb.RecallDuringResponse:
    call = follow(channel)
    await call.write(start(user, min_interval=1e-6, min_confidence=0.0))
    await has_begun(call)
    for seq, text in enumerate(sentences(), 1):
        await call.write(delta(seq, text))
        response: pb.RecallDuringResponse = await call.read()
        if response.WhichOneof("event") == "hit":
            break
    call.cancel()
    return response


async def _talk(target: str, user: str, rounds: int) -> None:
    async with grpc.aio.insecure_channel(target) as channel:
        hit = await _a_hit(channel, user)
        tell_the_echo: Any = channel.unary_unary(ANSWER)
        await tell_the_echo(hit.SerializeToString())
        generation, ping = Generation(channel, user), Ping(channel)
        taken: dict[str, list[float]] = {"hit": [], "pong": []}
        calls: list[tuple[str, Callable[[], Awaitable[float | None]]]] = [
            ("hit", generation.sentence),
            ("pong", ping.pong),
        ]
        for _ in range(_WARM_UP):
            for _, call in calls:
                await call()
        generation.hits = 0
        gc.collect()
        gc.disable()
        for _ in range(rounds):
            for name, call in calls:
                seconds = await call()
                if seconds is not None:
                    taken[name].append(seconds)
            calls.reverse()
        await generation.close()
        await ping.close()
    tell(**taken, hits=generation.hits, bytes=hit.ByteSize())


if __name__ == "__main__":
    asyncio.run(_talk(**fields()))
