"""What a model has cost, as its server tells it."""

from __future__ import annotations

import pytest

from memsidecar.adapters.openai_models import OpenAIEmbedder, OpenAIReranker, OpenAISettings, RerankerSettings
from memsidecar.adapters.openai_models.usage import Usage
from memsidecar.domain.errors import ModelUnavailable
from tests.doubles.embedding_server import Reply, embedding_server
from tests.doubles.ranking_server import by_length, ranking_server


async def no_wait(_: float) -> None:
    return None


async def test_an_embedder_counts_requests_retries_and_tokens_and_shows_that_it_leaves_a_server_alone() -> None:
    async with embedding_server() as server:
        embedder = OpenAIEmbedder(
            OpenAISettings(model="m", base_url=server.base_url, breaker_failures=2), sleep=no_wait
        )
        rows = await server.rows({"input": ["tea"]})
        server.replies += [Reply(500, {}), Reply(body={"data": rows, "usage": {"prompt_tokens": 3, "total_tokens": 3}})]
        await embedder.embed(["tea"])
        assert embedder.usage == Usage(calls=2, retries=1, prompt_tokens=3)
        assert not embedder.left_alone
        server.replies += [Reply(500, {})] * 9
        with pytest.raises(ModelUnavailable):
            await embedder.embed(["tea"])
        assert embedder.left_alone
        await embedder.close()


async def test_a_reranker_counts_what_its_server_tells() -> None:
    async with ranking_server() as server:
        reranker = OpenAIReranker(RerankerSettings(model="m", ask="rerank", base_url=server.base_url))
        scores = [{"index": i, "relevance_score": s} for i, s in enumerate(by_length("q", ["a", "bb"]))]
        server.reply = (200, {"results": scores, "usage": {"total_tokens": 11}})
        await reranker.rank("q", ["a", "bb"])
        assert reranker.usage == Usage(calls=1, prompt_tokens=11)
        assert not reranker.left_alone
        await reranker.close()


@pytest.mark.parametrize("told", [None, "7", [], {"prompt_tokens": "7"}, {"prompt_tokens": -1}, {"total_tokens": True}])
def test_what_is_no_count_costs_nothing(told: object) -> None:
    usage = Usage()
    usage.add(told)
    assert usage == Usage()
