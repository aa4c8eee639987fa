"""Ids in the layout of UUID version 7 (RFC 9562).

Not uuid.uuid7, which only Python 3.14 has and which reads the machine's clock: here the clock is given, so that tests
can pin it.
"""

from __future__ import annotations

import threading
from os import urandom

from memsidecar.ports.runtime import Clock

_MAX_MILLISECONDS = (1 << 48) - 1
_COUNTER_BITS = 12
# A new millisecond starts in the lower half, which leaves room to count up in the same millisecond.
_START_BITS = _COUNTER_BITS - 1
# Asking the system for each id would hand the interpreter to another thread each time, and wait to have it back.
_RANDOM_AT_ONCE = 4096


class TimeOrderedIds:
    """36 lower-case characters. Each sorts after every earlier one of this object, even when the clock steps back.

    Between processes the order is that of their clocks, to the millisecond. Threads may share one.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._millisecond = -1
        self._counter = 0
        self._random = b""
        self._used = 0

    def new(self) -> str:
        now = min(max(self._clock.now() // 1000, 0), _MAX_MILLISECONDS)
        with self._lock:
            if now > self._millisecond:
                self._millisecond = now
                self._counter = self._randbits(_START_BITS)
            else:  # the same millisecond, or the clock has stepped back: count on
                self._counter += 1
                if self._counter >> _COUNTER_BITS:
                    self._millisecond += 1
                    self._counter = 0
            head = self._millisecond << 16 | 7 << 12 | self._counter
            tail = 2 << 62 | self._randbits(62)
        digits = f"{head:016x}{tail:016x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def _randbits(self, count: int) -> int:
        """So many random bits, at most 64; each byte of the system's is used once."""
        if self._used == len(self._random):
            self._random, self._used = urandom(_RANDOM_AT_ONCE), 0
        start, self._used = self._used, self._used + 8
        return int.from_bytes(self._random[start : self._used], "big") >> (64 - count)
