"""A server that ranks, by chat or at /rerank, on the loopback; it answers as a test tells it to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.doubles.loopback import listening

Json = dict[str, Any]


def by_length(query: str, texts: list[str]) -> list[float]:
    return [1 / (1 + len(text)) for text in texts]


class RankingServer:
    """`score` gives the scores of a right answer; `reply` (status, body) is sent instead when it is set.

    While `go` is cleared it takes requests and says nothing.
    """

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[tuple[str, Json]] = []
        self.authorizations: list[str] = []
        self.score: Callable[[str, list[str]], list[float]] = by_length
        self.reply: tuple[int, Any] | None = None
        self.go, self.received = asyncio.Event(), asyncio.Event()
        self.go.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                lines = head.split("\r\n")
                headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:] if line)}
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                path = lines[0].split()[1]
                self.requests.append((path, body))
                self.authorizations.append(headers.get("authorization", ""))
                self.received.set()
                await self.go.wait()
                status, answer = self.reply or (200, self._right(path, body))
                data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                writer.write(
                    f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n"
                    f"content-length: {len(data)}\r\n\r\n".encode()
                    + data
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writer.close()

    def _right(self, path: str, body: Json) -> Json:
        """Last document first: as both protocols allow."""
        if path.endswith("/rerank"):
            scores = self.score(body["query"], body["documents"])
            found = [{"index": i, "relevance_score": s} for i, s in enumerate(scores)]
            return {"results": found[::-1]}
        asked = json.loads(body["messages"][-1]["content"])
        scores = self.score(asked["question"], [each["text"] for each in asked["documents"]])
        return chat_answer([{"document": i, "score": s} for i, s in enumerate(scores)][::-1])


def chat_answer(scores: Any) -> Json:
    return {"choices": [{"message": {"role": "assistant", "content": json.dumps({"scores": scores})}}]}


@asynccontextmanager
async def ranking_server() -> AsyncIterator[RankingServer]:
    server = RankingServer()
    async with listening(server.serve) as server.base_url:
        yield server
