"""A client whose streams end in one of the ways in which streams end, each at another point of its life.

`python -m tests.benchmarks.generation.ending '{"target": ..., "user": ..., "way": "cancel", "streams": ...}'`; to be
killed when it has told that they are open, if the way is "kill".
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice
from typing import Any

import grpc

from tests.benchmarks.generation.calls import delta, finish, follow, has_begun, sentences, start
from tests.benchmarks.generation.process import fields, tell

WAYS = ("finish", "cancel", "deadline", "kill", "half-close", "violation")
_AT_ONCE = 40
# How far a stream gets before it ends: its start is on its way, it has started, an evaluation is under way, a hit came.
_POINTS = 4
_DEADLINES = (0.005, 0.02, 0.05, 0.1)


async def _live(call: Any, user: str, number: int, text: str) -> int:
    """The stream up to its point; the last seq."""
    point = number % _POINTS
    await call.write(start(user, min_confidence=0.0, generation_id=f"{number}"))
    if point >= 1:
        await has_begun(call)
    if point >= 2:
        await call.write(delta(1, text))
    if point >= 3:
        await call.read()
    return int(point >= 2)


async def _end(call: Any, way: str, seq: int) -> None:
    if way == "cancel":
        call.cancel()
    elif way == "finish":
        await call.write(finish())
    elif way == "violation":
        await call.write(delta(seq + 7, "out of turn"))
    if way in ("finish", "half-close"):
        await call.done_writing()
    while await call.read() is not grpc.aio.EOF:
        pass


async def _one(channel: grpc.aio.Channel, user: str, way: str, number: int, text: str) -> str:
    deadline = _DEADLINES[number // _POINTS % len(_DEADLINES)] if way == "deadline" else None
    call = follow(channel, deadline)
    try:
        await _end(call, way, await _live(call, user, number, text))
    except (grpc.aio.AioRpcError, asyncio.InvalidStateError, RuntimeError):
        pass  # how it ended is in the status
    except asyncio.CancelledError:
        if way != "cancel":
            raise
    return str((await call.code()).name)


async def _some(channel: grpc.aio.Channel, user: str, way: str, work: Iterator[tuple[int, str]]) -> dict[str, int]:
    ended: dict[str, int] = {}
    for number, text in work:
        code = await _one(channel, user, way, number, text)
        ended[code] = ended.get(code, 0) + 1
    return ended


async def _hold(channel: grpc.aio.Channel, user: str, streams: int) -> None:
    """All open at once, until the process is killed."""
    calls = [follow(channel) for _ in range(streams)]
    texts = sentences()
    for first in range(0, streams, _AT_ONCE):
        some = range(first, min(first + _AT_ONCE, streams))
        await asyncio.gather(*(_live(calls[number], user, number, next(texts)) for number in some))
    tell(open=streams)
    await asyncio.Event().wait()


async def _run(target: str, user: str, way: str, streams: int) -> None:
    async with grpc.aio.insecure_channel(target) as channel:
        if way == "kill":
            await _hold(channel, user, streams)
        work = iter(list(enumerate(islice(sentences(), streams))))
        parts = await asyncio.gather(*(_some(channel, user, way, work) for _ in range(_AT_ONCE)))
    ended: dict[str, int] = {}
    for part in parts:
        for code, count in part.items():
            ended[code] = ended.get(code, 0) + count
    tell(ended=ended)


if __name__ == "__main__":
    asyncio.run(_run(**fields()))
