"""The thread, the line before it, and who is failed by what."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

from memsidecar.adapters.local_models import LocalEmbedder
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.events import Matrix


class ScriptedEncoder:
    """The row of a text is its length, then 1. Stops at `gate`; fails on "poison"."""

    provider = "scripted"
    model = "scripted@1"
    dimensions = 2
    max_chars = 100
    slice_chars = 200

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.threads: set[int] = set()
        self.loads = 0
        self.load_failure: ModelUnavailable | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def load(self) -> None:
        self.loads += 1
        if self.load_failure is not None:
            raise self.load_failure

    def encode(self, texts: list[str]) -> Matrix:
        self.threads.add(threading.get_ident())
        self.calls.append(texts)
        self.entered.set()
        assert self.gate.wait(10)
        if "poison" in texts:
            raise RuntimeError("the model is sick of poison")
        rows = np.array([[len(text), 1] for text in texts], dtype=np.float32)
        return rows if "nan" not in texts else rows * np.float32("nan")


async def held(embedder: LocalEmbedder, encoder: ScriptedEncoder) -> asyncio.Task[Matrix]:
    """A call that sits in the model until the gate is set."""
    encoder.gate.clear()
    call = asyncio.create_task(embedder.embed(["first"]))
    await asyncio.to_thread(encoder.entered.wait, 10)
    return call


async def test_calls_that_wait_share_one_call_of_the_model() -> None:
    encoder = ScriptedEncoder()
    embedder = LocalEmbedder(encoder)
    first = await held(embedder, encoder)
    waiting = [asyncio.create_task(embedder.embed(["x" * size])) for size in (1, 2, 3)]
    await asyncio.sleep(0)
    encoder.gate.set()
    assert [row[0, 0] for row in await asyncio.gather(first, *waiting)] == [5, 1, 2, 3]
    assert encoder.calls == [["first"], ["x", "xx", "xxx"]]
    await embedder.close()


async def test_a_short_call_does_not_wait_for_a_long_one() -> None:
    encoder = ScriptedEncoder()
    embedder = LocalEmbedder(encoder)
    first = await held(embedder, encoder)
    long = asyncio.create_task(embedder.embed(["y" * 60] * 10))
    short = asyncio.create_task(embedder.embed(["query"]))
    await asyncio.sleep(0)
    encoder.gate.set()
    await asyncio.gather(first, short)
    assert not long.done()
    assert "query" in encoder.calls[1]
    assert (await long)[:, 0].tolist() == [60.0] * 10
    await embedder.close()


async def test_a_text_that_the_model_fails_on_fails_its_own_call_only() -> None:
    encoder = ScriptedEncoder()
    embedder = LocalEmbedder(encoder)
    first = await held(embedder, encoder)
    calls = [asyncio.create_task(embedder.embed([text, text])) for text in ("good", "poison", "nan", "fine")]
    await asyncio.sleep(0)
    encoder.gate.set()
    good, poison, nan, fine = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(good, np.ndarray)
    assert isinstance(fine, np.ndarray)
    assert isinstance(poison, ModelUnavailable)
    assert isinstance(poison.__cause__, RuntimeError)
    assert "poison" not in str(poison)
    assert isinstance(nan, ModelUnavailable)
    assert len(await first) == 1
    await embedder.close()


async def test_a_cancelled_call_leaves_the_line() -> None:
    encoder = ScriptedEncoder()
    embedder = LocalEmbedder(encoder)
    first = await held(embedder, encoder)
    gone = asyncio.create_task(embedder.embed(["gone"]))
    await asyncio.sleep(0)
    gone.cancel()
    encoder.gate.set()
    await first
    await embedder.embed(["after"])
    assert encoder.calls == [["first"], ["after"]]
    await embedder.close()


async def test_the_model_is_loaded_once_and_used_in_one_thread() -> None:
    encoder = ScriptedEncoder()
    embedder = LocalEmbedder(encoder)
    await asyncio.gather(embedder.load(), embedder.load(), embedder.embed(["a"]))
    await embedder.embed(["b"])
    assert encoder.loads == 1
    assert len(encoder.threads) == 1
    assert threading.get_ident() not in encoder.threads
    await embedder.close()


async def test_a_model_that_cannot_be_loaded_says_so_every_time_but_tries_once() -> None:
    encoder = ScriptedEncoder()
    encoder.load_failure = ModelUnavailable("scripted", "needs a better machine")
    embedder = LocalEmbedder(encoder)
    with pytest.raises(ModelUnavailable, match="better machine"):
        await embedder.load()
    for outcome in await asyncio.gather(embedder.embed(["a"]), embedder.embed(["b"]), return_exceptions=True):
        assert isinstance(outcome, ModelUnavailable)
    assert encoder.loads == 1
    await embedder.close()


async def test_closing_ends_the_thread_and_fails_what_waits() -> None:
    encoder = ScriptedEncoder()
    embedder = LocalEmbedder(encoder)
    first = await held(embedder, encoder)
    waiting = asyncio.create_task(embedder.embed(["waiting"]))
    await asyncio.sleep(0)
    closing = asyncio.create_task(embedder.close())
    with pytest.raises(ModelUnavailable, match="closed"):
        await waiting
    encoder.gate.set()
    await closing
    assert (await first).shape == (1, 2)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("embed-scripted")]
    with pytest.raises(ModelUnavailable, match="closed"):
        await embedder.load()


def test_an_embedder_outlives_an_event_loop() -> None:
    embedder = LocalEmbedder(ScriptedEncoder())
    for _ in range(2):
        assert asyncio.run(embedder.embed(["abc"])).tolist() == [[3.0, 1.0]]
    asyncio.run(embedder.close())
