"""Finds what holds an event loop: the processor time of every callback, and where the slow ones spend it.

Processor time of the loop's thread, not time on the clock: a machine shared with others stops a thread for longer than
the limit without anybody's fault.
"""

from __future__ import annotations

import asyncio
import asyncio.events
import gc
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

# The loop is never blocked longer, on a core of its own.
LIMIT_SECONDS = 0.005
_SAMPLE_EVERY = 0.05
_ROOT = Path(__file__).parents[1]
_LOOK_EVERY = 0.002
# The loop's own way into a callback; no public one sees them all.
_HANDLE: Any = asyncio.events.Handle


@dataclass(slots=True)
class Slow:
    """A callback over the limit. `collecting` is the part of it that Python's collector took; `stack` is where it was
    when it was seen last, innermost frame at the end."""

    seconds: float
    collecting: float
    callback: str
    stack: list[str] = field(default_factory=list)


class LoopMonitor:
    """Between `start` and `stop`, collects the callbacks of the loop of the calling thread that are over the limit.

    `slowdown` is how much longer the same work took on the loop meanwhile than just before: two hyperthreads share a
    core, and then processor time is not what it is alone.
    """

    def __init__(self, limit: float = LIMIT_SECONDS) -> None:
        self.slow: list[Slow] = []
        self.callbacks = 0
        self._limit = limit
        self._began = 0.0
        self._collecting = self._collection_began = 0.0
        self._stack: list[str] = []
        self._stop = threading.Event()
        self._run: Callable[[asyncio.Handle], None] | None = None
        self._alone = 0.0
        self._samples: list[float] = []
        self._next: asyncio.TimerHandle | None = None

    @property
    def slowdown(self) -> float:
        return max(1.0, median(self._samples) / self._alone) if self._samples else 1.0

    def start(self) -> None:
        self._loop_thread = threading.get_ident()
        self._clock = time.pthread_getcpuclockid(self._loop_thread)
        run = self._run = _HANDLE._run
        watched = self._loop_thread

        def measured(handle: asyncio.Handle) -> None:
            if threading.get_ident() != watched:
                run(handle)
                return
            began = self._began = time.thread_time()
            try:
                run(handle)
            finally:
                taken = time.thread_time() - began
                self._began = 0.0
                self.callbacks += 1
                if taken > self._limit:
                    self.slow.append(Slow(taken, self._collecting, _name(handle), self._stack))
                self._stack, self._collecting = [], 0.0

        self._alone = min(_reference() for _ in range(50))
        self._sample()
        _HANDLE._run = measured
        gc.callbacks.append(self._collector)
        self._looking = threading.Thread(target=self._look, name="loop-monitor", daemon=True)
        self._looking.start()

    def stop(self) -> None:
        self._stop.set()
        if self._next is not None:
            self._next.cancel()
        self._looking.join()
        gc.callbacks.remove(self._collector)
        _HANDLE._run = self._run

    def _sample(self) -> None:
        self._samples.append(_reference())
        self._next = asyncio.get_running_loop().call_later(_SAMPLE_EVERY, self._sample)

    def _collector(self, phase: str, _: object) -> None:
        if threading.get_ident() == self._loop_thread:
            if phase == "start":
                self._collection_began = time.thread_time()
            else:
                self._collecting += time.thread_time() - self._collection_began

    def _look(self) -> None:
        while not self._stop.wait(_LOOK_EVERY):
            began = self._began
            if began and time.clock_gettime(self._clock) - began > self._limit * 0.8:
                frame = sys._current_frames().get(self._loop_thread)
                if began == self._began:
                    self._stack = _described(frame)


def _reference() -> float:
    """Processor seconds of some work that is always the same, about a quarter of a millisecond of it."""
    began = time.thread_time()
    table = {str(number): [number] for number in range(1_000)}
    sum(len(key) + value[0] for key, value in table.items())
    return time.thread_time() - began


def _name(handle: Any) -> str:
    callback = getattr(handle, "_callback", None)
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return f"{task.get_name()}: {getattr(task.get_coro(), '__qualname__', '?')}"
    return getattr(callback, "__qualname__", repr(callback))


def _described(frame: FrameType | None) -> list[str]:
    frames = [f"{f.filename.removeprefix(f'{_ROOT}/')}:{f.lineno} {f.name}" for f in traceback.extract_stack(frame)]
    return [line for line in frames if "asyncio" not in line and "loop_monitor" not in line][-8:]
