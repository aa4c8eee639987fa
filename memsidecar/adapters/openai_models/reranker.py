"""The Reranker over an OpenAI-compatible server, or one with a `/rerank` endpoint."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import openai

from memsidecar.adapters.openai_models.breaker import CircuitBreaker, CircuitOpenError
from memsidecar.adapters.openai_models.ranking_requests import CHAT, RERANK
from memsidecar.adapters.openai_models.response import BadResponseError
from memsidecar.adapters.openai_models.retry import problem_of
from memsidecar.adapters.openai_models.usage import Usage
from memsidecar.domain.embeddable import embeddable
from memsidecar.domain.errors import ModelUnavailable

# Whatever is wrong, the next caller would wait for the same. One that is cancelled says nothing of the server.
_FAILURES = (openai.APIError, BadResponseError, TimeoutError)


@dataclass(frozen=True, slots=True)
class RerankerSettings:
    model: str
    """As the server knows it."""

    ask: Literal["chat", "rerank"] = "chat"
    """Which of the two kinds of request the server takes."""

    api_key: str = field(default="", repr=False)
    """Empty for servers without keys."""

    base_url: str = "https://api.openai.com/v1"

    timeout: float = 2.0
    """Seconds for the one attempt, as a whole: a recall waits for it."""

    max_chars: int = 1_000
    """Of a text; the rest is not shown. 20 texts of so many are some 5,000 tokens."""

    breaker_failures: int = 3
    """Failures in a row after which the server is left alone: each of them has cost a caller the timeout."""

    breaker_cooldown: float = 30.0
    """Seconds to leave it alone before one recall tries again."""


class OpenAIReranker:
    """One request a ranking, without retries: whoever waits has an answer already, and only its order can gain."""

    def __init__(self, settings: RerankerSettings, *, breaker: CircuitBreaker | None = None) -> None:
        # The package logs whole requests at DEBUG, and they hold people's memories.
        package_log = logging.getLogger("openai")
        package_log.setLevel(max(package_log.level, logging.INFO))
        self._settings = settings
        self._request = CHAT if settings.ask == "chat" else RERANK
        self._client = openai.AsyncOpenAI(
            api_key=settings.api_key or "none", base_url=settings.base_url, timeout=settings.timeout, max_retries=0
        )
        self._breaker = breaker or CircuitBreaker(settings.breaker_failures, settings.breaker_cooldown)
        self._closed = False
        self.usage = Usage()

    @property
    def left_alone(self) -> bool:
        """Whether the server keeps failing and is asked nothing for a while."""
        return self._breaker.is_open

    @property
    def model(self) -> str:
        return f"{self._settings.ask}/{self._settings.model}"

    async def rank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """See the port."""
        if self._closed:
            raise ModelUnavailable(self.model, "is closed")
        body = self._request.body(self._settings.model, query, embeddable(texts, self._settings.max_chars))
        try:
            with self._breaker.attempt(_FAILURES):
                # The client's own limit is for one read, and a server may trickle.
                self.usage.calls += 1
                async with asyncio.timeout(self._settings.timeout):
                    answer = await self._client.post(self._request.path, body=body, cast_to=bytes)
                return self._request.scores(answer, len(texts), self.usage)
        except CircuitOpenError as cause:
            raise ModelUnavailable(self.model, "keeps failing and is left alone", cause.retry_after) from cause
        except BadResponseError as cause:
            raise ModelUnavailable(self.model, str(cause)) from cause
        except TimeoutError as cause:
            raise ModelUnavailable(self.model, "does not answer in time") from cause
        except openai.APIError as cause:
            raise ModelUnavailable(self.model, problem_of(cause, "reranker")) from cause

    async def close(self) -> None:
        self._closed = True
        await self._client.close()
