"""The blocking client: the surface of the asyncio one, each method derived from it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self, TypeVar

from memsidecar_client._blocking import Blocking, Pages, blocking, immediate, opening
from memsidecar_client._client import AsyncMemsidecar
from memsidecar_client._defaults import DEFAULT_TIMEOUT
from memsidecar_client._generation import AsyncGeneration
from memsidecar_client._generation_values import GenerationEvent, GenerationSummary, GenerationTerms
from memsidecar_client._job_values import Job
from memsidecar_client._job_watch import AsyncJobWatch
from memsidecar_client._loop_thread import LoopThread
from memsidecar_client._openai import Halves
from memsidecar_client._recall_stream import AsyncRecallStream
from memsidecar_client._recall_values import Hit, RecallEvent
from memsidecar_client._remember_stream import AsyncRememberStream
from memsidecar_client._remember_values import StreamSummary
from memsidecar_client._sessions import AsyncSession
from memsidecar_client._watch import AsyncMemoryWatch
from memsidecar_client._watch_values import WatchEvent

C = TypeVar("C")


class RecallStream(Blocking[AsyncRecallStream], Iterator[RecallEvent]):
    """`with` starts the recall, `for` gives its events, leaving the block cancels what is still running.

    Events of kinds that this client does not know are left out. A failed call raises MemsidecarError from the
    iteration, after the events that came before.
    """

    def __enter__(self) -> Self:
        self._loop.run(self._target.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._target.__aexit__(kind, error, trace))

    def __iter__(self) -> Self:
        self._target.__aiter__()
        return self

    def __next__(self) -> RecallEvent:
        event = self.next_event()
        if event is None:
            raise StopIteration
        return event

    next_event = blocking(AsyncRecallStream.next_event)


class MemoryWatch(Blocking[AsyncMemoryWatch], Iterator[WatchEvent]):
    """`with` begins the watch, `for` gives what it tells, leaving the block ends it, also from another thread.

    All else is as in AsyncMemoryWatch.
    """

    def __enter__(self) -> Self:
        self._loop.run(self._target.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._target.__aexit__(kind, error, trace))

    def __iter__(self) -> Self:
        self._target.__aiter__()
        return self

    def __next__(self) -> WatchEvent:
        event = self.next_event()
        if event is None:
            raise StopIteration
        return event

    @property
    def revision(self) -> str:
        """Where a later watch goes on: the revision of the event that was given last."""
        return self._target.revision

    next_event = blocking(AsyncMemoryWatch.next_event)


class JobWatch(Blocking[AsyncJobWatch], Iterator[Job]):
    """`with` begins the watch, `for` gives the job whenever it has changed, leaving the block ends it.

    All else is as in AsyncJobWatch."""

    def __enter__(self) -> Self:
        self._loop.run(self._target.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._target.__aexit__(kind, error, trace))

    def __iter__(self) -> Self:
        self._target.__aiter__()
        return self

    def __next__(self) -> Job:
        job = self.next_job()
        if job is None:
            raise StopIteration
        return job

    next_job = blocking(AsyncJobWatch.next_job)


class RememberStream(Blocking[AsyncRememberStream]):
    """`with` opens the stream; leaving the block finishes it, leaving it by an exception abandons it.

    Chunks that the server has committed by then stay; nothing further is stored. `result` holds the summary after a
    finish.
    """

    def __enter__(self) -> Self:
        self._loop.run(self._target.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._target.__aexit__(kind, error, trace))

    @property
    def result(self) -> StreamSummary | None:
        return self._target.result

    send = blocking(AsyncRememberStream.send)
    finish = blocking(AsyncRememberStream.finish)


class Generation(Blocking[AsyncGeneration], Iterator[GenerationEvent]):
    """`with` opens the stream; leaving the block finishes it, leaving it by an exception abandons it.

    Feed it what the model writes, or let it follow the model's stream. What becomes relevant comes as events: iterate
    over them in a thread of their own, or take what is there with `new_events` or `new_memories`; both take from the
    same queue. All else is as in AsyncGeneration. With `on_event` the function is called in the client's own thread,
    where the client cannot be used.
    """

    def __enter__(self) -> Self:
        self._loop.run(self._target.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.run(self._target.__aexit__(kind, error, trace))

    def __iter__(self) -> Self:
        self._target.__aiter__()
        return self

    def __next__(self) -> GenerationEvent:
        event = self.next_event()
        if event is None:
            raise StopIteration
        return event

    next_event = blocking(AsyncGeneration.next_event)
    feed = blocking(AsyncGeneration.feed)
    flush = blocking(AsyncGeneration.flush)
    credit = blocking(AsyncGeneration.credit)
    rewind = blocking(AsyncGeneration.rewind)
    rewind_to = blocking(AsyncGeneration.rewind_to)
    feedback = blocking(AsyncGeneration.feedback)
    finish = blocking(AsyncGeneration.finish)
    new_events = immediate(AsyncGeneration.new_events)
    new_memories = immediate(AsyncGeneration.new_memories)

    def follow(self, stream: Iterable[C]) -> Iterator[C]:
        """The same chunks, while what they say is fed: of OpenAI's Chat Completions or Responses, or plain texts.

        Nothing of the memory interrupts the model: whatever ends the generation, `on_event` that raises, `finish` in
        the loop, the chunks go on without being fed, and leaving the block raises what there is to raise. What the
        stream itself raises is raised. A character that two chunks share is put together; half of one, and NUL, are fed
        as U+FFFD.
        """
        halves = Halves()
        for chunk in stream:
            self._feed_chunk(chunk, halves)
            yield chunk
        self._feed_rest(halves)

    _feed_chunk = immediate(AsyncGeneration._feed_chunk)
    _feed_rest = immediate(AsyncGeneration._feed_rest)

    @property
    def memories(self) -> tuple[Hit, ...]:
        """All that was recalled so far and still holds, in the order of arrival."""
        return self._target.memories

    @property
    def terms(self) -> GenerationTerms:
        """What the server settled on."""
        return self._target.terms

    @property
    def seq(self) -> int:
        """The number of the last piece of text, 0 before the first."""
        return self._target.seq

    @property
    def length(self) -> int:
        """Code points of all text fed so far, less what was rewound."""
        return self._target.length

    @property
    def result(self) -> GenerationSummary | None:
        """The summary, once finished."""
        return self._target.result


class SessionHandle(Blocking[AsyncSession]):
    """A handle on a session; making one makes no call. Every method raises MemsidecarError when its call fails."""

    create = blocking(AsyncSession.create)
    get = blocking(AsyncSession.get)
    update = blocking(AsyncSession.update)
    end = blocking(AsyncSession.end)
    end_and_remember = blocking(AsyncSession.end_and_remember)
    delete = blocking(AsyncSession.delete)
    append = blocking(AsyncSession.append)
    messages = opening(AsyncSession.messages, Pages)
    window = blocking(AsyncSession.window)
    set_scratch = blocking(AsyncSession.set_scratch)
    get_scratch = blocking(AsyncSession.get_scratch)
    list_scratch = opening(AsyncSession.list_scratch, Pages)
    delete_scratch = blocking(AsyncSession.delete_scratch)


class Memsidecar(Blocking[AsyncMemsidecar]):
    """A blocking client of one memsidecar: AsyncMemsidecar for programs without an event loop.

    The arguments are those of AsyncMemsidecar. Serves any number of threads. Its calls run in one daemon thread that
    all blocking clients of the process share. Not for use inside a coroutine, whose loop it would block. Close it, or
    use it as a context manager.
    """

    def __init__(
        self,
        target: str = "",
        *,
        namespace: str = "",
        user: str = "",
        agent: str = "",
        token: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        wait_for_ready: bool = True,
        correlation_id: Callable[[], str] | None = None,
    ) -> None:
        client = AsyncMemsidecar(
            target,
            namespace=namespace,
            user=user,
            agent=agent,
            token=token,
            timeout=timeout,
            wait_for_ready=wait_for_ready,
            correlation_id=correlation_id,
        )
        super().__init__(client, LoopThread.acquire())
        self._closing = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cancels calls that are under way and closes the connection. Harmless to repeat."""
        # Taken once and never given back: of several threads that close, one does.
        if not self._closing.acquire(blocking=False):
            return
        try:
            self._loop.run(self._target.close())
        finally:
            self._loop.release()

    ready = blocking(AsyncMemsidecar.ready)
    server_info = blocking(AsyncMemsidecar.server_info)

    remember = blocking(AsyncMemsidecar.remember)
    remember_conversation = blocking(AsyncMemsidecar.remember_conversation)
    remember_many = blocking(AsyncMemsidecar.remember_many)
    remember_stream = opening(AsyncMemsidecar.remember_stream, RememberStream)

    create_memory = blocking(AsyncMemsidecar.create_memory)
    get_memory = blocking(AsyncMemsidecar.get_memory)
    get_memories = blocking(AsyncMemsidecar.get_memories)
    list_memories = opening(AsyncMemsidecar.list_memories, Pages)
    update_memory = blocking(AsyncMemsidecar.update_memory)
    delete_memory = blocking(AsyncMemsidecar.delete_memory)
    undelete_memory = blocking(AsyncMemsidecar.undelete_memory)
    memory_history = opening(AsyncMemsidecar.memory_history, Pages)
    watch_memories = opening(AsyncMemsidecar.watch_memories, MemoryWatch)

    conflicts = opening(AsyncMemsidecar.conflicts, Pages)
    get_conflict = blocking(AsyncMemsidecar.get_conflict)
    resolve_conflict = blocking(AsyncMemsidecar.resolve_conflict)
    undo_resolution = blocking(AsyncMemsidecar.undo_resolution)
    slot_history = opening(AsyncMemsidecar.slot_history, Pages)
    neighbors = opening(AsyncMemsidecar.neighbors, Pages)
    merge_entities = blocking(AsyncMemsidecar.merge_entities)
    undo_merge_entities = blocking(AsyncMemsidecar.undo_merge_entities)

    get_job = blocking(AsyncMemsidecar.get_job)
    jobs = opening(AsyncMemsidecar.jobs, Pages)
    cancel_job = blocking(AsyncMemsidecar.cancel_job)
    watch_job = opening(AsyncMemsidecar.watch_job, JobWatch)

    recall = blocking(AsyncMemsidecar.recall)
    feedback = blocking(AsyncMemsidecar.feedback)
    recall_stream = opening(AsyncMemsidecar.recall_stream, RecallStream)

    generation = opening(AsyncMemsidecar.generation, Generation)

    build_context = blocking(AsyncMemsidecar.build_context)

    session = opening(AsyncMemsidecar.session, SessionHandle)
    list_sessions = opening(AsyncMemsidecar.list_sessions, Pages)
