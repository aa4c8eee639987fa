"""What is asked of the inner embedder, what is kept, and what is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from memsidecar.adapters.embedding_cache import CachedEmbedder, CacheStats
from memsidecar.adapters.embedding_cache.cache import ENTRY_OVERHEAD
from memsidecar.domain.errors import ModelUnavailable
from memsidecar.domain.events import Matrix
from tests.doubles.hash_embedder import HashEmbedder

ENTRY = 64 * 4 + ENTRY_OVERHEAD


class HeldEmbedder(HashEmbedder):
    """Answers when `gate` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.entered = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Matrix:
        self.entered.set()
        await self.gate.wait()
        return await super().embed(texts)


async def test_only_new_texts_reach_the_inner_embedder() -> None:
    inner = HashEmbedder()
    cache = CachedEmbedder(inner, max_bytes=100 * ENTRY)
    await cache.embed(["a", "b"])
    rows = await cache.embed(["b", "c", "a", "c"])
    assert inner.calls == [["a", "b"], ["c"]]
    assert np.array_equal(rows, await HashEmbedder().embed(["b", "c", "a", "c"]))
    assert cache.stats == CacheStats(hits=3, misses=3, entries=3, bytes=3 * ENTRY)


async def test_the_least_recently_used_go_when_the_bytes_are_full() -> None:
    inner = HashEmbedder()
    cache = CachedEmbedder(inner, max_bytes=2 * ENTRY)
    await cache.embed(["a", "b"])
    await cache.embed(["a"])
    await cache.embed(["c"])
    assert cache.stats.bytes == 2 * ENTRY
    await cache.embed(["a"])
    await cache.embed(["b"])
    assert inner.calls == [["a", "b"], ["c"], ["b"]]


async def test_a_cache_without_room_still_answers() -> None:
    cache = CachedEmbedder(HashEmbedder(), max_bytes=0)
    assert len(await cache.embed(["a", "b"])) == 2
    assert cache.stats.bytes == 0


async def test_a_text_under_way_is_not_asked_for_again() -> None:
    inner = HeldEmbedder()
    cache = CachedEmbedder(inner, max_bytes=100 * ENTRY)
    first = asyncio.create_task(cache.embed(["a", "b"]))
    second = asyncio.create_task(cache.embed(["b", "c"]))
    await inner.entered.wait()
    inner.gate.set()
    rows = await asyncio.gather(first, second)
    assert np.array_equal(rows[0][1], rows[1][0])
    assert sorted(inner.calls) == [["a", "b"], ["c"]]


async def test_who_joined_a_call_gets_the_row_though_the_first_caller_has_gone() -> None:
    inner = HeldEmbedder()
    cache = CachedEmbedder(inner, max_bytes=100 * ENTRY)
    first = asyncio.create_task(cache.embed(["a"]))
    await inner.entered.wait()
    second = asyncio.create_task(cache.embed(["a"]))
    await asyncio.sleep(0)
    first.cancel()
    inner.gate.set()
    assert len(await second) == 1
    assert inner.calls == [["a"]]


async def test_abandoned_call_ends_and_a_later_one_asks_again() -> None:
    inner = HeldEmbedder()
    cache = CachedEmbedder(inner, max_bytes=100 * ENTRY)
    asked = asyncio.create_task(cache.embed(["a"]))
    await inner.entered.wait()
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    cache.abandon("a")
    inner.gate.set()
    assert len(await cache.embed(["a"])) == 1
    assert inner.calls == [["a"]]
    await cache.close()


async def test_call_that_somebody_waits_for_is_not_abandoned() -> None:
    inner = HeldEmbedder()
    cache = CachedEmbedder(inner, max_bytes=100 * ENTRY)
    first, second = (asyncio.create_task(cache.embed(["a"])) for _ in range(2))
    await inner.entered.wait()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    cache.abandon("a")
    cache.abandon("unknown")
    inner.gate.set()
    assert len(await second) == 1


async def test_a_failure_reaches_everyone_and_is_not_kept() -> None:
    inner = HeldEmbedder()
    inner.failure = ModelUnavailable("hash")
    cache = CachedEmbedder(inner, max_bytes=100 * ENTRY)
    calls = [asyncio.create_task(cache.embed(["a"])) for _ in range(2)]
    await inner.entered.wait()
    inner.gate.set()
    assert all(
        isinstance(outcome, ModelUnavailable) for outcome in await asyncio.gather(*calls, return_exceptions=True)
    )
    inner.failure = None
    assert len(await cache.embed(["a"])) == 1


async def test_forgotten_texts_are_gone() -> None:
    inner = HashEmbedder()
    cache = CachedEmbedder(inner, max_bytes=100 * ENTRY)
    await cache.embed(["a", "b"])
    cache.forget(["a", "never seen"])
    assert cache.stats.entries == 1
    assert cache.stats.bytes == ENTRY
    await cache.embed(["a"])
    assert inner.calls == [["a", "b"], ["a"]]


async def test_a_text_forgotten_while_under_way_is_answered_but_not_kept() -> None:
    inner = HeldEmbedder()
    cache = CachedEmbedder(inner, max_bytes=100 * ENTRY)
    call = asyncio.create_task(cache.embed(["a", "b"]))
    await inner.entered.wait()
    cache.forget(["a"])
    inner.gate.set()
    assert len(await call) == 2
    assert cache.stats.entries == 1


async def test_closing_waits_for_calls_under_way_and_empties_the_cache() -> None:
    inner = HeldEmbedder()
    cache = CachedEmbedder(inner, max_bytes=100 * ENTRY)
    call = asyncio.create_task(cache.embed(["a"]))
    await inner.entered.wait()
    closing = asyncio.create_task(cache.close())
    await asyncio.sleep(0)
    inner.gate.set()
    await closing
    with pytest.raises(ModelUnavailable):
        await call
    assert cache.stats.entries == 0
