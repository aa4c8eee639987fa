"""A lock whose waiter gets the next turn."""

from __future__ import annotations

import threading
from types import TracebackType


class SliceLock:
    """Mutual exclusion for a thread that works in slices beside one that must not wait for more than one slice.

    A plain lock is not fair: whoever releases it can take it again before the waiter wakes. Here a waiter holds
    the turn, so the thread that has just released queues behind it. Not reentrant.
    """

    __slots__ = ("_lock", "_turn")

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._turn:
            self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
