"""What every Embedder promises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import cache

import numpy as np
import pytest

from memsidecar.adapters.embedding_cache import CachedEmbedder
from memsidecar.adapters.local_models import LocalEmbedder
from memsidecar.adapters.local_models.combined import CombinedEncoder
from memsidecar.adapters.local_models.e5 import E5Encoder
from memsidecar.adapters.local_models.encoder import Encoder
from memsidecar.adapters.local_models.use import UseEncoder
from memsidecar.adapters.openai_models import OpenAIEmbedder, OpenAISettings
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.ports.models import Embedder
from tests.doubles.embedding_server import embedding_server
from tests.doubles.hash_embedder import HashEmbedder

TEXTS = [
    "Allergic to peanuts since childhood.",
    "上个月搬到了成都高新区。",
    "a",
    "    ",
    "👩‍👩‍👧 <|endoftext|> \x07\u202e",
]
ENCODERS: dict[str, type[Encoder]] = {"use": UseEncoder, "e5": E5Encoder, "use+e5": CombinedEncoder}


@cache
def encoder(name: str) -> Encoder:
    """Loaded once for all tests; an encoder has no state but its weights."""
    return ENCODERS[name]()


@pytest.fixture(params=["use", "e5", "use+e5", "openai", "cached", "hash"])
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    async with AsyncExitStack() as stack:
        made: Embedder
        if request.param == "openai":
            server = await stack.enter_async_context(embedding_server())
            made = OpenAIEmbedder(OpenAISettings(model="m", base_url=server.base_url, dimensions=64, max_batch=3))
        elif request.param == "cached":
            made = CachedEmbedder(HashEmbedder(), max_bytes=10_000)
        elif request.param == "hash":
            made = HashEmbedder()
        else:
            made = LocalEmbedder(encoder(request.param))
        stack.push_async_callback(made.close)
        yield made


async def test_rows_are_float32_of_length_one_and_finite(embedder: Embedder) -> None:
    rows = await embedder.embed(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), embedder.dimensions)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)


async def test_rows_are_in_the_order_of_the_texts(embedder: Embedder) -> None:
    together = await embedder.embed(TEXTS)
    alone = np.vstack([await embedder.embed([text]) for text in TEXTS])
    assert np.allclose(together, alone, atol=2e-3)


async def test_the_same_text_twice_gives_the_same_row(embedder: Embedder) -> None:
    rows = await embedder.embed([TEXTS[0], TEXTS[1], TEXTS[0]])
    assert np.allclose(rows[0], rows[2], atol=2e-3)


async def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dimensions)


async def test_longer_text_than_max_chars_is_cut(embedder: Embedder) -> None:
    start = ("the cat sat on the mat " * embedder.max_chars)[: embedder.max_chars]
    cut, whole = await embedder.embed([start, start + "something else entirely"])
    assert np.allclose(cut, whole, atol=2e-3)


async def test_calls_at_once_get_their_own_rows(embedder: Embedder) -> None:
    expected = {text: (await embedder.embed([text]))[0] for text in TEXTS}
    calls = [TEXTS[start:] + TEXTS[:start] for start in range(len(TEXTS))]
    answers = await asyncio.gather(*map(embedder.embed, calls))
    for texts, rows in zip(calls, answers, strict=True):
        assert np.allclose(rows, np.vstack([expected[text] for text in texts]), atol=2e-3)


@pytest.mark.parametrize("bad", ["", "a\0b", "a\ud800b"], ids=["empty", "NUL", "lone surrogate"])
async def test_text_that_no_model_takes_is_a_value_error(embedder: Embedder, bad: str) -> None:
    with pytest.raises(ValueError, match="text 1"):
        await embedder.embed(["fine", bad])
    assert len(await embedder.embed(["fine"])) == 1


async def test_a_caller_that_gives_up_does_not_disturb_the_others(embedder: Embedder) -> None:
    impatient = asyncio.create_task(embedder.embed(TEXTS))
    patient = asyncio.create_task(embedder.embed(TEXTS[:2]))
    await asyncio.sleep(0)
    impatient.cancel()
    assert len(await patient) == 2
    assert len(await embedder.embed(TEXTS)) == len(TEXTS)


async def test_the_matrix_is_the_callers_own(embedder: Embedder) -> None:
    first = await embedder.embed([TEXTS[0]])
    kept = first.copy()
    first[:] = 0
    assert np.allclose(await embedder.embed([TEXTS[0]]), kept, atol=2e-3)


async def test_a_closed_embedder_is_unavailable(embedder: Embedder) -> None:
    await embedder.close()
    with pytest.raises(ModelUnavailable, match="closed"):
        await embedder.embed(["fine"])


async def test_closing_twice_is_fine(embedder: Embedder) -> None:
    await embedder.close()
    await embedder.close()


async def test_the_model_has_a_name_and_a_size(embedder: Embedder) -> None:
    assert embedder.model
    assert embedder.dimensions > 0
    assert embedder.max_chars > 0
