"""What is counted while the process runs. Counting is a fifth of a microsecond: plain numbers that one thread raises,
and that any thread may read for whoever shows them."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Bounds for what a caller waits for: from an empty call to a generation."""


class Histogram:
    """How many values were at most each of the bounds: `counts[i]` those above the bound before, the last one those
    above all of them; and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...] = SECONDS) -> None:
        """`bounds` rise."""
        self.bounds, self.counts, self.total = bounds, [0] * (len(bounds) + 1), 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Calls:
    """Calls of one kind: how they ended, how long they took in seconds, and how many things they were about."""

    __slots__ = ("ended", "items", "seconds")

    def __init__(self, *outcomes: str) -> None:
        """`outcomes` are those that are shown before the first of them."""
        self.ended, self.seconds, self.items = dict.fromkeys(outcomes, 0), Histogram(), 0

    def note(self, outcome: str, seconds: float, items: int = 1) -> None:
        self.ended[outcome] = self.ended.get(outcome, 0) + 1
        self.seconds.observe(seconds)
        self.items += items
