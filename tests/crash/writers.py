"""A client that writes whatever comes to its mind, until the process is gone; and that tries again afterwards."""

from __future__ import annotations

import random
import uuid
from collections.abc import Awaitable, Callable
from typing import TypeVar

from memsidecar_client import (
    AsyncMemsidecar,
    Fact,
    Memory,
    MemsidecarError,
    Message,
    Role,
    WriteWait,
)

from tests.crash.model import GONE, Content, Doubt, Known

_T = TypeVar("_T")

WORDS = "anchor birch copper dawn ember fjord garden harbour island juniper kettle lantern 北京 上海 花生 音乐".split()


class ProcessGone(Exception):
    """The process was killed before it answered."""


class WritingClient:
    """One of several clients of a user; it changes only what it wrote itself. `number` makes its texts its own."""

    def __init__(self, number: int, user: str, dice: random.Random) -> None:
        self.number, self.user, self._dice = number, user, dice
        self.known = Known()
        self._retries: list[Callable[[AsyncMemsidecar], Awaitable[None]]] = []

    @property
    def session(self) -> str:
        return f"session-{self.number}"

    async def write_until_killed(self, client: AsyncMemsidecar) -> int:
        """The number of acknowledged calls."""
        kinds = (self._remember, self._batch, self._stream, self._update, self._delete, self._purge, self._append)
        calls = 0
        try:
            while True:
                await self._dice.choices(kinds, (6, 2, 1, 3, 2, 1, 4))[0](client)
                calls += 1
        except ProcessGone:
            return calls

    async def retry(self, client: AsyncMemsidecar) -> None:
        """Send what is in doubt again, with the same request ids. Every one must succeed."""
        retries, self._retries = self._retries, []
        for again in retries:
            await again(client)
        assert not self._retries
        self.known.doubts.clear()
        self.known.messages_in_doubt = ()

    async def create_session(self, client: AsyncMemsidecar) -> None:
        await client.session(self.session, user=self.user).create()

    # Each write is kept as a function, so that it can be sent again as it was.

    async def _remember(self, client: AsyncMemsidecar) -> None:
        (text,) = self._texts(1)
        doubt = Doubt("remember", str(uuid.uuid4()), (text,))

        async def send(client: AsyncMemsidecar) -> None:
            told = await client.remember(Fact(text), user=self.user, session=self.session, request_id=doubt.request_id)
            self.known.memories[told.memories[0].name] = (text, False)

        await self._send(client, doubt, send)

    async def _batch(self, client: AsyncMemsidecar) -> None:
        doubt = Doubt("batch", str(uuid.uuid4()), self._texts(self._dice.randint(2, 40)))
        wait = self._dice.choice((WriteWait.DURABLE, WriteWait.SEARCHABLE))

        async def send(client: AsyncMemsidecar) -> None:
            told = await client.remember_many(
                [Fact(text) for text in doubt.texts], user=self.user, wait=wait, request_id=doubt.request_id
            )
            assert not told.failures
            for text, result in zip(doubt.texts, told.results, strict=True):
                self.known.memories[result.outcomes[0].memory.name] = (text, False)

        await self._send(client, doubt, send)

    async def _stream(self, client: AsyncMemsidecar) -> None:
        """Each chunk is all or nothing; the whole is acknowledged at its end."""
        request_id = str(uuid.uuid4())
        chunks = [Doubt(f"chunk {n}", request_id, self._texts(self._dice.randint(2, 12))) for n in range(3)]

        async def send(client: AsyncMemsidecar) -> None:
            async with client.remember_stream(user=self.user, request_id=request_id) as stream:
                for chunk in chunks:
                    await stream.send([Fact(text) for text in chunk.texts])
                summary = await stream.finish()
            assert (summary.received, summary.failure_count) == (sum(len(c.texts) for c in chunks), 0)
            # A stream does not name its memories.
            wanted = {text for chunk in chunks for text in chunk.texts}
            found = {m.name: m.text async for m in client.list_memories(user=self.user, page_size=1000)}
            named = {name: (text, False) for name, text in found.items() if text in wanted}
            assert len(named) == len(wanted)
            # Only now: killed between two pages, it would know some of a chunk and doubt the rest.
            self.known.memories.update(named)

        self.known.doubts += chunks
        await self._attempt(client, send)
        self.known.doubts = [d for d in self.known.doubts if d not in chunks]

    async def _update(self, client: AsyncMemsidecar) -> None:
        if (name := self._mine(deleted=False)) is None:
            return
        (text,) = self._texts(1)
        doubt = Doubt("update", str(uuid.uuid4()), (), {name: (text, False)})

        async def send(client: AsyncMemsidecar) -> None:
            changed = Memory(Fact(text), name=name)
            await client.update_memory(changed, fields=["fact.statement"], request_id=doubt.request_id)
            self.known.memories[name] = (text, False)

        await self._send(client, doubt, send)

    async def _delete(self, client: AsyncMemsidecar) -> None:
        """Deletes, or brings back what was deleted."""
        deleted = self._dice.random() < 0.4
        if (name := self._mine(deleted)) is None:
            return
        content = self.known.memories[name]
        assert content is not None
        after: Content = (content[0], not deleted)
        doubt = Doubt("undelete" if deleted else "delete", str(uuid.uuid4()), (), {name: after})

        async def send(client: AsyncMemsidecar) -> None:
            if deleted:
                await client.undelete_memory(name, request_id=doubt.request_id)
            else:
                await client.delete_memory(name, request_id=doubt.request_id)
            self.known.memories[name] = after

        await self._send(client, doubt, send)

    async def _purge(self, client: AsyncMemsidecar) -> None:
        if (name := self._mine(self._dice.random() < 0.3)) is None:
            return
        doubt = Doubt("purge", str(uuid.uuid4()), (), {name: GONE})

        async def send(client: AsyncMemsidecar) -> None:
            await client.delete_memory(name, purge=True, request_id=doubt.request_id)
            self.known.memories[name] = GONE

        await self._send(client, doubt, send)

    async def _append(self, client: AsyncMemsidecar) -> None:
        texts, request_id = self._texts(self._dice.randint(1, 4)), str(uuid.uuid4())

        async def send(client: AsyncMemsidecar) -> None:
            session = client.session(self.session, user=self.user)
            await session.append([Message(Role.USER, text) for text in texts], request_id=request_id)
            self.known.messages += texts

        self.known.messages_in_doubt = texts
        await self._attempt(client, send)
        self.known.messages_in_doubt = ()

    async def _send(
        self, client: AsyncMemsidecar, doubt: Doubt, send: Callable[[AsyncMemsidecar], Awaitable[None]]
    ) -> None:
        self.known.doubts.append(doubt)
        await self._attempt(client, send)
        self.known.doubts.remove(doubt)

    async def _attempt(self, client: AsyncMemsidecar, send: Callable[[AsyncMemsidecar], Awaitable[None]]) -> None:
        try:
            await send(client)
        except MemsidecarError as error:
            if error.code not in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"):
                raise
            self._retries.append(send)
            raise ProcessGone from error

    def _texts(self, count: int) -> tuple[str, ...]:
        """Texts that nobody else writes."""
        texts = []
        for _ in range(count):
            self.known.counter += 1
            texts.append(f"n{self.number}x{self.known.counter} {' '.join(self._dice.choices(WORDS, k=6))}")
        return tuple(texts)

    def _mine(self, deleted: bool) -> str | None:
        names = [name for name, content in self.known.memories.items() if content and content[1] is deleted]
        return self._dice.choice(names) if names else None
