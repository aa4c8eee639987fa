"""The Embedder over a local model: one thread, shared fairly by everyone who waits."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memsidecar.adapters.local_models.encoder import Encoder
from memsidecar.domain.embeddable import embeddable
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.events import Matrix

_log = logging.getLogger(__name__)

CALL_CHARS = 40
"""What a text costs besides its characters, in characters: otherwise a slice of very short texts grows long."""


class _Job:
    """One call of embed: its texts, the rows so far, and who waits for them."""

    __slots__ = ("missing", "next", "rows", "texts", "waiter")

    def __init__(self, texts: list[str], dimensions: int, waiter: asyncio.Future[Matrix]) -> None:
        self.texts = texts
        self.rows: Matrix = np.empty((len(texts), dimensions), dtype=np.float32)
        self.waiter = waiter
        self.next = 0
        self.missing = len(texts)

    def put(self, position: int, row: Matrix) -> None:
        self.rows[position] = row
        self.missing -= 1
        if not self.missing and not self.waiter.done():
            self.waiter.set_result(self.rows)

    def fail(self, error: ModelUnavailable) -> None:
        if not self.waiter.done():
            self.waiter.set_exception(error)


class LocalEmbedder:
    """Embeds in a thread of its own.

    Texts of all waiting calls go to the model together, a slice at a time, each call in its turn: a query that comes
    while a thousand memories are embedded waits for one slice, not for all of them. A call that is cancelled leaves the
    line.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"embed-{encoder.provider}")
        self._jobs: deque[_Job] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._loaded = False
        self._load_failure: ModelUnavailable | None = None
        self._closed = False

    @property
    def model(self) -> str:
        return self._encoder.model

    @property
    def dimensions(self) -> int:
        return self._encoder.dimensions

    @property
    def max_chars(self) -> int:
        return self._encoder.max_chars

    async def load(self) -> None:
        """Returns when the model is in memory; the second time at once.

        Raises ModelUnavailable with what to do about it; so does every `embed` after that, until the process restarts.
        """
        if self._closed:
            raise self._is_closed()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._load)

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """See the port. A text that the model fails on fails the call that brought it, and no other."""
        if self._closed:
            raise self._is_closed()
        accepted = embeddable(texts, self.max_chars)
        if not accepted:
            return np.empty((0, self.dimensions), dtype=np.float32)
        loop = asyncio.get_running_loop()
        job = _Job(accepted, self.dimensions, loop.create_future())
        self._jobs.append(job)
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._work())
        return await job.waiter

    async def close(self) -> None:
        """Waits for the slice in the model, fails what waits behind it, and ends the thread."""
        self._closed = True
        self._fail_all(self._is_closed())
        if self._worker is not None and not self._worker.done():
            await asyncio.wait([self._worker])
        self._thread.shutdown()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while slice_ := self._next_slice():
            try:
                rows, failures = await loop.run_in_executor(
                    self._thread, self._encode, [job.texts[position] for job, position in slice_]
                )
            except ModelUnavailable as error:
                for job, _ in slice_:
                    job.fail(error)
                self._fail_all(error)
                return
            for row, (job, position) in enumerate(slice_):
                if row in failures:
                    job.fail(failures[row])
                else:
                    job.put(position, rows[row])

    def _next_slice(self) -> list[tuple[_Job, int]]:
        """One text of each job in turn, until the slice is full. Empty when nobody waits."""
        slice_: list[tuple[_Job, int]] = []
        room = self._encoder.slice_chars
        while self._jobs and (room > 0 or not slice_):
            job = self._jobs.popleft()
            if job.waiter.done():
                continue
            slice_.append((job, job.next))
            room -= len(job.texts[job.next]) + CALL_CHARS
            job.next += 1
            if job.next < len(job.texts):
                self._jobs.append(job)
        return slice_

    def _fail_all(self, error: ModelUnavailable) -> None:
        while self._jobs:
            self._jobs.popleft().fail(error)

    def _is_closed(self) -> ModelUnavailable:
        return ModelUnavailable(self._encoder.provider, "is closed")

    # Below: in the thread.

    def _load(self) -> None:
        if self._loaded:
            return
        if self._load_failure is not None:
            raise self._load_failure.with_traceback(None)
        started = time.perf_counter()
        try:
            self._encoder.load()
        except ModelUnavailable as error:
            self._load_failure = error
            raise
        self._loaded = True
        _log.info("loaded %s in %.2f s", self._encoder.model, time.perf_counter() - started)

    def _encode(self, texts: list[str]) -> tuple[Matrix, dict[int, ModelUnavailable]]:
        """The rows, and which of them are missing because the model failed on their text."""
        self._load()
        try:
            return self._checked(texts), {}
        except Exception as cause:  # whatever a model may raise: the texts then go one by one, each failure on its own
            if len(texts) == 1:
                return np.empty((1, self.dimensions), dtype=np.float32), {0: self._failed(cause)}
        rows = np.empty((len(texts), self.dimensions), dtype=np.float32)
        failures: dict[int, ModelUnavailable] = {}
        for position, text in enumerate(texts):
            try:
                rows[position] = self._checked([text])[0]
            except Exception as cause:  # the same, with the cause kept in the error
                failures[position] = self._failed(cause)
        return rows, failures

    def _checked(self, texts: list[str]) -> Matrix:
        rows = self._encoder.encode(texts)
        if rows.shape != (len(texts), self.dimensions) or not np.isfinite(rows).all():
            raise ValueError(f"the model gave {rows.shape} for {len(texts)} texts, or a number that is not finite")
        return rows

    def _failed(self, cause: Exception) -> ModelUnavailable:
        error = ModelUnavailable(self._encoder.provider, "failed on this text", retry_after=30.0)
        error.__cause__ = cause
        return error
