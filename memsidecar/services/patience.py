"""How long the caller of this task still waits for its answer."""

from __future__ import annotations

import time
from contextvars import ContextVar

_until: ContextVar[float | None] = ContextVar("caller_waits_until", default=None)


def expect_answer_within(seconds: float | None) -> None:
    """The caller gives up after so long; None means never. Holds for this task and those that it starts."""
    _until.set(None if seconds is None else time.monotonic() + seconds)


def seconds_left() -> float | None:
    """Until the caller gives up, 0 when that is past; None when it does not."""
    until = _until.get()
    return None if until is None else max(0.0, until - time.monotonic())
