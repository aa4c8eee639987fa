"""A process that has done a little of everything, with all of its models, and what it then shows."""

from __future__ import annotations

import asyncio
from pathlib import Path

from memsidecar_client import AsyncMemsidecar, Fact, MemsidecarError, Message, Recalled, Role

from tests.doubles.chat_server import ChatServer, chat_server
from tests.doubles.embedding_server import EmbeddingServer, embedding_server
from tests.doubles.ranking_server import RankingServer, ranking_server
from tests.metrics.scrape import fetch, free_port, shown_on
from tests.sidecar import Sidecar

TOKEN = "of-the-scenario"


async def shown_after_a_little_of_everything(folder: Path) -> str:
    """The metrics, as text. Everything that is measured has a value then, but for what goes wrong."""
    port = free_port()
    token = folder / "token"
    token.write_text(TOKEN)
    async with embedding_server() as embedding, chat_server() as chat, ranking_server() as ranking:
        settings = {"token_file": str(token), **shown_on(port), **_models(embedding, chat, ranking)}
        with Sidecar(folder / "data", settings) as sidecar:
            await _a_little_of_everything(sidecar)
            return await asyncio.to_thread(lambda: fetch(port)[1])


def _models(embedding: EmbeddingServer, chat: ChatServer, ranking: RankingServer) -> dict[str, str]:
    return {
        "embedding.provider": "openai",
        "embedding.model": "m",
        "embedding.dimensions": "64",
        "embedding.base_url": embedding.base_url,
        "extraction.mode": "llm",
        "extraction.model": "m",
        "extraction.base_url": chat.base_url,
        "reranker.provider": "rerank",
        "reranker.model": "m",
        "reranker.base_url": ranking.base_url,
    }


async def _a_little_of_everything(sidecar: Sidecar) -> None:
    async with AsyncMemsidecar(sidecar.target, user="ann", token=TOKEN) as client:
        for text in ("tea, tea and tea again", "tea, as she said", "tea"):
            await client.create_memory(Fact(text))
        done = await client.remember("Well, my heart has been set on the tuba for ages.", session="s1")
        await client.remember("I live in Rome.")
        await client.remember("I moved to Oslo last week.")
        session = await client.session("s1").create()
        await client.session("s1").append([Message(Role.USER, "and the tea?")])
        await client.recall("tea again, as she said", max_hits=2)
        await client.recall("and the newest tea?", conversation=session)
        async with client.generation("What about tea?") as generation:
            await generation.feed("She had tea again, as she said. ")
            while not isinstance(await anext(generation), Recalled):
                pass
        for job in done.stages.jobs:
            async with client.watch_job(job) as changes:
                async for _ in changes:
                    pass
    async with AsyncMemsidecar(sidecar.target, user="ann", token="another") as stranger:
        try:
            await stranger.recall("tea")
        except MemsidecarError:
            return
    raise AssertionError("a stranger was served")
