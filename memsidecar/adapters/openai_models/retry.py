"""Which failures are worth another try, and how long to wait before it."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Callable
from typing import Protocol

import openai

RETRIED = (openai.APIConnectionError, openai.RateLimitError, openai.InternalServerError)
"""Timeouts are connection errors; InternalServerError is any 5xx."""


class Waits(Protocol):
    """What settings say of the waits between tries, in seconds."""

    @property
    def backoff(self) -> float: ...

    @property
    def max_wait(self) -> float: ...


def wait_before(attempt: int, failure: Exception, settings: Waits, jitter: Callable[[], float]) -> float:
    """Seconds to wait before try `attempt` (the first retry is 2): the server's Retry-After, else full jitter."""
    asked = _retry_after(failure)
    if asked is not None:
        return asked
    return jitter() * min(settings.max_wait, settings.backoff * 2.0 ** (attempt - 2))


def problem_of(failure: openai.APIError, section: str = "embedding") -> str:
    """What to tell the caller. Never the server's words: they may quote the text, or a part of the key.

    `section` is that of the configuration to look into.
    """
    if isinstance(failure, openai.APITimeoutError):
        return "does not answer in time"
    if isinstance(failure, openai.APIConnectionError):
        return "cannot be reached"
    if isinstance(failure, openai.APIStatusError):
        if failure.status_code in (401, 403):
            return f"refuses the API key (HTTP {failure.status_code}); check {section}.api_key"
        if failure.status_code == 404:
            return f"does not know the model or the path (HTTP 404); check {section}.model and {section}.base_url"
        if failure.status_code == 429:
            return "asks for fewer requests (HTTP 429)"
        return f"refuses (HTTP {failure.status_code})"
    return "failed"


def _retry_after(failure: Exception) -> float | None:
    if not isinstance(failure, openai.APIStatusError):
        return None
    value = failure.response.headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, LookupError, OverflowError):
            return None
    # "inf" and "nan" are numbers to Python, and no time that can be told to a caller.
    return max(0.0, seconds) if math.isfinite(seconds) else None
