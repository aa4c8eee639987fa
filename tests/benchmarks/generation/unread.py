"""A client that writes on all of its streams and reads none of them: first all it can, then at a steady rate.

`python -m tests.benchmarks.generation.unread '{"target": ..., "user": ..., "streams": ..., "rate": ...}'` goes on to
the next part when it is told to.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import grpc

from tests.benchmarks.generation.calls import PLENTY, PLENTY_OF_TOKENS, delta, follow, sentences, start
from tests.benchmarks.generation.process import fields, tell, told_to_go

_CHANNELS = 8
# Its text is evaluated together with the sentence's: the newest of it.
_FILLER = "and so on, "


class _Deaf:
    def __init__(self, call: Any) -> None:
        self._call, self._seq = call, 0
        self.written = 0

    async def begin(self, user: str) -> None:
        begin = start(
            user,
            min_confidence=0.0,
            initial_credit=PLENTY,
            max_total_hits=PLENTY,
            max_total_tokens=PLENTY_OF_TOKENS,
        )
        await self._call.write(begin)

    async def write(self, text: str) -> None:
        self._seq += 1
        self.written += len(text)
        await self._call.write(delta(self._seq, text))


async def _flood(streams: list[_Deaf], sentences_each: int, size: int) -> None:
    filler = (_FILLER * (size // len(_FILLER) + 1))[:size]
    texts = sentences()

    async def flood(stream: _Deaf) -> None:
        for _ in range(sentences_each):
            await stream.write(filler)
            await stream.write(next(texts))

    await asyncio.gather(*map(flood, streams))


async def _steady(streams: list[_Deaf], rate: float, per_sentence: int, until: asyncio.Future[Any]) -> None:
    """`rate` deltas a second in all."""
    texts = sentences()
    began, sent = time.perf_counter(), 0
    while not until.done():
        stream = streams[sent % len(streams)]
        # Counted over all streams, so that the sentences' ends do not come together.
        ends = sent % per_sentence == 0
        await stream.write(next(texts) if ends else "so on ")
        sent += 1
        await asyncio.sleep(max(0.0, began + sent / rate - time.perf_counter()))


async def _run(target: str, user: str, streams: int, sentences_each: int, size: int, rate: float) -> None:
    # Without a pool of their own, channels of the same address share a connection.
    options = (("grpc.use_local_subchannel_pool", 1),)
    channels = [grpc.aio.insecure_channel(target, options=options) for _ in range(_CHANNELS)]
    deaf = [_Deaf(follow(channels[number % _CHANNELS])) for number in range(streams)]
    await asyncio.gather(*(each.begin(user) for each in deaf))
    tell(open=streams)
    await told_to_go()
    await _flood(deaf, sentences_each, size)
    tell(written=sum(each.written for each in deaf))
    await told_to_go()
    stop = asyncio.ensure_future(told_to_go())
    await _steady(deaf, rate, per_sentence=17, until=stop)
    tell(written=sum(each.written for each in deaf))
    for channel in channels:
        await channel.close()


if __name__ == "__main__":
    asyncio.run(_run(**fields()))
