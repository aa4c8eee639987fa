"""A stretch of time that a text names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """`start` <= t < `end` in microseconds since 1970 UTC. None is an open side: "before May" has no start, "after next
    week" no end; at least one is there. `text_start` and `text_end` (half-open, code points) are the words' place.

    `vague`: the words name no exact range ("two months ago", "early March"). `slack`, microseconds, is how far outside
    the range something may lie that is still meant: "two months ago" is one day with half a month around it.
    """

    start: int | None
    end: int | None
    text_start: int
    text_end: int
    vague: bool = False
    slack: int = 0
