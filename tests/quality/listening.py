"""One RecallDuring from the agent's side: writes the deltas, and notes what is sent and by which of them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
from memsidecar_client.v1 import generation_service_pb2 as pb

from tests.quality.sayings import Saying

if TYPE_CHECKING:
    from memsidecar_client.v1.generation_service_pb2_grpc import GenerationServiceAsyncStub

# Seconds after which the next delta follows one that starts no evaluation; one that does is waited for.
PACE = 0.1
# Seconds after which a stream hangs.
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Sent:
    """A hit. `memories` are its own name and those that it says the same as; `seq` is the delta that brought it up."""

    memories: tuple[str, ...]
    confidence: float
    score: float
    seq: int


@dataclass(frozen=True, slots=True)
class Heard:
    """What a stream sent, and the totals it ended with; `withheld` waited for credit at the end."""

    sent: tuple[Sent, ...]
    min_confidence: float
    evaluations: int
    coalesced: int
    withheld: int
    degraded: bool


async def listen(stub: GenerationServiceAsyncStub, saying: Saying, start: dict[str, Any]) -> Heard:
    """Follow one generation to its end; `start` has the other fields of GenerationStart.

    The prompt is waited for, as a model's first token takes longer than that. A delta is followed by the next when it
    has been considered, or after PACE when it was no reason to. At the end all is flushed and waited for. So what each
    delta brings up does not depend on the machine's speed as long as an evaluation takes less than PACE.
    """
    call = stub.RecallDuring(timeout=PATIENCE)
    ears = _Ears(call)
    await call.write(pb.RecallDuringRequest(start=pb.GenerationStart(prompt=saying.prompt, **start)))
    reading = asyncio.create_task(ears.read())
    try:
        if saying.prompt:
            await ears.reached(reading, 0)
        for seq, text in enumerate(saying.deltas, 1):
            await call.write(pb.RecallDuringRequest(text=pb.TextDelta(seq=seq, text=text)))
            with suppress(TimeoutError):
                await asyncio.wait_for(ears.reached(reading, seq), PACE)
        await call.write(pb.RecallDuringRequest(flush=pb.Flush()))
        await ears.reached(reading, saying.last_seq)
        await call.write(pb.RecallDuringRequest(finish=pb.GenerationFinish()))
        await call.done_writing()
        await reading
    finally:
        call.cancel()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    return ears.heard()


class _Ears:
    def __init__(self, call: grpc.aio.StreamStreamCall[pb.RecallDuringRequest, pb.RecallDuringResponse]) -> None:
        self._call = call
        self._sent: list[Sent] = []
        self._started = pb.GenerationStarted()
        self._mark = pb.Watermark(seq=-1)
        self._finished = pb.GenerationFinished()
        self._degraded = False
        self._news = asyncio.Event()

    async def read(self) -> None:
        async for response in self._call:
            match response.WhichOneof("event"):
                case "started":
                    self._started = response.started
                case "hit":
                    hit = response.hit.hit
                    names = (hit.memory.name, *hit.duplicates)
                    self._sent.append(Sent(names, hit.confidence, hit.score, response.hit.trigger_seq))
                case "watermark":
                    self._mark = response.watermark
                    self._degraded = self._degraded or self._mark.degraded
                case "finished":
                    self._finished = response.finished
            self._news.set()

    async def reached(self, reading: asyncio.Task[None], seq: int) -> None:
        """Until the text up to that delta has been considered. Raises what ended the stream before."""
        while self._mark.seq < seq:
            self._news.clear()
            news = asyncio.ensure_future(self._news.wait())
            try:
                await asyncio.wait((news, reading), return_when=asyncio.FIRST_COMPLETED)
            finally:
                news.cancel()
            if reading.done():
                reading.result()
                raise RuntimeError(f"the stream ended before delta {seq} was considered")

    def heard(self) -> Heard:
        return Heard(
            tuple(self._sent),
            self._started.min_confidence,
            self._finished.evaluations,
            self._finished.coalesced,
            self._mark.withheld_hits,
            self._degraded,
        )
