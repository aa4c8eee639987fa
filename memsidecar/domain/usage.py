"""How a memory is used, beside what it says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Access:
    """How often a memory was recalled, and when last (microseconds)."""

    count: int
    last: int

    def plus(self, other: Access | None) -> Access:
        return self if other is None else Access(self.count + other.count, max(self.last, other.last))


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reader is told of a memory's use. `last_access` is None when it was never recalled."""

    access_count: int = 0
    last_access: int | None = None
    usefulness: float = 0.0


NO_USAGE = Usage()
