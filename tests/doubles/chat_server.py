"""An OpenAI-compatible chat endpoint on the loopback, which answers as a test tells it to."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.loopback import listening

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent: a body as it is, or a completion around what a model says."""

    says: Any = ""
    """The message's content; what is no text is sent as JSON in it."""
    status: int = 200
    finish: str = "stop"
    body: bytes | None = None
    message: Json = field(default_factory=dict)
    """What else is in the message."""
    headers: dict[str, str] = field(default_factory=dict)
    never: bool = False
    """Takes the request and says nothing."""

    def data(self) -> bytes:
        if self.body is not None:
            return self.body
        content = self.says if isinstance(self.says, str | None) else json.dumps(self.says, ensure_ascii=False)
        message = {"role": "assistant", "content": content, **self.message}
        return json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "choices": [{"index": 0, "message": message, "finish_reason": self.finish}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
            }
        ).encode()


def refusal(status: int, message: str, **error: Any) -> Reply:
    return Reply(status=status, body=json.dumps({"error": {"message": message, **error}}).encode())


class ChatServer:
    """`replies` is used up first, one for each request; then `answer` is asked, which finds no claims by default."""

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[Json] = []
        self.authorizations: list[str] = []
        self.replies: deque[Reply] = deque()
        self.answer: Callable[[Json], Reply] = lambda request: Reply({"claims": []})
        self.received = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                lines = head.split("\r\n")
                headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:] if line)}
                assert lines[0].split()[1] == "/v1/chat/completions"
                self.requests.append(json.loads(await reader.readexactly(int(headers["content-length"]))))
                self.authorizations.append(headers.get("authorization", ""))
                self.received.set()
                reply = self.replies.popleft() if self.replies else self.answer(self.requests[-1])
                if reply.never:
                    await asyncio.Event().wait()
                data = reply.data()
                sent = {"content-type": "application/json", "content-length": str(len(data)), **reply.headers}
                fields = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
                writer.write(f"HTTP/1.1 {reply.status} X\r\n{fields}\r\n".encode() + data)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writer.close()


def turns_shown(request: Json) -> Sequence[Json]:
    """The turns of a request, as the model reads them."""
    lines = request["messages"][1]["content"].split("\n")
    assert lines[0].startswith("BEGIN ")
    assert lines[-1] == lines[0].replace("BEGIN", "END")
    return [json.loads(line) for line in lines[1:-1]]


@asynccontextmanager
async def chat_server() -> AsyncIterator[ChatServer]:
    server = ChatServer()
    async with listening(server.serve) as server.base_url:
        yield server
