"""How a memory is used, beside what it says.

Tuples, because every hit of every recall makes one of each: a frozen dataclass costs four times as much.
"""

from __future__ import annotations

from typing import NamedTuple


class Access(NamedTuple):
    """How often a memory was recalled, and when last (microseconds)."""

    times: int
    last: int

    def plus(self, other: Access | None) -> Access:
        return self if other is None else Access(self.times + other.times, max(self.last, other.last))


class Usage(NamedTuple):
    """What a reader is told of a memory's use. `last_access` is None when it was never recalled."""

    access_count: int = 0
    last_access: int | None = None
    usefulness: float = 0.0


NO_USAGE = Usage()
