"""A reranker's server, asked by the real process."""

from __future__ import annotations

import asyncio

import pytest
from memsidecar_client import AsyncMemsidecar, Fact, Tier, TierOutcome

from tests.doubles.ranking_server import ranking_server
from tests.e2e.process import Launch


@pytest.mark.parametrize("provider", ["openai", "rerank"])
async def test_the_models_order_stands_while_it_answers(launch: Launch, provider: str) -> None:
    async with ranking_server() as server:
        settings = {"reranker.provider": provider, "reranker.model": "m", "reranker.base_url": server.base_url}
        sidecar = launch(settings, start=False)
        await asyncio.to_thread(sidecar.start)
        async with AsyncMemsidecar(sidecar.target, user="ann") as client:
            for text in ("tea, tea and tea again", "tea, as she said", "tea"):
                await client.create_memory(Fact(text))
            found = await client.recall("tea again, as she said", max_hits=2)
            assert [hit.memory.text for hit in found.hits] == ["tea", "tea, as she said"]
            assert found.tiers[-1].tier is Tier.RERANKER
            assert found.tiers[-1].outcome is TierOutcome.OK
            assert not found.degraded
            server.reply = (500, {})
            found = await client.recall("tea again, as she said", max_hits=2)
            assert [hit.memory.text for hit in found.hits] != ["tea", "tea, as she said"]
            assert (len(found.hits), found.degraded) == (2, True)
            assert found.tiers[-1].outcome is TierOutcome.UNAVAILABLE
