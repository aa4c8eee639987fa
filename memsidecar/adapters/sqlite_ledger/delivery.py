"""Results on their way from a thread to the event loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, TypeAlias

_logger = logging.getLogger(__name__)

# A future of the loop with its result, or with the exception that it is to raise.
Outcome: TypeAlias = tuple["asyncio.Future[Any]", Any]


def deliver(loop: asyncio.AbstractEventLoop, outcomes: Sequence[Outcome]) -> None:
    """Wake the loop once for all of them. A future that was cancelled meanwhile is passed over."""
    try:
        loop.call_soon_threadsafe(_settle, outcomes)
    except RuntimeError:
        # The loop is closed, so nobody can be waiting.
        _logger.warning("%d results of the ledger came after the event loop had ended", len(outcomes))


def _settle(outcomes: Sequence[Outcome]) -> None:
    for future, result in outcomes:
        if future.done():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
