"""A real server over real parts, and one generation from a client's side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from memsidecar_client._call_ending import Ending, let_go, not_sent

from memsidecar.adapters.quicktok_tokenizer import QuicktokTokenizer
from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.adapters.system_runtime import SystemClock
from memsidecar.ports.sessions import SessionStore
from memsidecar.ports.tracing import Tracer
from memsidecar.server.app import Server, ServerSettings, Services
from memsidecar.services.context import BuildContext
from memsidecar.services.evaluations import Evaluations
from memsidecar.services.following import Parts
from memsidecar.services.generation import RecallDuring
from memsidecar.services.jobs import Jobs
from memsidecar.services.keeping import KeepExchange
from memsidecar.services.recall import Recall
from memsidecar.services.session_end import EndSession
from memsidecar.services.sessions import Sessions
from memsidecar.v1 import generation_service_pb2 as pb
from memsidecar.v1.generation_service_pb2_grpc import GenerationServiceStub
from tests.doubles.hash_embedder import HashEmbedder
from tests.doubles.naive_graph import GraphInMemory
from tests.server.fakes import FakeHealth, FakeInfo, World
from tests.services.stack import Stack
from tests.session_servers import until

# What finds itself again, and hardly anything else.
LIKELY = 0.3


def about(text: str) -> str:
    """The words of a text, in as many characters, with two of them (of the characters, without spaces) changed round:
    a memory that says just what was written is not sent."""
    words = text.split(" ")
    if len(words) > 3:
        words[1], words[2] = words[2], words[1]
    elif len(words) == 1 and len(text) > 6:
        return f"{text[:2]}{text[3]}{text[2]}{text[4:]}"
    return " ".join(words)


@dataclass
class Live:
    """Everything below a server, and the use cases over it."""

    stack: Stack
    services: Services
    recall_during: RecallDuring
    sessions: Sessions
    keep: KeepExchange


@asynccontextmanager
async def live(
    directory: Path,
    embedder: HashEmbedder,
    sessions_url: str = "",
    *,
    evaluations: int = 8,
    per_namespace: int = 1000,
    tracer: Tracer | None = None,
) -> AsyncIterator[Live]:
    clock: Any = SystemClock()
    stack = await Stack.open(directory, embedder, clock=clock)
    tokenizer = QuicktokTokenizer()
    store: SessionStore = stack.session_store
    own = RedisSessions.connect(RedisSettings(sessions_url)) if sessions_url else None
    if own is not None:
        store = own
    sessions = Sessions(store, tokenizer, clock, stack.ids)
    recall: Recall = stack.recall_with(store)
    parts = Parts(
        recall,
        stack.residency,
        stack.changes,
        stack.usages,
        stack.judging,
        KeepExchange(sessions, stack.remembering, clock),
        tokenizer,
        clock,
        Evaluations(evaluations),
        tracer=tracer,
    )
    recall_during = RecallDuring(parts, stack.ids, per_namespace)
    services = Services(
        stack.remembering,
        stack.memories,
        stack.knowledge,
        stack.slot_history,
        stack.unite,
        await stack.neighbours_in(GraphInMemory()),
        recall,
        recall_during,
        stack.judging,
        stack.usages.of,
        BuildContext(recall, stack.residency, stack.past, sessions, tokenizer, clock),
        sessions,
        EndSession(sessions, stack.remembering, stack.residency),
        Jobs(stack.real_ledger, stack.residency, clock),
        FakeInfo(),
        FakeHealth(World()),
        stack.watch,
        clock.now,
    )
    try:
        yield Live(stack, services, recall_during, sessions, parts.keep)
    finally:
        if own is not None:
            await own.close()
        await stack.close()
        # Its threads would else stay for as long as the loop.
        await asyncio.get_running_loop().shutdown_default_executor()


@asynccontextmanager
async def served(
    settings: ServerSettings, services: Services, tracer: Tracer | None = None
) -> AsyncIterator[tuple[Server, grpc.aio.Channel]]:
    server = Server(settings, services, tracer)
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"unix:{settings.socket}") as channel:
            yield server, channel
    finally:
        await server.drain(0.5)


@dataclass
class Talk:
    """One RecallDuring. `heard` holds every event, in order; `until` waits for one."""

    call: Any
    ending: Ending = field(default_factory=Ending)
    heard: list[pb.RecallDuringResponse] = field(default_factory=list)
    last_seq: int = 0
    rewinds: int = 0

    @staticmethod
    def stub(channel: grpc.aio.Channel) -> Any:
        return GenerationServiceStub(channel)

    @classmethod
    async def open(cls, channel: grpc.aio.Channel, deadline: float | None = None, **start: Any) -> Talk:
        talk = cls(cls.stub(channel).RecallDuring(timeout=deadline), last_seq=start.get("first_seq", 1) - 1)
        talk.ending.keep(talk.call)
        start.setdefault("scope", {"namespace": "acme", "user": "ann"})
        start.setdefault("min_confidence", LIKELY)
        # One that is refused may have ended before it is written to.
        await talk.try_to_say(start=start)
        return talk

    async def say(self, **event: Any) -> None:
        await self.call.write(pb.RecallDuringRequest(**event))

    async def try_to_say(self, **event: Any) -> None:
        """To a stream that may have ended: its status says why."""
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await self.say(**event)

    async def write(self, *texts: str, source: int = 1, verbatim: bool = False) -> None:
        """The next deltas, about those texts (`about`) unless `verbatim`."""
        for text in texts if verbatim else map(about, texts):
            self.last_seq += 1
            await self.say(text={"seq": self.last_seq, "text": text, "source": source})

    async def rewind(self, seq: int) -> None:
        """Drop the deltas after that one."""
        self.last_seq, self.rewinds = seq, self.rewinds + 1
        await self.say(rewind={"seq": seq})

    async def flush(self) -> pb.Watermark:
        """Wait until all that was written has been considered. A watermark that has crossed a rewind is about other
        text."""
        await self.say(flush={})
        while True:
            mark: pb.Watermark = (await self.until("watermark")).watermark
            if mark.seq >= self.last_seq and mark.rewinds == self.rewinds:
                return mark

    async def finish(self, **how: Any) -> pb.GenerationFinished:
        """Everything up to the end, which must be a good one."""
        await self.say(finish=how)
        return await self.rest()

    async def until(self, event: str) -> Any:
        while True:
            try:
                response: Any = await self.call.read()
            except grpc.aio.AioRpcError as error:
                raise await self._said(error) from None
            if response is grpc.aio.EOF:
                await self.call.code()
                raise AssertionError(f"the stream ended without {event}")
            self.heard.append(response)
            if response.WhichOneof("event") == event:
                return response

    async def _said(self, error: grpc.aio.AioRpcError) -> grpc.aio.AioRpcError:
        """What the server said, where grpc.aio first put a status of its own for a message it could not send."""
        for _ in range(200):
            if not not_sent(self.ending.of(error).code(), self.ending.of(error).details()):
                break
            await asyncio.sleep(0.01)
        else:
            let_go(self.call)
        return self.ending.of(error)

    async def rest(self) -> pb.GenerationFinished:
        finished: pb.GenerationFinished = (await self.until("finished")).finished
        assert await self.call.read() is grpc.aio.EOF
        assert await self.call.code() is grpc.StatusCode.OK
        return finished

    def texts(self) -> list[str]:
        """Of the hits so far."""
        return [each.hit.hit.text for each in self.heard if each.HasField("hit")]

    def all(self, event: str) -> Sequence[Any]:
        return [getattr(each, event) for each in self.heard if each.WhichOneof("event") == event]


async def nothing_left(live: Live) -> None:
    """Until the server has forgotten every generation, and no work of any goes on."""

    async def forgotten() -> bool:
        working = [task for task in asyncio.all_tasks() if task.get_name().startswith("recall-during")]
        return not live.recall_during._open and not working

    await until(forgotten)
