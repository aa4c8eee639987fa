"""A client with open streams of which it finishes most, each a while after it was told that the server goes away.

`python -m tests.benchmarks.generation.leaving '{"target": ..., "user": ..., "streams": ..., "obstinate": ...}'`
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

import grpc

from tests.benchmarks.generation.calls import delta, finish, follow, has_begun, sentences, start
from tests.benchmarks.generation.process import fields, tell

# A model writes on for up to so many seconds.
_WRITES_ON = 2.0


async def _follow(call: Any, share: float, obstinate: bool) -> tuple[float, str]:
    """When it was told (0: never), and how it ended."""
    told = 0.0
    finishing: asyncio.Task[None] | None = None
    ended = ""
    try:
        while (response := await call.read()) is not grpc.aio.EOF:
            event = response.WhichOneof("event")
            if event == "draining":
                told = time.time()
                if not obstinate:
                    finishing = asyncio.create_task(_finish(call, share * _WRITES_ON))
            ended = event
    except grpc.aio.AioRpcError as error:
        ended = error.code().name
    if finishing is not None:
        finishing.cancel()
    return told, ended


async def _finish(call: Any, after: float) -> None:
    await asyncio.sleep(after)
    await call.write(finish())
    await call.done_writing()


async def _run(target: str, user: str, streams: int, obstinate: int) -> None:
    async with grpc.aio.insecure_channel(target) as channel:
        calls, texts = [follow(channel) for _ in range(streams)], sentences()
        for call in calls:
            await call.write(start(user, min_confidence=0.0))
            await has_begun(call)
            await call.write(delta(1, next(texts)))
        tell(open=streams)
        ends = await asyncio.gather(
            *(_follow(call, number / streams, number < obstinate) for number, call in enumerate(calls))
        )
    tell(told=[told for told, _ in ends if told], ended=Counter(ended for _, ended in ends))


if __name__ == "__main__":
    asyncio.run(_run(**fields()))
