"""How long the caller of this task still waits for its answer."""

from __future__ import annotations

import time
from contextvars import ContextVar

# Kept back of the caller's time, for putting an answer together and sending it ...
_MARGIN = 0.05
# ... but never more than this part of it.
_MARGIN_SHARE = 0.25

_until: ContextVar[float | None] = ContextVar("caller_waits_until", default=None)


def expect_answer_within(seconds: float | None) -> None:
    """The caller gives up after so long; None means never. Holds for this task and those that it starts."""
    _until.set(None if seconds is None else time.monotonic() + seconds)


def seconds_left() -> float | None:
    """Until the caller gives up, 0 when that is past; None when it does not."""
    until = _until.get()
    return None if until is None else max(0.0, until - time.monotonic())


def seconds_to_spend() -> float | None:
    """What may be waited for others, so that an answer still reaches the caller; None when it waits for ever."""
    left = seconds_left()
    return None if left is None else max(left - _MARGIN, left * (1 - _MARGIN_SHARE))
