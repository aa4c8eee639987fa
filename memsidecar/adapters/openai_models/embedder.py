"""The Embedder over an OpenAI-compatible server."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import numpy as np
import openai

from memsidecar.adapters.openai_models.breaker import CircuitBreaker, CircuitOpenError
from memsidecar.adapters.openai_models.response import BadResponseError, rows_of
from memsidecar.adapters.openai_models.retry import RETRIED, problem_of, wait_before
from memsidecar.adapters.openai_models.settings import KNOWN_DIMENSIONS, OpenAISettings
from memsidecar.adapters.openai_models.usage import Usage
from memsidecar.domain.embeddable import embeddable
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.events import Matrix

_log = logging.getLogger(__name__)

REFUSALS = (400, 413, 422)
"""What servers say when one text of a request is to blame."""

PERMANENT = 30.0
"""Seconds to suggest for a retry of what somebody has to repair first."""


class OpenAIEmbedder:
    """Sends requests within the server's limits, one after the other, and puts the rows where their texts are.

    All or nothing: a request that cannot be completed fails the whole call, so that no text ever gets another one's
    row. When the server refuses a request (400, 413, 422), the request is halved until the text to blame is found; the
    error then has its position in `metadata["position"]`, and the caller can ask again without it.
    """

    def __init__(
        self,
        settings: OpenAISettings,
        *,
        breaker: CircuitBreaker | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        # The package logs whole requests at DEBUG, and they hold people's memories.
        package_log = logging.getLogger("openai")
        package_log.setLevel(max(package_log.level, logging.INFO))
        self._settings = settings
        # The package's own retries wait 75 to 100 % of a fixed step, so that processes retry in a crowd, obey a
        # Retry-After of two minutes while a caller waits, and are not seen by the breaker.
        self._client = openai.AsyncOpenAI(
            api_key=settings.api_key or "none",
            base_url=settings.base_url,
            timeout=settings.timeout,
            max_retries=0,
        )
        self._breaker = breaker or CircuitBreaker(settings.breaker_failures, settings.breaker_cooldown)
        self._sleep = sleep
        self._jitter = jitter
        self._optional: dict[str, Any] = {"dimensions": settings.dimensions} if settings.dimensions else {}
        self._dimensions = settings.dimensions or KNOWN_DIMENSIONS.get(settings.model)
        self._closed = False
        self.usage = Usage()

    @property
    def left_alone(self) -> bool:
        """Whether the server keeps failing and is asked nothing for a while."""
        return self._breaker.is_open

    @property
    def model(self) -> str:
        size = self._settings.dimensions
        return f"openai/{self._settings.model}" + (f"@{size}" if size else "")

    @property
    def dimensions(self) -> int:
        """0 until the server's first answer, if neither the settings nor the model's name tells the size."""
        return self._dimensions or 0

    def expect(self, dimensions: int) -> None:
        """Take no other size from the server: that of vectors which are stored already."""
        if self._dimensions is None:
            self._dimensions = dimensions

    @property
    def max_chars(self) -> int:
        return self._settings.max_chars

    async def load(self) -> None:
        """Asks the server for its dimensions, if they are not known. Raises ModelUnavailable."""
        if self._dimensions is None:
            await self.embed(["dimensions"])

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """See the port and the class."""
        if self._closed:
            raise ModelUnavailable(self.model, "is closed")
        accepted = embeddable(texts, self.max_chars)
        if not accepted:
            return np.empty((0, self.dimensions), dtype=np.float32)
        parts = [await self._embed_part(accepted, start, end) for start, end in self._requests(accepted)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    async def close(self) -> None:
        self._closed = True
        await self._client.close()

    def _requests(self, texts: list[str]) -> Iterator[tuple[int, int]]:
        """(start, end) of each request: within the limits for texts and for characters."""
        start = chars = 0
        for position, text in enumerate(texts):
            chars += len(text)
            full = position - start >= self._settings.max_batch or chars > self._settings.max_batch_chars
            if full and position > start:
                yield start, position
                start, chars = position, len(text)
        yield start, len(texts)

    async def _embed_part(self, texts: list[str], start: int, end: int) -> Matrix:
        try:
            return await self._request(texts[start:end])
        except openai.APIStatusError as cause:
            if cause.status_code not in REFUSALS:
                raise self._unavailable(problem_of(cause), PERMANENT) from cause
            if end - start == 1:
                raise self._refused(cause, start, len(texts)) from cause
        middle = (start + end) // 2
        return np.concatenate(
            [await self._embed_part(texts, start, middle), await self._embed_part(texts, middle, end)]
        )

    async def _request(self, texts: list[str]) -> Matrix:
        """One request with its retries. Raises ModelUnavailable, or APIStatusError for what a retry cannot help."""
        tries = 0
        while True:
            tries += 1
            try:
                with self._breaker.attempt(RETRIED):
                    self.usage.calls += 1
                    # Raw, as the package would build an object for each number.
                    answer = await self._client.embeddings.with_raw_response.create(
                        input=texts,
                        model=self._settings.model,
                        encoding_format=self._settings.encoding,
                        **self._optional,
                    )
                rows = rows_of(answer.content, len(texts), self._dimensions, self.usage)
                self._dimensions = rows.shape[1]
                return rows
            except CircuitOpenError as cause:
                raise self._unavailable("keeps failing and is left alone for a while", cause.retry_after) from cause
            except BadResponseError as cause:
                raise self._unavailable(str(cause), PERMANENT) from cause
            except RETRIED as cause:
                wait = wait_before(tries + 1, cause, self._settings, self._jitter)
                if tries >= self._settings.attempts or wait > self._settings.max_wait:
                    raise self._unavailable(problem_of(cause), max(wait, 1.0)) from cause
                _log.info("%s: try %d failed (%s)", self.model, tries, problem_of(cause))
                self.usage.retries += 1
            await self._sleep(wait)

    def _unavailable(self, problem: str, retry_after: float) -> ModelUnavailable:
        return ModelUnavailable(self.model, problem, retry_after)

    def _refused(self, cause: openai.APIStatusError, position: int, texts: int) -> ModelUnavailable:
        error = self._unavailable(f"{problem_of(cause)} for text {position} of {texts}", PERMANENT)
        error.metadata = {**error.metadata, "position": str(position)}
        return error
