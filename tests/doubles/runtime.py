"""A clock that stands still until told otherwise, and ids that count."""

from __future__ import annotations


class PinnedClock:
    """`time` is what now() gives, in microseconds."""

    def __init__(self, time: int = 1_764_000_000_000_000) -> None:
        self.time = time
        self.seconds = 0.0

    def now(self) -> int:
        return self.time

    def monotonic(self) -> float:
        return self.seconds


class CountedIds:
    """m000001, m000002 ..."""

    def __init__(self) -> None:
        self._last = 0

    def new(self) -> str:
        self._last += 1
        return f"m{self._last:06}"
