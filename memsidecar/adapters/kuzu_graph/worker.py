"""The one thread that writes."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Worker:
    """Runs jobs one after the other, in the order they came; `on_idle` after each `idle_seconds` without a job."""

    def __init__(self, name: str, idle_seconds: float, on_idle: Callable[[], None]) -> None:
        self._jobs: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._idle_seconds = idle_seconds
        self._on_idle = on_idle
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """The job's future. Cancelling it before its turn drops the job; afterwards the job still finishes."""
        future: Future[_T] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                answer = job(*args, **kwargs)
            except BaseException as error:  # belongs to whoever waits for the future
                future.set_exception(error)
            else:
                future.set_result(answer)

        self._jobs.put(call)
        return future

    def stop(self) -> None:
        """Finish what is queued and join the thread."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=self._idle_seconds)
            except queue.Empty:
                self._on_idle()
                continue
            if job is None:
                return
            job()
