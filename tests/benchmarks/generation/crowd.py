"""Many generations at once, as models write: a few characters at a time, evenly, each stream on its own beat.

`python -m tests.benchmarks.generation.crowd '{"target": ..., "users": [...], ...}'` takes the fields of `Crowd`.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import grpc

from tests.benchmarks.generation.calls import (
    PLENTY,
    PLENTY_OF_TOKENS,
    delta,
    finish,
    follow,
    has_begun,
    sentences,
    start,
)
from tests.benchmarks.generation.process import fields, tell, told_to_go

_CHARACTERS = 4
"""Of a delta: a token's."""
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Crowd:
    """`streams` of stream number `first` and those after it, of `all` there are; each writes `rate` deltas a second,
    and every `per_sentence`-th ends a sentence."""

    target: str
    users: Sequence[str]
    first: int
    streams: int
    all: int
    rate: float
    per_sentence: int
    seconds: float


class _Member:
    def __init__(self, call: Any, crowd: Crowd, number: int) -> None:
        self._call, self._crowd, self._number = call, crowd, number
        self._waiting: dict[int, float] = {}
        self._answered_all = asyncio.Event()
        self.taken: list[float] = []
        self.late: list[float] = []
        self.events: dict[str, int] = {}
        self.with_hits = 0

    async def write(self, began: float) -> None:
        crowd = self._crowd
        # Sentences of all streams end at different moments, and so do their deltas.
        share = self._number / crowd.all
        pieces = _pieces(self._number, crowd.per_sentence, int(share * crowd.per_sentence))
        for seq, piece in enumerate(pieces, 1):
            due = began + (seq - 1 + share) / crowd.rate
            if due >= began + crowd.seconds:
                break
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            now = time.perf_counter()
            if piece.endswith("\n"):
                self._waiting[seq] = now
                self.late.append(now - due)
            await self._call.write(delta(seq, piece))
        if self._waiting:
            self._answered_all.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._answered_all.wait(), _PATIENCE)
        await self._call.write(finish())
        await self._call.done_writing()

    async def read(self) -> None:
        while (response := await self._call.read()) is not grpc.aio.EOF:
            event = response.WhichOneof("event")
            self.events[event] = self.events.get(event, 0) + 1
            if event == "hit":
                self.with_hits += self._answered(response.hit.trigger_seq)
            elif event == "watermark":
                self._answered(response.watermark.seq)

    def _answered(self, seq: int) -> int:
        """Whatever waits up to there."""
        now = time.perf_counter()
        answered = [waiting for waiting in self._waiting if waiting <= seq]
        self.taken += [now - self._waiting.pop(waiting) for waiting in answered]
        if not self._waiting:
            self._answered_all.set()
        return len(answered)

    @property
    def unanswered(self) -> int:
        return len(self._waiting)


def _pieces(number: int, per_sentence: int, phase: int) -> Iterator[str]:
    """A text in pieces, of which every `per_sentence`-th ends a sentence, the first one after `phase` fewer."""
    words = (text.removesuffix("\n") for text in islice(sentences(), number * 37 % 500, None))
    length = per_sentence * _CHARACTERS
    first = True
    text = ""
    while True:
        while len(text) < length:
            text += next(words) + " "
        sentence, text = text[: length - 1] + "\n", text[length:]
        sentence = sentence[phase * _CHARACTERS if first else 0 :]
        first = False
        yield from (sentence[i : i + _CHARACTERS] for i in range(0, len(sentence), _CHARACTERS))


async def _gather(crowd: Crowd) -> None:
    async with grpc.aio.insecure_channel(crowd.target) as channel:
        members = []
        for number in range(crowd.first, crowd.first + crowd.streams):
            call = follow(channel)
            user = crowd.users[number % len(crowd.users)]
            await call.write(
                start(
                    user,
                    # Whatever is found is sent: made-up words are hardly ever what a text is about.
                    min_confidence=0.0,
                    initial_credit=PLENTY,
                    max_total_hits=PLENTY,
                    max_total_tokens=PLENTY_OF_TOKENS,
                )
            )
            await has_begun(call)
            members.append(_Member(call, crowd, number))
        tell(open=len(members))
        await told_to_go()
        gc.collect()
        gc.disable()
        began = time.perf_counter() + 0.2
        await asyncio.gather(*(m.write(began) for m in members), *(m.read() for m in members))
    events: dict[str, int] = {}
    for member in members:
        for event, count in member.events.items():
            events[event] = events.get(event, 0) + count
    tell(
        taken=[taken for m in members for taken in m.taken],
        late=[late for m in members for late in m.late],
        unanswered=sum(m.unanswered for m in members),
        with_hits=sum(m.with_hits for m in members),
        events=events,
        cpu=time.process_time(),
    )


if __name__ == "__main__":
    asyncio.run(_gather(Crowd(**fields())))
