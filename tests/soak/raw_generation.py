"""A generation without the client, which would not show a memory that the server sends twice, nor its use of credit."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from typing import Any

import grpc
import grpc.aio
from memsidecar_client.v1.generation_service_pb2 import (
    Credit,
    Flush,
    GenerationFinish,
    GenerationFinished,
    GenerationStart,
    HitFound,
    HitRetracted,
    RecallDuringRequest,
    RecallDuringResponse,
    RetractionReason,
    TextDelta,
)
from memsidecar_client.v1.generation_service_pb2_grpc import GenerationServiceStub
from memsidecar_client.v1.scope_pb2 import Scope

from tests.soak.worker import PASSING, Soak, is_of

INITIAL_CREDIT = 3
MAX_HITS = 12
# For all of it: half a second at rest, and restarts end it at once.
SECONDS = 60.0


class RawGeneration:
    def __init__(self, soak: Soak, user: str) -> None:
        self.hits = self.retracted = 0
        self._soak, self._user = soak, user
        self._call: Any = None
        self._cut = False
        self._granted, self._marked = INITIAL_CREDIT, 0
        self._held: set[str] = set()
        self._gone: set[str] = set()

    async def run(self, texts: Iterable[str], dice: random.Random) -> None:
        """From the first message to the last one, unless the process goes away."""
        async with grpc.aio.insecure_channel(self._soak.sidecar.target) as channel:
            stub: Any = GenerationServiceStub(channel)
            self._call = stub.RecallDuring(wait_for_ready=True, timeout=SECONDS)
            try:
                await self._converse(texts, dice)
            except grpc.aio.AioRpcError as error:
                cut = self._cut or error.code().name in PASSING
                self._expect(cut, f"ended with {error.code().name} {error.details()}")

    async def _converse(self, texts: Iterable[str], dice: random.Random) -> None:
        start = GenerationStart(
            scope=Scope(user=self._user),
            initial_credit=INITIAL_CREDIT,
            max_total_hits=MAX_HITS,
            min_confidence=0.05,
        )
        await self._say(RecallDuringRequest(start=start))
        responses: AsyncIterator[RecallDuringResponse] = aiter(self._call)
        first = await anext(responses, None)
        self._expect(first is not None and first.HasField("started"), f"begins with {first}")
        for seq, text in enumerate(texts, start=1):
            await self._say(RecallDuringRequest(text=TextDelta(seq=seq, text=text)))
            if dice.random() < 0.5:
                await self._say(RecallDuringRequest(flush=Flush()))
                while self._marked < seq and (response := await anext(responses, None)) is not None:
                    self._take(response)
                self._expect(self._marked >= seq, f"ends without having considered {seq}")
            if dice.random() < 0.3:
                hits = dice.randint(1, 3)
                self._granted += hits
                await self._say(RecallDuringRequest(credit=Credit(hits=hits)))
        await self._say(RecallDuringRequest(finish=GenerationFinish()))
        last = None
        async for last in responses:
            self._take(last)
        self._expect(last is not None and last.HasField("finished"), "does not end with finished")
        if last is not None:
            self._expect_totals(last.finished)

    async def _say(self, message: RecallDuringRequest) -> None:
        """To a stream that may have ended: what is read next says why."""
        try:
            await self._call.write(message)
        except (grpc.aio.AioRpcError, grpc.aio.InternalError, asyncio.InvalidStateError):
            self._cut = True

    def _take(self, response: RecallDuringResponse) -> None:
        match response.WhichOneof("event"):
            case "hit":
                self._take_hit(response.hit)
            case "retracted":
                self._take_back(response.retracted)
            case "watermark":
                seq = response.watermark.seq
                self._expect(seq >= self._marked, f"a watermark of {seq} after {self._marked}")
                self._marked = seq

    def _take_hit(self, found: HitFound) -> None:
        name = found.hit.memory.name
        self.hits += 1
        self._expect(is_of(name, self._user), f"{name} was sent")
        self._expect(name not in self._held, f"{name} was sent twice")
        self._expect(name not in self._gone, f"{name} was sent after it was taken back for good")
        self._expect(self.hits <= MAX_HITS, f"{self.hits} memories of at most {MAX_HITS}")
        left = self._granted - self.hits
        self._expect(0 <= found.remaining_credit <= left, f"a credit of {found.remaining_credit}, {left} are left")
        self._held.add(name)

    def _take_back(self, gone: HitRetracted) -> None:
        self.retracted += 1
        self._expect(gone.memory in self._held, f"{gone.memory} was taken back and not held")
        self._held.discard(gone.memory)
        if gone.reason != RetractionReason.RETRACTION_REASON_UPDATED:
            self._gone.add(gone.memory)

    def _expect_totals(self, totals: GenerationFinished) -> None:
        told, sent = (totals.hits_sent, totals.retracted), (self.hits, self.retracted)
        self._expect(told == sent, f"the totals are {told}, what was sent is {sent}")

    def _expect(self, holds: bool, promise: str) -> None:
        self._soak.expect(holds, f"raw generation of {self._user!r}: {promise}")
