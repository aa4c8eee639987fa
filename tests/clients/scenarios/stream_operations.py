"""What the steps of a scenario do with the Python client's streams."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from memsidecar_client import (
    AsyncGeneration,
    Draining,
    GenerationEvent,
    GenerationOutcome,
    MemoryChanged,
    Preference,
    Recalled,
    WatchInterrupted,
)

from tests.clients.scenarios.playing import Arguments, Operation, Playing, Result, act


class Left(Exception):
    """Leaves a stream as a failing agent would."""


async def remember_stream(playing: Playing, given: Arguments) -> Result:
    try:
        async with playing.client.remember_stream(
            request_id=given.get("request_id", ""), timeout=given.get("deadline")
        ) as stream:
            for number, text in enumerate(given["texts"]):
                if number:
                    await asyncio.sleep(given.get("wait", 0))
                    for step in given.get("between", []):
                        await playing.perform(playing, step)
                await stream.send([text])
            if given.get("abandon"):
                raise Left
            summary = await stream.finish()
    except Left:
        return {}
    return {
        "received": summary.received,
        "failures": summary.failure_count,
        "created": summary.action_counts.get("CREATED", 0),
    }


async def generation(playing: Playing, given: Arguments) -> Result:
    told: Result = {"draining": False, "recalled": []}
    stream = playing.client.generation(
        given.get("prompt", ""),
        known=given.get("known", ()),
        time_zone=given.get("time_zone", ""),
        remember=given.get("remember", False),
        min_confidence=0.05,
        max_hits=1,
        timeout=given.get("deadline"),
        **({"resume_timeout": given["resume_seconds"]} if "resume_seconds" in given else {}),
    )
    try:
        async with stream:
            fed = ""
            for step in given["script"]:
                fed = await _generation_step(playing, stream, step, fed, told)
    except Left:
        pass
    return told | {"text": fed}


async def _generation_step(playing: Playing, stream: AsyncGeneration, step: Any, fed: str, told: Result) -> str:
    word, value = _word(step)
    if await act(playing, word):
        return fed
    match word:
        case "feed":
            await stream.feed(value)
            return fed + str(value)
        case "flush":
            await stream.flush()
        case "rewind":
            await stream.rewind(value)
            return fed[: stream.length]
        case "meanwhile":
            await playing.perform(playing, value)
        case "wait":
            await asyncio.sleep(value)
        case "draining":
            while not told["draining"]:
                _take(await stream.next_event(), told)
        case "abandon":
            raise Left
        case "finish":
            summary = await stream.finish(GenerationOutcome[value or "COMPLETED"])
            for event in stream.new_events():
                _take(event, told)
            told |= {"resumed": summary.resumed, "remembered": bool(summary.remembered)}
        case _:
            raise ValueError(f"no step {word} of a generation")
    return fed


def _take(event: GenerationEvent | None, told: Result) -> None:
    match event:
        case Recalled(hit=hit):
            told["recalled"].append(hit.memory.text)
        case Draining():
            told["draining"] = True


async def watch(playing: Playing, given: Arguments) -> Result:
    told: Result = {"texts": [], "changes": [], "interrupted": False}
    async with AsyncExitStack() as stack:
        changes = await stack.enter_async_context(playing.client.watch_memories(after=given.get("after", "")))
        for step in given["script"]:
            word, value = _word(step)
            if await act(playing, word):
                continue
            if word == "meanwhile":
                await playing.perform(playing, value)
            if word == "write":
                await playing.client.create_memory(Preference(value))
            while word == "until" and len(told["texts"]) < value:
                match await changes.next_event():
                    case WatchInterrupted():
                        told["interrupted"] = True
                    case MemoryChanged(change=change):
                        told["texts"].append(change.snapshot.text if change.snapshot else "")
                        told["changes"].append(change.change.name)
    return told


def _word(step: Any) -> tuple[str, Any]:
    """A step that is a word, or a word with a value."""
    if isinstance(step, str):
        return step, None
    ((word, value),) = step.items()
    return word, value


OPERATIONS: Mapping[str, Operation] = {
    operation.__name__: operation for operation in (remember_stream, generation, watch)
}
