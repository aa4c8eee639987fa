from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from memsidecar.adapters.openai_models import CircuitBreaker, ExtractorSettings, OpenAIExtractor
from tests.doubles.chat_server import ChatServer, chat_server

SECRET = "sk-very-secret-key"
MakeExtractor = Callable[..., OpenAIExtractor]


@pytest.fixture
async def chat() -> AsyncIterator[ChatServer]:
    async with chat_server() as started:
        yield started


@pytest.fixture
def waited() -> list[float]:
    """The waits between tries; nothing really waits."""
    return []


@pytest.fixture
async def extractor(chat: ChatServer, waited: list[float]) -> AsyncIterator[MakeExtractor]:
    """Makes one; keywords change its settings."""
    made: list[OpenAIExtractor] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    def build(breaker: CircuitBreaker | None = None, **changes: Any) -> OpenAIExtractor:
        settings = ExtractorSettings(**{"model": "m", "api_key": SECRET, "base_url": chat.base_url, **changes})
        made.append(OpenAIExtractor(settings, breaker=breaker, sleep=sleep, jitter=lambda: 1.0))
        return made[-1]

    yield build
    for each in made:
        await each.close()
