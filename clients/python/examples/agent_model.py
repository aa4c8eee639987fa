"""The model of agent.py: a real one behind the chat completions API, or a scripted one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeAlias

import scripted_model

Message: TypeAlias = dict[str, Any]
Model: TypeAlias = Callable[[list[Message]], AsyncGenerator[str]]
"""Gives what the model writes as it writes it. Closing the generator stops the model."""

DEFAULT_MODEL = "gpt-5.4-mini"


def chosen_model(pace: float) -> tuple[Model, str]:
    """The model, and what it is; the scripted one writes a word in `pace` seconds. Raises SystemExit without openai."""
    if not os.environ.get("OPENAI_API_KEY"):
        return _scripted(pace), "a scripted model answers: OPENAI_API_KEY is not set"
    try:
        import openai
    except ImportError:
        raise SystemExit("agent: OPENAI_API_KEY is set, but there is no openai package: pip install openai") from None
    name = os.environ.get("OPENAI_MODEL", DEFAULT_MODEL)

    async def write(messages: list[Message]) -> AsyncGenerator[str]:
        async with openai.AsyncOpenAI() as client:
            asked: Any = messages
            async with await client.chat.completions.create(model=name, messages=asked, stream=True) as stream:
                async for chunk in stream:
                    if chunk.choices and chunk.choices[0].delta.content:
                        yield _encodable(chunk.choices[0].delta.content)

    return write, f"{name} answers"


def _encodable(text: str) -> str:
    """With U+FFFD for half a character, which JSON may hold and nothing that is sent or shown."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _scripted(pace: float) -> Model:
    async def write(messages: list[Message]) -> AsyncGenerator[str]:
        for token in scripted_model.tokens(messages):
            await asyncio.sleep(pace)
            yield token

    return write
