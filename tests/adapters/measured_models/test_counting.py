from __future__ import annotations

import asyncio
import time

import pytest

from memsidecar.adapters.measured_models import MeasuredEmbedder
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.events import Matrix
from tests.doubles.hash_embedder import HashEmbedder


async def test_calls_are_counted_by_how_they_end() -> None:
    waited: list[float] = []

    class Moody(HashEmbedder):
        async def embed(self, texts: object) -> Matrix:
            if texts == ["away"]:
                raise ModelUnavailable("m", "is away")
            if texts == ["slow"]:
                began = time.perf_counter()
                try:
                    await asyncio.Event().wait()
                finally:
                    waited.append(time.perf_counter() - began)
            if texts == ["broken"]:
                raise ValueError
            return await super().embed(texts)  # type: ignore[arg-type]

    embedder = MeasuredEmbedder(Moody())
    assert len(await embedder.embed(["a", "b"])) == 2
    for text, error in (("away", ModelUnavailable), ("broken", ValueError)):
        with pytest.raises(error):
            await embedder.embed([text])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await embedder.embed(["slow"])
    assert embedder.calls.ended == {"ok": 1, "unavailable": 1, "cancelled": 1, "failed": 1}
    assert (sum(embedder.calls.seconds.counts), embedder.calls.items) == (4, 5)
    assert embedder.calls.seconds.total >= waited[0]
    assert (embedder.model, embedder.dimensions) == (Moody().model, Moody().dimensions)
