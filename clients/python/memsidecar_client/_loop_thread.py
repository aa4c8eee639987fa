"""The thread whose event loop runs the blocking client's calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """One event loop in one daemon thread, shared by all blocking clients of the process.

    Shared, because grpc.aio polls for all loops of a process at one place and wakes them all: a loop a client would
    make every one of them slower. The thread starts with the first client and is joined when the last one is closed.
    """

    _lock = threading.Lock()
    _current: LoopThread | None = None

    def __init__(self) -> None:
        self._users = 0
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_report)
        self._thread = threading.Thread(target=self._loop.run_forever, name="memsidecar-client", daemon=True)
        self._thread.start()

    @classmethod
    def acquire(cls) -> LoopThread:
        """The running thread. Every acquire needs one release."""
        with cls._lock:
            if cls._current is None:
                cls._current = LoopThread()
            cls._current._users += 1
            return cls._current

    def release(self) -> None:
        """Joins the thread when nobody uses it any more."""
        with LoopThread._lock:
            self._users -= 1
            if self._users:
                return
            LoopThread._current = None
        self.run(_cancel_all_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result. An interrupt of the waiting thread, Ctrl-C for example, cancels the coroutine."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("a blocking memsidecar client cannot be used inside its own event loop")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()


async def _cancel_all_others() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # grpc.aio wakes every loop of the process for an event of any; the late ones find nothing to read. It is harmless
    # (grpc/grpc#25364) and would fill the log of an application that runs grpc.aio in a loop of its own.
    if isinstance(context.get("exception"), BlockingIOError):
        return
    loop.default_exception_handler(context)
