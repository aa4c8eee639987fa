"""What a driver's error means: for callers, and, more exactly, for the log. Never in the driver's words, which can
repeat the URL with its password."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Iterator

from redis import exceptions as driver

from memsidecar.domain.errors import StoreFull, StoreUnavailable

# asyncio joins the failures of a name's several addresses into one text.
_ERRNO = re.compile(r"\[Errno (\d+)\]")


def translated(error: BaseException, problem: str) -> StoreFull | StoreUnavailable:
    """The error to raise; `problem` is what callers are told when the driver's error says nothing more special."""
    # A refused login comes wrapped in a ConnectionError. Servers before 7 wrap what goes wrong inside a script in a
    # text of their own, so the beginning of it does not tell.
    causes = list(_explicit(error))
    text = _text(causes)
    if _is_login(causes, text):
        problem = "refuses the configured user or password"
    elif isinstance(error, driver.NoPermissionError) or "NOPERM" in text:
        problem = "does not permit the configured user what sessions need"
    elif isinstance(error, driver.OutOfMemoryError) or "OOM command" in text or "MISCONF" in text:
        return StoreFull("sessions")
    elif isinstance(error, driver.ResponseError):
        problem = "answers with an error"
    return StoreUnavailable("sessions", problem, reason=kind_of(error))


def kind_of(error: BaseException) -> str:
    """The kind of failure in a few words, of those that an operator acts upon in different ways."""
    causes = list(_all(error))
    text = _text(causes)
    if _is_login(causes, text):
        return "the user or the password is refused"
    if any(isinstance(cause, driver.NoPermissionError) for cause in causes) or "NOPERM" in text:
        return "the user may not do what sessions need"
    if "DB index is out of range" in text or "Invalid Database" in text:
        return "there is no database of that number"
    if any(isinstance(cause, driver.RedisClusterException | driver.ClusterError) for cause in causes):
        return _of_system(causes) or "it is no cluster that can be used"
    answers = any(isinstance(cause, driver.ResponseError) for cause in causes)
    return _of_system(causes) or ("it answers with an error" if answers else "the connection breaks")


def _of_system(causes: list[BaseException]) -> str:
    """What the operating system or TLS says; "" when they say nothing."""
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"TLS: the certificate is refused ({cause.verify_message})"
        if isinstance(cause, ssl.SSLError):
            return f"TLS: {(cause.reason or 'failed').replace('_', ' ').lower()}"
        if isinstance(cause, socket.gaierror):
            return "the host's name is not found"
    for cause in causes:
        if isinstance(cause, TimeoutError | driver.TimeoutError):
            return "timed out"
        if isinstance(cause, OSError):
            found = _ERRNO.search(str(cause))
            if number := cause.errno or (found and int(found[1])):
                return os.strerror(number).lower()
    return ""


def _is_login(causes: list[BaseException], text: str) -> bool:
    return any(isinstance(cause, driver.AuthenticationError) for cause in causes) or "NOAUTH" in text


def _text(causes: list[BaseException]) -> str:
    return " ".join(str(cause) for cause in causes if isinstance(cause, driver.RedisError))


def _explicit(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__


def _all(error: BaseException) -> Iterator[BaseException]:
    """Those as well that the driver only raised its own error in the handling of."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
