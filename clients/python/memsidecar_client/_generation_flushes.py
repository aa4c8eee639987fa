"""Flushes that wait until their text was considered."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from memsidecar_client._generation_values import Watermark


@dataclass(slots=True)
class _Flush:
    """`target` is the seq that has to be considered, of the text after so many `rewinds` or more."""

    target: int
    rewinds: int
    considered: asyncio.Future[Watermark]


class Flushes:
    """In the order in which they were asked for; empty ones are false."""

    def __init__(self) -> None:
        self._waiting: list[_Flush] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, target: int, rewinds: int) -> asyncio.Future[Watermark]:
        considered: asyncio.Future[Watermark] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Flush(target, rewinds, considered))
        return considered

    def rewound(self, seq: int) -> None:
        for flush in self._waiting:
            flush.target = min(flush.target, seq)

    def considered(self, mark: Watermark, rewinds: int, *, crossed: bool) -> None:
        """`crossed`: the mark is about the text before a rewind that was sent since."""
        for flush in self._waiting:
            # Text up to the target stands since the flush: it is the same before a rewind and after it.
            if flush.rewinds <= rewinds and flush.target <= mark.seq and not flush.considered.done():
                flush.considered.set_result(replace(mark, seq=flush.target) if crossed else mark)
        self._waiting = [flush for flush in self._waiting if not flush.considered.done()]

    def unanswered(self) -> list[asyncio.Future[Watermark]]:
        return [flush.considered for flush in self._waiting]
