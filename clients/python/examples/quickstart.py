"""Remembers, recalls as hits arrive, and keeps a conversation. Run beside a sidecar:

python quickstart.py [unix:///path/to/memsidecar.sock]
"""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

from memsidecar_client import (
    AsyncMemsidecar,
    Fact,
    HitFound,
    Item,
    Message,
    RecallDone,
    Role,
)


async def main(target: str) -> None:
    async with AsyncMemsidecar(target, user="ana", agent="quickstart") as memory:
        info = await memory.ready(timeout=30)
        print(f"memsidecar {info.version} embeds with {info.embedding_model}")

        written = await memory.remember_many(
            [
                "We decided to ship on Friday.",
                Item("The demo failed because the token had expired.", speaker="Ben"),
                Fact("Ana leads the platform team", predicate="leads", object_text="platform team"),
            ]
        )
        for failure in written.failures:
            print(f"item {failure.index} was refused: {failure.error}")

        async with memory.recall_stream("Why did the demo fail?", min_revision=written.revision) as events:
            async for event in events:
                match event:
                    case HitFound(hit):
                        print(f"found by {hit.tier}: {hit.text}")
                    case RecallDone(result):
                        print(f"{len(result.hits)} hits, confidence {result.confidence:.2f}")

        chat = memory.session("quickstart")
        await chat.create(ttl=timedelta(minutes=10))
        await chat.append([Message(Role.USER, "What did we decide?"), Message(Role.ASSISTANT, "To ship on Friday.")])
        await chat.set_scratch({"plan": {"step": 2}})
        window = await chat.window(max_tokens=4000)
        print(f"{len(window.messages)} messages, {window.token_count} tokens")
        await chat.delete()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ""))
