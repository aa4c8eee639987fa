"""One answer of a chat model, with retries, in whatever way its server wants to be asked."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import openai

from memsidecar.adapters.openai_models.breaker import CircuitBreaker, CircuitOpenError
from memsidecar.adapters.openai_models.dialect import Blame, Dialect
from memsidecar.adapters.openai_models.response import BadResponseError
from memsidecar.adapters.openai_models.retry import RETRIED, problem_of, wait_before
from memsidecar.adapters.openai_models.settings import ExtractorSettings
from memsidecar.adapters.openai_models.usage import Usage
from memsidecar.domain.errors import ModelUnavailable

_log = logging.getLogger(__name__)

PERMANENT = 30.0
"""Seconds to suggest for a retry of what somebody has to repair first."""

# An answer that is not of a chat is a gateway's, most often, and passes like other outages.
_RETRIED = (*RETRIED, BadResponseError, TimeoutError)
# Ten times the longest that is asked for. Reading it holds up the process for a millisecond.
_MOST_BYTES = 256 * 1024

Message = dict[str, str]


class RefusedError(Exception):
    """The server does not take this request, and would not take it a second time."""

    def __init__(self, blame: Blame) -> None:
        super().__init__(blame.name)
        self.blame = blame


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said. `content` is empty when it said nothing."""

    content: str = ""
    cut: bool = False
    """It ran into its limit: the end is missing."""
    refused: bool = False
    """By the model itself, or by a filter over what it writes."""


class Chat:
    """Asks with no temperature and a schema, and remembers what of it the server understands."""

    def __init__(
        self,
        settings: ExtractorSettings,
        schema: Mapping[str, Any],
        usage: Usage,
        breaker: CircuitBreaker,
        sleep: Callable[[float], Awaitable[None]],
        jitter: Callable[[], float],
    ) -> None:
        # The package logs whole requests at DEBUG, and they hold people's conversations.
        package_log = logging.getLogger("openai")
        package_log.setLevel(max(package_log.level, logging.INFO))
        self._settings, self._schema, self._usage = settings, schema, usage
        self._client = openai.AsyncOpenAI(
            api_key=settings.api_key or "none", base_url=settings.base_url, timeout=settings.timeout, max_retries=0
        )
        self._breaker, self._sleep, self._jitter = breaker, sleep, jitter
        self._dialect = Dialect()
        self._proven = False

    @property
    def model(self) -> str:
        return f"openai/{self._settings.model}"

    @property
    def left_alone(self) -> bool:
        return self._breaker.is_open

    async def ask(self, messages: Sequence[Message]) -> Reply:
        """Raises ModelUnavailable, or RefusedError when the server takes requests, but not this one."""
        dialect, tries, answered = self._dialect, 0, False
        while not answered:
            tries += 1
            try:
                reply = await self._once(messages, dialect)
                answered = True
            except CircuitOpenError as cause:
                raise self._unavailable("keeps failing and is left alone for a while", cause.retry_after) from cause
            except _RETRIED as cause:
                wait = wait_before(tries + 1, cause, self._settings, self._jitter)
                problem = _problem(cause)
                if tries >= self._settings.attempts or wait > self._settings.max_wait:
                    raise self._unavailable(problem, max(wait, 1.0)) from cause
                _log.info("%s: try %d failed (%s)", self.model, tries, problem)
                self._usage.retries += 1
                await self._sleep(wait)
            except openai.APIStatusError as cause:
                following = dialect.after(cause, proven=self._proven and dialect == self._dialect)
                if following is None:
                    raise self._unavailable(_problem(cause), PERMANENT) from cause
                if isinstance(following, Blame):
                    raise RefusedError(following) from cause
                # Each step leaves something out, so that they end.
                dialect, tries = following, tries - 1
            except openai.APIError as cause:
                raise self._unavailable(_problem(cause), PERMANENT) from cause
        if dialect != self._dialect:
            _log.info("%s: asked with %s from now on", self.model, dialect.form.name.lower())
        self._dialect, self._proven = dialect, True
        return reply

    async def close(self) -> None:
        await self._client.close()

    async def _once(self, messages: Sequence[Message], dialect: Dialect) -> Reply:
        options = dialect.options(self._schema, self._settings.max_answer_tokens)
        body = {"model": self._settings.model, "messages": list(messages), **options}
        with self._breaker.attempt(_RETRIED):
            self._usage.calls += 1
            # The client's own limit is for one read, and a server may trickle.
            async with asyncio.timeout(self._settings.timeout):
                answer = await self._client.post("/chat/completions", body=body, cast_to=bytes)
            return self._reply_of(answer)

    def _reply_of(self, answer: bytes) -> Reply:
        if len(answer) > _MOST_BYTES:
            raise BadResponseError("answers with far more than was asked for")
        try:
            completion = json.loads(answer)
            choices = completion["choices"]
            choice = choices[0] if choices else {}
            message = choice.get("message") or {}
            content, refused = _text_of(message.get("content")), bool(message.get("refusal"))
            finish = choice.get("finish_reason")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as cause:
            raise BadResponseError("answers with something that is not a chat completion") from cause
        self._usage.add(completion.get("usage"))
        return Reply(content, finish == "length", refused or finish == "content_filter")

    def _unavailable(self, problem: str, retry_after: float) -> ModelUnavailable:
        return ModelUnavailable(self.model, problem, retry_after)


def _problem(cause: Exception) -> str:
    if isinstance(cause, openai.APIError):
        return problem_of(cause, "extraction")
    return str(cause) if isinstance(cause, BadResponseError) else "does not answer in time"


def _text_of(content: Any) -> str:
    """Most servers give a text; some parts of one, or what stands in it, read already."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return json.dumps(content) if isinstance(content, dict) else ""
