"""How a call to a model went."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.measures import Calls

OUTCOMES = ("ok", "unavailable", "cancelled", "failed")


def model_calls() -> Calls:
    return Calls(*OUTCOMES)


@contextmanager
def counted(calls: Calls, items: int) -> Iterator[None]:
    """Around one call about so many texts. One that nobody waited for any longer is cancelled."""
    began = time.perf_counter()
    outcome = "failed"
    try:
        yield
        outcome = "ok"
    except ModelUnavailable:
        outcome = "unavailable"
        raise
    except asyncio.CancelledError:
        outcome = "cancelled"
        raise
    finally:
        calls.note(outcome, time.perf_counter() - began, items)
