"""A generation follows a model's stream, in the shapes that OpenAI's client gives and without it, in both clients."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    GenerationEvent,
    Memsidecar,
    Recalled,
    Retracted,
    TextSource,
    Watermark,
)
from memsidecar_client._openai import texts_of

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
    "half an emoji": ("a\ud83d", [("a?", MODEL)]),
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
