"""The model that writes in recall_during.py: a simulated one that reads the margin, or one behind OPENAI_BASE_URL."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

QUESTION = "What do I cook for our guests tonight, and what do we do after dinner?"
OLD_TIME, NEW_TIME = "21:30", "20:00"

Chunk: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Passage:
    """What the simulated model writes, and how it goes on if a memory that says `seen` is in the margin by then."""

    text: str
    seen: str = ""
    then: str = ""


ANSWER = (
    Passage(
        "A fine evening! I would cook satay noodles for Ben, with plenty of peanut sauce.",
        "peanut",
        " Stop: Ben must not have peanuts. Sesame sauce, then.",
    ),
    Passage("\n\n林晓也来，再煮一锅汤，加一点鱼露。", "鱼露", "不对，林晓连鱼露也不吃，改用香菇和酱油。"),
    Passage(
        "\n\nAfter dinner we all go to Alfama, where the Fado concert begins.",
        OLD_TIME,
        f" It begins at {OLD_TIME}, so there is no hurry: dinner at eight, then dessert on the roof, and a slow walk "
        "down the hill.",
    ),
    Passage("", NEW_TIME, f" No, that has just changed: at {NEW_TIME}! Then dinner is at six."),
    Passage("\n\n回家以后，再带豆包去散步，走远一点。", "膝盖", "等等，豆包膝盖不好，就在楼下走走吧。"),
)


class NoModel(Exception):
    """The endpoint did not answer as a model does; the message says what to look at."""


def is_real() -> bool:
    return bool(os.environ.get("OPENAI_MODEL"))


def stream(holding: Callable[[str], bool], correct_soon: Callable[[], None], pace: float) -> AsyncIterator[Chunk]:
    """Chunks as an OpenAI-compatible server streams them. `correct_soon` is called once there is time to be wrong."""
    model = os.environ.get("OPENAI_MODEL", "")
    return _real(model, correct_soon) if model else _simulated(holding, correct_soon, pace)


def text_of(chunk: Chunk) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in chunk.get("choices", ())[:1])


async def _simulated(
    holding: Callable[[str], bool], correct_soon: Callable[[], None], pace: float
) -> AsyncIterator[Chunk]:
    for passage in ANSWER:
        async for chunk in _tokens(passage.text, pace):
            yield chunk
        if passage.seen == OLD_TIME:
            correct_soon()
        for _ in range(200):
            if not holding(passage.seen):
                await asyncio.sleep(0.01 + pace / 5)
        if holding(passage.seen):
            await asyncio.sleep(10 * pace)
            async for chunk in _tokens(passage.then, pace):
                yield chunk


async def _tokens(text: str, pace: float) -> AsyncIterator[Chunk]:
    for token in re.findall(r"\s?[\x21-\x7e]{1,5}|.", text, re.DOTALL):
        await asyncio.sleep(pace)
        yield {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": token}}]}


async def _real(model: str, correct_soon: Callable[[], None]) -> AsyncIterator[Chunk]:
    """What the openai package does; here without it. The thread reads, because the standard library blocks."""
    chunks: asyncio.Queue[Chunk | Exception | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    asked = (
        f"{QUESTION} The guests are Ben and 林晓. After dinner we go to the Fado concert in Alfama; say when it begins."
    )
    body = {"model": model, "stream": True, "max_tokens": 300, "messages": [{"role": "user", "content": asked}]}
    request = urllib.request.Request(
        os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/") + "/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}"},
    )

    def read() -> None:
        end: Exception | None = None
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                for line in response:
                    data = line.decode().removeprefix("data:").strip()
                    if line.startswith(b"data:") and data != "[DONE]":
                        loop.call_soon_threadsafe(chunks.put_nowait, json.loads(data))
        except Exception as error:
            end = NoModel(_why(request.full_url, error))
        loop.call_soon_threadsafe(chunks.put_nowait, end)

    threading.Thread(target=read, daemon=True).start()
    correct_soon()
    while (chunk := await chunks.get()) is not None:
        if isinstance(chunk, Exception):
            raise chunk
        yield chunk


def _why(url: str, error: Exception) -> str:
    match error:
        case urllib.error.HTTPError(code=401 | 403):
            hint = "OPENAI_API_KEY is not one that it takes"
        case urllib.error.HTTPError(code=404):
            hint = "OPENAI_BASE_URL ends in /v1 with most servers, and OPENAI_MODEL must be one that it has"
        case urllib.error.HTTPError():
            hint = "see the log of the server"
        case OSError():
            hint = "is it running, and is OPENAI_BASE_URL its address?"
        case _:
            hint = "OPENAI_BASE_URL is not an OpenAI-compatible server"
    return f"{url}: {error} ({hint})"
