"""An OpenAI-compatible embeddings endpoint on the loopback, which answers as a test tells it to."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.hash_embedder import HashEmbedder
from tests.doubles.loopback import listening

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    status: int = 200
    body: Json | str | None = None
    """None is the right answer."""
    headers: dict[str, str] = field(default_factory=dict)
    never: bool = False
    """Takes the request and says nothing."""


class EmbeddingServer:
    """Gives the vectors of a HashEmbedder, unnormalised, last row first: as the protocol allows.

    `replies` is used up first, one for each request; `refuse` picks texts that make a request fail with 400.
    """

    def __init__(self, dimensions: int = 64) -> None:
        self.base_url = ""
        self.requests: list[Json] = []
        self.authorizations: list[str] = []
        self.replies: deque[Reply] = deque()
        self.refuse: Callable[[str], bool] = lambda text: False
        self.received = asyncio.Event()
        self._embedder = HashEmbedder(dimensions, max_chars=100_000)

    async def rows(self, request: Json) -> list[Json]:
        vectors = 3 * await self._embedder.embed(request["input"])
        as_base64 = request.get("encoding_format") == "base64"
        return [
            {
                "object": "embedding",
                "index": index,
                "embedding": base64.b64encode(row.tobytes()).decode() if as_base64 else row.tolist(),
            }
            for index, row in reversed(list(enumerate(vectors)))
        ]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                headers = dict(line.split(": ", 1) for line in head.decode().lower().split("\r\n")[1:] if line)
                body = await reader.readexactly(int(headers["content-length"]))
                raw = next(line for line in head.decode().split("\r\n") if line.lower().startswith("authorization"))
                self.authorizations.append(raw.split(": ", 1)[1])
                self.requests.append(json.loads(body))
                self.received.set()
                await self._reply(writer, self.requests[-1])
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writer.close()

    async def _reply(self, writer: asyncio.StreamWriter, request: Json) -> None:
        reply = self.replies.popleft() if self.replies else Reply()
        if reply.never:
            await asyncio.Event().wait()
        if reply == Reply() and any(map(self.refuse, request["input"])):
            reply = Reply(400, {"error": {"message": f"too long: {request['input']}"}})
        content = reply.body if reply.body is not None else {"object": "list", "data": await self.rows(request)}
        data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        headers = {"content-type": "application/json", "content-length": str(len(data)), **reply.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{lines}\r\n".encode() + data)
        await writer.drain()


@asynccontextmanager
async def embedding_server(dimensions: int = 64) -> AsyncIterator[EmbeddingServer]:
    server = EmbeddingServer(dimensions)
    async with listening(server.serve) as server.base_url:
        yield server
