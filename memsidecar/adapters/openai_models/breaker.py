"""Leaves a server alone that keeps failing, and lets one request at a time find out whether it is back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class CircuitOpenError(Exception):
    """The call was not made. `retry_after` seconds remain until one may try."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"left alone for another {retry_after:.1f} s")
        self.retry_after = retry_after


class CircuitBreaker:
    """Closed: calls pass. Open, after `failures` in a row: none does for `cooldown` seconds. Then one call passes: its
    success closes the breaker, its failure opens it again. For one event loop; it never waits.
    """

    def __init__(self, failures: int, cooldown: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = failures
        self._cooldown = cooldown
        self._clock = clock
        self._failed = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def is_open(self) -> bool:
        return self._opened_at is not None

    @contextmanager
    def attempt(self, counts: tuple[type[BaseException], ...]) -> Iterator[None]:
        """Around one call. Exceptions of the types in `counts` are failures; any other, a cancellation for one, says
        nothing about the server. Raises CircuitOpenError instead of running the body.
        """
        probe = self._enter()
        try:
            yield
        except counts:
            self._failed += 1
            if probe or self._failed >= self._limit:
                self._opened_at = self._clock()
            raise
        else:
            self._failed = 0
            self._opened_at = None
        finally:
            if probe:
                self._probing = False

    def _enter(self) -> bool:
        """True when this call is the probe."""
        if self._opened_at is None:
            return False
        remaining = self._opened_at + self._cooldown - self._clock()
        if remaining > 0 or self._probing:
            raise CircuitOpenError(max(remaining, 1.0))
        self._probing = True
        return True
