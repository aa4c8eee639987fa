"""A generation follows a model's stream, in the shapes that OpenAI's client gives and without it, in both clients."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    GenerationEvent,
    InvalidArgument,
    Memsidecar,
    Recalled,
    Retracted,
    TextSource,
    Watermark,
)
from memsidecar_client._openai import Halves, texts_of

from tests.clients.python.fake_sidecar import FakeSidecar


def chat(content: str | None, index: int = 0, **fields: Any) -> SimpleNamespace:
    delta = SimpleNamespace(content=content, role="assistant", tool_calls=None, **fields)
    return SimpleNamespace(object="chat.completion.chunk", choices=[SimpleNamespace(index=index, delta=delta)])


def json_chat(**delta: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}


MODEL, REASONING = TextSource.MODEL, TextSource.REASONING
CHUNKS: dict[str, tuple[object, list[tuple[str, TextSource]]]] = {
    "text": ("hi", [("hi", MODEL)]),
    "chat": (chat("hi"), [("hi", MODEL)]),
    "chat as JSON": (json_chat(content="hi"), [("hi", MODEL)]),
    "reasoning of one server": (chat(None, reasoning_content="hm"), [("hm", REASONING)]),
    "reasoning of another": (json_chat(content="", reasoning="hm"), [("hm", REASONING)]),
    "both": (chat("hi", reasoning_content="hm"), [("hm", REASONING), ("hi", MODEL)]),
    "another choice": (chat("hi", index=1), []),
    "role only": (chat(None), []),
    "usage": (SimpleNamespace(choices=[], usage=SimpleNamespace(total_tokens=3)), []),
    "tool call": (json_chat(tool_calls=[{"index": 0}]), []),
    "response": (SimpleNamespace(type="response.output_text.delta", delta="hi"), [("hi", MODEL)]),
    "response as JSON": ({"type": "response.output_text.delta", "delta": "hi"}, [("hi", MODEL)]),
    "response's reasoning": ({"type": "response.reasoning_summary_text.delta", "delta": "hm"}, [("hm", REASONING)]),
    "response's arguments": ({"type": "response.function_call_arguments.delta", "delta": "{"}, []),
    "response's end": (SimpleNamespace(type="response.completed", response=None), []),
    "half an emoji": ("a\ud83d", [("a\ud83d", MODEL)]),
    "nothing": (None, []),
    "something else": (3, []),
}


@pytest.mark.parametrize("name", CHUNKS)
def test_text_of_a_chunk(name: str) -> None:
    chunk, texts = CHUNKS[name]
    assert list(texts_of(chunk)) == texts


async def test_three_lines_add_recall_to_a_loop(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    async def model() -> AsyncIterator[SimpleNamespace]:
        for word in ("Green ", "tea", "."):
            yield chat(word)

    answer = ""
    async with client.generation(prompt="What does Ana drink?") as generation:
        async for chunk in generation.follow(model()):
            answer += chunk.choices[0].delta.content
        await generation.flush()
        recalled, retracted, _ = generation.new_events()
    assert answer == "Green tea."
    assert isinstance(recalled, Recalled)
    assert recalled.hit.memory.text == "Green tea."
    assert isinstance(retracted, Retracted)


def test_blocking_client_follows_in_one_thread_and_reads_in_another(
    blocking_client: Memsidecar, fake: FakeSidecar
) -> None:
    events: list[GenerationEvent] = []
    with blocking_client.generation("What does Ana drink?") as generation:
        reader = threading.Thread(target=lambda: events.extend(generation))
        reader.start()
        assert [*generation.follow(iter([chat("tea."), chat(None)]))][1].choices[0].delta.content is None
        assert generation.flush() == Watermark(1)
        assert (generation.seq, generation.length, generation.terms.stream_id) == (1, 4, "s")
    reader.join(10)
    assert not reader.is_alive()
    assert [type(event) for event in events] == [Recalled, Retracted, Watermark]
    assert generation.result is not None
    assert generation.result.recalled == 1
    assert generation.memories == ()


def test_blocking_callback_and_leaving_by_an_exception(blocking_client: Memsidecar, fake: FakeSidecar) -> None:
    def words() -> Iterator[str]:
        yield "tea."
        raise ZeroDivisionError

    events: list[GenerationEvent] = []
    generation = blocking_client.generation(on_event=events.append)

    def follow() -> None:
        with generation:
            for _ in generation.follow(words()):
                generation.flush()

    with pytest.raises(ZeroDivisionError):
        follow()
    assert fake.cancelled.wait(10)
    assert [type(event) for event in events] == [Recalled, Retracted, Watermark]
    assert generation.result is None


async def chunks(*texts: str) -> AsyncIterator[str]:
    for text in texts:
        yield text


async def test_callback_that_raises_does_not_end_the_models_stream_and_is_raised_by_leaving(
    client: AsyncMemsidecar, fake: FakeSidecar
) -> None:
    def failing(event: GenerationEvent) -> None:
        raise ZeroDivisionError

    followed = []

    async def follow() -> None:
        async with client.generation(on_event=failing) as generation:
            async for chunk in generation.follow(chunks("tea.", " ", "More ", "tea.")):
                followed.append(chunk)
                # What raises here is the generation's, and tells that it has ended.
                with suppress(ZeroDivisionError):
                    await generation.flush()

    with pytest.raises(ZeroDivisionError):
        await follow()
    assert followed == ["tea.", " ", "More ", "tea."]


async def test_finish_in_the_loop_does_not_end_the_models_stream(client: AsyncMemsidecar, fake: FakeSidecar) -> None:
    followed = []
    async with client.generation() as generation:
        async for chunk in generation.follow(chunks("tea.", "More", "tea.")):
            followed.append(chunk)
            await generation.finish()
        assert generation.length == 4
    assert followed == ["tea.", "More", "tea."]


def test_nothing_of_the_memory_ends_a_stream_that_the_blocking_client_follows(
    blocking_client: Memsidecar, fake: FakeSidecar
) -> None:
    with blocking_client.generation() as generation:
        followed = [*generation.follow(["a\ud83d", "\ude00b\0", "\ud83d"])]
        assert generation.length == 5
        for chunk in generation.follow(["tea.", "more"]):
            followed.append(chunk)
            generation.finish()
    assert followed == ["a\ud83d", "\ude00b\0", "\ud83d", "tea.", "more"]


PAIRS: dict[str, tuple[list[str], str]] = {
    "a pair in two chunks": (["a\ud83d", "\ude00b"], "a\U0001f600b"),
    "a pair in one chunk": (["\ud83d\ude00"], "\U0001f600"),
    "halves only": (["\ud83d", "\ude00", "\ud83d", "\ude00"], "\U0001f600" * 2),
    "a first half at the end": (["a", "b\ud83d"], "ab\ufffd"),
    "a first half before a letter": (["\ud83d", "b"], "\ufffdb"),
    "a second half": (["\ude00b"], "\ufffdb"),
    "NUL": (["a\0b", "\0"], "a\ufffdb\ufffd"),
    "whole": (["a", "\U0001f600"], "a\U0001f600"),
}


@pytest.mark.parametrize("name", PAIRS)
async def test_followed_text_is_made_such_that_it_can_be_sent(
    client: AsyncMemsidecar, fake: FakeSidecar, name: str
) -> None:
    texts, whole = PAIRS[name]
    async with client.generation() as generation:
        assert [chunk async for chunk in generation.follow(chunks(*texts))] == texts
        assert generation.length == len(whole)
    halves = Halves()
    joined = [halves.joined(text, MODEL) for text in texts] + [rest for rest, _ in halves.rest()]
    assert "".join(joined) == whole


def test_halves_of_different_sources_are_not_joined() -> None:
    halves = Halves()
    assert [halves.joined("a\ud83d", MODEL), halves.joined("\ude00", REASONING)] == ["a", "\ufffd"]
    assert halves.joined("\ude00", MODEL) == "\U0001f600"
    assert halves.rest() == []


async def test_text_that_the_server_would_refuse_is_not_fed_and_ends_nothing(
    client: AsyncMemsidecar, fake: FakeSidecar
) -> None:
    async with client.generation() as generation:
        for text in ("a\0b", "\ud83d"):
            with pytest.raises(InvalidArgument) as refused:
                await generation.feed(text)
            assert [violation.field for violation in refused.value.violations] == ["text"]
        await generation.feed("tea.")
        assert (await generation.flush()).seq == 1
        assert generation.length == 4
