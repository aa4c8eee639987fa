"""The machine's clock."""

from __future__ import annotations

import time


class SystemClock:
    """See ports/runtime.py."""

    def now(self) -> int:
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        return time.monotonic()
