"""Why the server ended a call into which messages are streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import grpc
import grpc.aio

NOT_SENT = (asyncio.InvalidStateError, grpc.aio.AioRpcError, grpc.aio.InternalError)
"""What sending raises when the call has ended already."""

_NOT_SENT_DETAILS = "Internal error from Core"
"""How grpc.aio words it that it could not send; the server's status carries never these words."""


class Ending:
    """Keeps the status the server ended a call with.

    A message that can no longer be sent gives the call another one, INTERNAL, also over the one that has come.
    """

    def __init__(self) -> None:
        self._status: grpc.aio.AioRpcError | None = None

    def keep(self, call: grpc.aio.Call) -> None:
        """To be told of the call before anything is sent."""
        # grpc.aio calls this once for each status the call takes.
        call.add_done_callback(self._keep)

    def of(self, error: grpc.aio.AioRpcError) -> grpc.aio.AioRpcError:
        """What the server said, instead of what the call raises; the latter when the server has said nothing."""
        return self._status or error

    def _keep(self, call: Any) -> None:
        code = now(call.code())
        if code is grpc.StatusCode.OK or not_sent(code, now(call.details())):
            return
        self._status = grpc.aio.AioRpcError(
            code,
            now(call.initial_metadata()),
            now(call.trailing_metadata()),
            now(call.details()),
            now(call.debug_error_string()),
        )


def not_sent(code: grpc.StatusCode, details: str | None) -> bool:
    """Whether a status is grpc.aio's own, of a message that it could not send."""
    return code is grpc.StatusCode.INTERNAL and details == _NOT_SENT_DETAILS


def let_go(call: Any) -> None:
    """Cancels a call, also one that grpc.aio takes for ended because it could not send, while the server's status is
    still behind messages nobody read. The task that waits for that status would stay as long as the event loop
    (grpc/grpc#41875)."""
    if not call.cancel():
        # There is no public way: `cancel` looks at the status that grpc.aio made up.
        call._cython_call.cancel("")


def now(told: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine that has nothing to wait for gives."""
    try:
        told.send(None)
    except StopIteration as given:
        return given.value
    told.close()
    raise RuntimeError("a call that has ended keeps its status back")
