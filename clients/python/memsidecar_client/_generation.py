"""Recall while a model writes: text goes out as it appears, memories come in as they become relevant."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

from memsidecar_client._arguments import Named, invalid
from memsidecar_client._connection import Connection
from memsidecar_client._enums import FeedbackKind, GenerationOutcome, TextSource
from memsidecar_client._errors import DeadlineExceeded, MemsidecarError
from memsidecar_client._generation_run import GenerationRun
from memsidecar_client._generation_values import (
    GenerationEvent,
    GenerationSummary,
    GenerationTerms,
    Recalled,
    Watermark,
)
from memsidecar_client._memory_values import Memory
from memsidecar_client._openai import Halves, texts_of
from memsidecar_client._recall_values import Hit

C = TypeVar("C")
T = TypeVar("T")


class AsyncGeneration(Named, AsyncIterator[GenerationEvent]):
    """`async with` opens the stream; leaving the block finishes it, leaving it by an exception abandons it.

    Feed it what the model writes, or let it follow the model's stream. What becomes relevant comes as events: iterate
    over them in a task of their own, or take what is there with `new_events` or `new_memories`; both take from the same
    queue. Everything counts code points, as Python's strings do.

    When the connection breaks or the sidecar is restarted, the stream goes on by itself with all that was fed, and
    nothing is sent twice; `feed` does not wait for it. What stopped being true meanwhile is taken back after `Resumed`.
    While there is anything that may have to be taken back, the stream is kept alive, however long nothing is fed. What
    cannot be mended is raised as MemsidecarError by whatever is called next, and by leaving the block.
    """

    def __init__(
        self,
        connection: Connection,
        run: GenerationRun,
        remember: bool,
        feedback: Callable[[str, FeedbackKind], Awaitable[object]],
    ) -> None:
        self._connection = connection
        self._run = run
        self._remember = remember
        self._feedback = feedback

    async def __aenter__(self) -> Self:
        await self._run.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                await self.finish()
        finally:
            await self._run.close()

    def __aiter__(self) -> Self:
        self._run.check_entered()
        return self

    async def __anext__(self) -> GenerationEvent:
        event = await self.next_event()
        if event is None:
            raise StopAsyncIteration
        return event

    async def next_event(self) -> GenerationEvent | None:
        """The next event; None once the generation is over. Waiting for it may be cancelled or timed out."""
        self._run.check_entered()
        await self._run.inbox.wait()
        event = self._run.inbox.take()
        if event is None:
            self._run.raise_once()
        return event

    async def feed(self, text: str, source: TextSource = TextSource.MODEL) -> None:
        """What the model has just written, a token or a page.

        Small texts are joined for up to 20 ms, or to a sentence's end. Raises InvalidArgument for half a surrogate
        pair and for NUL, which are not fed; and, which ends the generation, when all text is more than 1 MiB of UTF-8.
        """
        if "\0" in text:
            raise invalid("text", "holds a NUL character")
        self._run.feed(text, source)
        # A loop that never waits would keep the text, and the memories, from going anywhere.
        await asyncio.sleep(0)

    async def flush(self, timeout: float | None = None) -> Watermark:
        """Sends and evaluates all text that was fed, and waits until that is done and what was found has come.

        Raises DeadlineExceeded after `timeout` seconds (default: the client's).
        """
        return await self._within(timeout, self._run.flush(), "the text was not considered in time")

    async def credit(self, hits: int) -> None:
        """Lets the server send this many more hits, 1 to 1000. Needed only when `auto_credit` is off."""
        self._run.allow(hits)

    async def rewind(self, seq: int) -> None:
        """Drops all text after the piece numbered `seq`, 0 for all: a retry, a rejected tool call.

        What it brought has been sent, or is on its way: `Recalled.trigger_seq` and `span` are those of the text before.
        Raises ValueError when there is no such piece.
        """
        self._run.rewind(seq)

    async def rewind_to(self, length: int) -> None:
        """Drops all text after the first `length` code points. Raises ValueError when there are fewer."""
        self._run.rewind_to(length)

    async def feedback(self, memory: str | Hit | Memory, kind: FeedbackKind) -> None:
        """Says what a recalled memory was worth.

        A call of its own, as `feedback` of the client: answered, and repeated when the connection breaks.
        """
        name = memory if isinstance(memory, str) else (memory.memory if isinstance(memory, Hit) else memory).name
        await self._feedback(name, kind)

    async def finish(
        self,
        outcome: GenerationOutcome = GenerationOutcome.COMPLETED,
        *,
        remember: bool | None = None,
        timeout: float | None = None,
    ) -> GenerationSummary:
        """Ends the generation and gives its summary; all text has been sent by then. Harmless to repeat.

        With `remember` (default: what the generation was opened with) the prompt and what the model wrote go to the
        session, if there is one, and to long-term memory. `flush` first to be sure of what the last text brings up.
        Raises Unavailable when the connection breaks before the answer and it is unknown whether it was remembered.
        """
        wanted = self._remember if remember is None else remember
        return await self._within(timeout, self._run.finish(outcome, wanted), "the generation was not finished in time")

    def follow(self, stream: AsyncIterable[C]) -> AsyncIterator[C]:
        """The same chunks, while what they say is fed: of OpenAI's Chat Completions or Responses, or plain texts.

        Nothing of the memory interrupts the model: whatever ends the generation, `on_event` that raises, `finish` in
        the loop, the chunks go on without being fed, and leaving the block raises what there is to raise. What the
        stream itself raises is raised. A character that two chunks share is put together; half of one, and NUL, are fed
        as U+FFFD.
        """
        return _Following(stream, self)

    def new_events(self) -> list[GenerationEvent]:
        """All events that nobody has taken yet, without waiting."""
        events = []
        while (event := self._run.inbox.take()) is not None:
            events.append(event)
        return events

    def new_memories(self) -> list[Recalled]:
        """The memories among `new_events` that still hold; other events are dropped, `memories` knows of them."""
        held = self._run.inbox.held
        return [event for event in self.new_events() if isinstance(event, Recalled) and event.hit.memory.name in held]

    @property
    def memories(self) -> tuple[Hit, ...]:
        """All that was recalled so far and still holds, in the order of arrival."""
        return tuple(self._run.inbox.held.values())

    @property
    def terms(self) -> GenerationTerms:
        """What the server settled on."""
        return self._run.terms

    @property
    def seq(self) -> int:
        """The number of the last piece of text, 0 before the first."""
        return self._run.script.seq

    @property
    def length(self) -> int:
        """Code points of all text fed so far, less what was rewound."""
        return self._run.script.length

    @property
    def result(self) -> GenerationSummary | None:
        """The summary, once finished."""
        return self._run.result

    def _feed_chunk(self, chunk: object, halves: Halves) -> bool:
        """Whether there was text in it."""
        texts = [(halves.joined(text, source), source) for text, source in texts_of(chunk)]
        self._feed_if_going(texts)
        return bool(texts)

    def _feed_rest(self, halves: Halves) -> None:
        self._feed_if_going(halves.rest())

    def _feed_if_going(self, texts: Iterable[tuple[str, TextSource]]) -> None:
        with suppress(MemsidecarError):
            for text, source in texts:
                if self._run.going:
                    self._run.feed(text, source)

    async def _within(self, timeout: float | None, answer: asyncio.Future[T], otherwise: str) -> T:
        try:
            async with asyncio.timeout(self._connection.deadline(timeout)):
                return await answer
        except TimeoutError:
            raise DeadlineExceeded(otherwise, code="DEADLINE_EXCEEDED") from None


class _Following(AsyncIterator[C]):
    def __init__(self, stream: AsyncIterable[C], generation: AsyncGeneration) -> None:
        self._chunks = aiter(stream)
        self._generation = generation
        self._halves = Halves()

    async def __anext__(self) -> C:
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._generation._feed_rest(self._halves)
            raise
        if self._generation._feed_chunk(chunk, self._halves):
            await asyncio.sleep(0)
        return chunk
