"""The embedder goes away and comes back; the model is changed on data that is there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from memsidecar_client import (
    AsyncMemsidecar,
    Fact,
    FailedPrecondition,
    Filter,
    Memory,
    Tier,
    TierOutcome,
    Unavailable,
    WriteWait,
)

from tests.doubles.embedding_server import EmbeddingServer, Json, Reply, embedding_server
from tests.e2e.process import CLEAN, Launch, verify
from tests.e2e.story import ALL, QUESTIONS, TURNS, vector
from tests.sidecar import Sidecar

TEXTS = [text for _, text in TURNS]


@pytest.fixture
async def provider() -> AsyncIterator[EmbeddingServer]:
    async with embedding_server() as server:
        yield server


def _settings(provider: EmbeddingServer, model: str = "fake") -> dict[str, str]:
    return {
        "embedding.provider": "openai",
        "embedding.model": model,
        "embedding.dimensions": "64",
        "embedding.base_url": provider.base_url,
        "embedding.timeout": "1",
        "embedding.cache_mb": "0",
    }


class Outage:
    """For the block, a provider that answers every request with 503."""

    def __init__(self, provider: EmbeddingServer) -> None:
        self._provider = provider

    def __enter__(self) -> None:
        self._provider.replies.extend(Reply(503, "{}") for _ in range(10_000))

    def __exit__(self, *_: object) -> None:
        self._provider.replies.clear()


async def _vector_tier(client: AsyncMemsidecar, question: str) -> tuple[TierOutcome, int]:
    found = await client.recall(question, tiers=[Tier.VECTOR, Tier.KEYWORD, Tier.GRAPH], max_hits=50)
    (report,) = [r for r in found.tiers if r.tier is Tier.VECTOR]
    assert found.degraded is (report.outcome in (TierOutcome.UNAVAILABLE, TierOutcome.TIMED_OUT))
    return report.outcome, report.hit_count


async def _until_found(client: AsyncMemsidecar, count: int) -> None:
    """Until so many memories are found by meaning."""
    async with asyncio.timeout(40):
        while True:
            outcome, hits = await _vector_tier(client, "anything at all")
            if outcome is TierOutcome.OK and hits >= count:
                return
            await asyncio.sleep(0.1)


async def test_vectors_of_an_outage_arrive_by_themselves_even_after_a_kill(
    launch: Launch, provider: EmbeddingServer
) -> None:
    sidecar = await _started(launch, _settings(provider))
    async with AsyncMemsidecar(sidecar.target, user="ann", timeout=30) as client:
        assert not (await client.remember(TEXTS[2])).outcomes[0].embedding_pending
        with Outage(provider):
            found = await client.recall("jasmine tea")
            assert found.degraded
            outcomes = {report.tier: report.outcome for report in found.tiers}
            assert outcomes[Tier.VECTOR] is TierOutcome.UNAVAILABLE
            assert outcomes[Tier.KEYWORD] is TierOutcome.OK
            assert "jasmine" in found.hits[0].memory.text
        assert not (await client.recall("jasmine tea")).degraded
        with Outage(provider):
            told = await client.remember(TEXTS[3])  # waits for the model, gives up, is stored all the same
            assert told.outcomes[0].embedding_pending
        await _until_found(client, 2)

        with Outage(provider):
            later = await client.remember_many(TEXTS[4:], wait=WriteWait.DURABLE)
            assert all(result.outcomes[0].embedding_pending for result in later.results)
            await asyncio.to_thread(sidecar.kill)
        await asyncio.to_thread(sidecar.start)
        await _until_found(client, 2 + len(TEXTS[4:]))
        found = await client.recall(TEXTS[5], tiers=[Tier.VECTOR])
        assert found.hits[0].memory.text == TEXTS[5]
    assert await asyncio.to_thread(sidecar.stop) == 0
    assert await asyncio.to_thread(verify, sidecar.data_dir, _settings(provider)) == CLEAN


async def test_a_start_does_not_wait_for_a_model_that_is_away_and_of_unknown_size(
    launch: Launch, provider: EmbeddingServer
) -> None:
    settings = {**_settings(provider), "embedding.dimensions": "0"}
    with Outage(provider):
        sidecar = await _started(launch, settings)
        async with AsyncMemsidecar(sidecar.target, user="ann", timeout=30) as client:
            assert (await client.server_info()).embedding_dimension == 0
            told = await client.remember(TEXTS[0])
            assert told.outcomes[0].embedding_pending
            found = await client.recall(TEXTS[0])
            assert found.degraded
            assert found.hits[0].memory.text == TEXTS[0]
            with pytest.raises(Unavailable, match=r"set embedding\.dimensions"):
                await client.remember("with a vector", embedding=[1.0, 0.0], timeout=2)
    async with AsyncMemsidecar(sidecar.target, user="ann", timeout=30) as client:
        await _until_found(client, 1)
        assert (await client.server_info()).embedding_dimension == 64
    assert await asyncio.to_thread(sidecar.stop) == 0
    with Outage(provider):  # the size is that of the vectors which are stored
        await asyncio.to_thread(sidecar.start)
        async with AsyncMemsidecar(sidecar.target, user="ann", timeout=30) as client:
            assert (await client.server_info()).embedding_dimension == 64
            assert (await client.recall(TEXTS[0])).degraded
    assert await asyncio.to_thread(sidecar.stop) == 0
    assert await asyncio.to_thread(verify, sidecar.data_dir, settings) == CLEAN


async def test_vectors_of_two_models_never_meet(
    launch: Launch, provider: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same size, so that nothing but the model's name tells them apart."""
    sidecar = await _started(launch, _settings(provider, "first"))
    async with AsyncMemsidecar(sidecar.target, user="ann", timeout=30) as client:
        await client.remember_many([Fact(text) for text in TEXTS])
        await _until_found(client, len(TEXTS))
        names = {m.name async for m in client.list_memories()}
    assert await asyncio.to_thread(sidecar.stop) == 0

    embedded, rows = asyncio.Event(), provider.rows

    async def rows_in_time(request: Json) -> list[Json]:
        if set(TEXTS) & set(request["input"]):
            await embedded.wait()
        return await rows(request)

    monkeypatch.setattr(provider, "rows", rows_in_time)
    sidecar = await _started(launch, {**_settings(provider, "second"), "embedding.timeout": "60"})
    async with AsyncMemsidecar(sidecar.target, user="ann", timeout=30) as client:
        # Nothing of the new model yet: what the old one says is not used, words are.
        found = await client.recall("jasmine tea")
        assert "jasmine" in found.hits[0].memory.text
        assert (await client.recall("jasmine tea", tiers=[Tier.VECTOR])).hits == ()
        embedded.set()
        await _until_found(client, len(TEXTS))
        assert {m.name async for m in client.list_memories()} == names
    assert {request["model"] for request in provider.requests[-2:]} == {"second"}
    assert await asyncio.to_thread(sidecar.stop) == 0
    assert await asyncio.to_thread(verify, sidecar.data_dir, _settings(provider, "second")) == CLEAN


def _uncounted(memory: Memory) -> Memory:
    """Without the counts of recalls, which asking changes."""
    return replace(memory, access_count=0, last_access_time=None)


async def test_a_local_model_may_be_changed_on_data_that_is_there(launch: Launch) -> None:
    local = {"embedding.model": "", "embedding.dimensions": "0"}
    sidecar = await _started(launch, {**local, "embedding.provider": "use"})
    async with AsyncMemsidecar(sidecar.target, user="ann", timeout=30) as client:
        await client.remember_many(TEXTS)
        model = (await client.server_info()).embedding_model
        before = [_uncounted(m) async for m in client.list_memories(ALL)]
    assert await asyncio.to_thread(sidecar.stop) == 0
    sidecar = await _started(launch, {**local, "embedding.provider": "e5"})
    async with AsyncMemsidecar(sidecar.target, user="ann", timeout=30) as client:
        assert (await client.server_info()).embedding_model != model
        for question in QUESTIONS:  # meanwhile
            assert (await client.recall(question)).hits
        await _until_found(client, len(TEXTS))
        assert [_uncounted(m) async for m in client.list_memories(ALL)] == before
        assert (await client.recall(TEXTS[3], tiers=[Tier.VECTOR])).hits[0].memory.text == TEXTS[3]
    assert await asyncio.to_thread(sidecar.stop) == 0
    assert await asyncio.to_thread(verify, sidecar.data_dir, {**local, "embedding.provider": "e5"}) == CLEAN


async def test_clients_vectors_of_another_size_are_refused_with_the_way_out(launch: Launch) -> None:
    sidecar = await _started(launch, {})
    async with AsyncMemsidecar(sidecar.target, user="ann") as client:
        kept = (await client.remember(Fact("kept"), embedding=vector("kept"))).memories[0]
        wrong = [0.5] * 8
        for call in (
            client.remember("wrong", embedding=wrong),
            client.create_memory(Fact("wrong"), embedding=wrong),
            client.update_memory(kept, fields=["fact.statement"], embedding=wrong),
            client.recall("kept", embedding=wrong),
        ):
            with pytest.raises(FailedPrecondition) as refused:
                await call
            assert refused.value.reason == "EMBEDDING_DIMENSION_MISMATCH"
            assert refused.value.metadata["expected_dimension"] == str(len(vector("")))
            assert "set embedding.dimensions" in str(refused.value)
        assert [m.text async for m in client.list_memories(Filter())] == ["kept"]


async def _started(launch: Launch, settings: dict[str, str]) -> Sidecar:
    # In a thread: the provider that it calls lives in this loop.
    return await asyncio.to_thread(launch, settings)
