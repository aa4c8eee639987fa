"""An Extractor that says what a test has told it to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from memsidecar.domain.claims import Claim, Span
from memsidecar.domain.memory import Kind
from memsidecar.ports.extraction import Extracted, Turn

Reads = Callable[[Turn], Extracted]


def claims(*found: tuple[str, str]) -> Extracted:
    """(attribute, value) of the speaker."""
    return Extracted(tuple(Claim(Kind.FACT, a, v, f"{a} is {v}", Span(0, 1), importance=0.8) for a, v in found))


class ScriptedExtractor:
    """`reads` says what of a turn; `failure` is raised while it is set; calls wait for `gate`."""

    model = "scripted/1"

    def __init__(self, reads: Reads = lambda turn: Extracted()) -> None:
        self.reads = reads
        self.failure: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()
        self.calls: list[list[str]] = []

    async def extract(self, turns: Sequence[Turn]) -> Sequence[Extracted]:
        self.calls.append([turn.text for turn in turns])
        self.asked.set()
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        return [self.reads(turn) for turn in turns]

    async def close(self) -> None: ...
