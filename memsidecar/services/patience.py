"""How long the caller of this task still waits for its answer."""

from __future__ import annotations

import time
from contextvars import ContextVar

_until: ContextVar[float | None] = ContextVar("caller_waits_until", default=None)


def expect_answer_within(seconds: float | None) -> None:
    """The caller gives up after so long; None means never. Holds for this task and those that it starts."""
    _until.set(None if seconds is None else time.monotonic() + seconds)


# Kept back of the caller's time, for putting an answer together and sending it ...
MARGIN = 0.05
# ... but never more than this part of it.
MARGIN_SHARE = 0.25


def seconds_for_sources() -> float | None:
    """Until the sources of an answer must have answered; None when the caller waits for ever."""
    left = seconds_left()
    return None if left is None else max(left - MARGIN, left * (1 - MARGIN_SHARE))


def seconds_left() -> float | None:
    """Until the caller gives up, 0 when that is past; None when it does not."""
    until = _until.get()
    return None if until is None else max(0.0, until - time.monotonic())
