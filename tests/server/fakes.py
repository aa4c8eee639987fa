"""Use cases in memory, with handles to make them wait, fail and tell what they saw."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memsidecar.adapters.system_runtime import SystemClock
from memsidecar.domain.as_of import NOW as EVER
from memsidecar.domain.as_of import AsOf
from memsidecar.domain.conflict import Conflict, Policy
from memsidecar.domain.context.assemble import assemble
from memsidecar.domain.context.values import Built, Material, Wanted
from memsidecar.domain.draft import Action, Declined, Draft, Outcome, Patch, Request
from memsidecar.domain.errors import AlreadyExists, NotFound, SidecarError
from memsidecar.domain.events import Change, Entry, MemoryRecorded
from memsidecar.domain.feedback_rules import Judged
from memsidecar.domain.job import Job
from memsidecar.domain.memory import Memory, State
from memsidecar.domain.recall import Filter, Hit, Question, Recalled, TierReport
from memsidecar.domain.scope import Partition, Scope, resource_name
from memsidecar.domain.session import Message, ScratchEntry, ScratchWrite, Session, Window
from memsidecar.domain.usage import NO_USAGE, Usage
from memsidecar.ports.sessions import Appended, SessionKey
from memsidecar.server.app import Services
from memsidecar.services.context import BuildContext
from memsidecar.services.feedback import GiveFeedback
from memsidecar.services.health import Health
from memsidecar.services.info import Info, ServerInfo
from memsidecar.services.keeping import KeepExchange
from memsidecar.services.memories import Memories, MemoryPage, Written
from memsidecar.services.recall import Recall
from memsidecar.services.remember import Remember, Remembered, Stages, Wait
from memsidecar.services.session_end import EndSession
from memsidecar.services.sessions import Sessions
from tests.server.fake_following import follow_with
from tests.server.fake_jobs import FakeJobs
from tests.server.fake_knowledge import FakeKnowledge, FakeNeighbours, FakeSlotHistory, FakeUnite
from tests.server.fake_watch import FakeWatch

NOW = 1_700_000_000_000_000


@dataclass
class World:
    """What the fakes share. `failures` and `gates` are by use case: "remember", "recall", "memories", "sessions"."""

    failures: dict[str, BaseException] = field(default_factory=dict)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    arrivals: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    memories: dict[tuple[Partition, str], Memory] = field(default_factory=dict)
    usages: dict[tuple[Partition, str], Usage] = field(default_factory=dict)
    sessions: dict[SessionKey, Session] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    scratch: dict[str, ScratchEntry] = field(default_factory=dict)
    events: list[Hit | TierReport | Recalled] = field(default_factory=list)
    conflicts: dict[tuple[Partition, str], Conflict] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    extracted: tuple[Outcome | Declined, ...] = ()
    jobs_named: list[str] = field(default_factory=list)
    item_errors: dict[int, SidecarError] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    sessions_answer: bool = True
    hang: bool = False

    async def step(self, use_case: str, *seen: Any) -> None:
        self.calls.append((use_case, *seen))
        self.entered.set()
        self.arrivals.put_nowait(use_case)
        try:
            if use_case in self.gates:
                await self.gates[use_case].wait()
            if use_case in self.failures:
                raise self.failures[use_case]
        finally:
            self.left.set()

    def services(self) -> Services:
        keep = KeepExchange(FakeSessions(self), FakeRemember(self), SystemClock())
        return Services(
            FakeRemember(self),
            FakeMemories(self),
            FakeKnowledge(self),
            FakeSlotHistory(self),
            FakeUnite(self),
            FakeNeighbours(self),
            FakeRecall(self),
            follow_with(FakeRecall(self), FakeFeedback(self), keep),
            FakeFeedback(self),
            lambda partition, memory_id: self.usages.get((partition, memory_id), NO_USAGE),
            FakeBuildContext(self),
            FakeSessions(self),
            EndSession(FakeSessions(self), FakeRemember(self)),
            FakeJobs(self),
            FakeInfo(),
            FakeHealth(self),
            FakeWatch(self.step),
            lambda: NOW,
        )


def stored(partition: Partition, draft: Draft, memory_id: str) -> Memory:
    return Memory(
        id=memory_id,
        scope=Scope(partition.namespace, partition.user, draft.agent, draft.session),
        body=draft.body,
        created_at=NOW,
        updated_at=NOW,
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        expires_at=draft.expires_at,
        confidence=draft.confidence,
        importance=draft.importance,
        provenance=(draft.source,) if draft.source else (),
        labels=dict(draft.labels),
        attributes=draft.attributes,
        mentions=draft.mentions,
    )


class FakeRemember(Remember):
    def __init__(self, world: World) -> None:
        self.world = world

    async def __call__(
        self,
        scope: Scope,
        drafts: Sequence[Draft],
        wait: Wait,
        request: Request,
        *,
        extract: bool = True,
        job: str = "",
    ) -> Remembered:
        self.world.jobs_named.append(job)
        await self.world.step("remember", scope, tuple(drafts), wait, request)
        outcomes: list[Outcome | SidecarError] = []
        for index, draft in enumerate(drafts):
            if index in self.world.item_errors:
                outcomes.append(self.world.item_errors[index])
                continue
            memory = stored(scope.partition, draft, f"m{len(self.world.memories)}")
            self.world.memories[scope.partition, memory.id] = memory
            outcomes.append(Outcome(Action.CREATED, memory, "new", extracted=self.world.extracted))
        return Remembered(tuple(outcomes), len(self.world.memories), Stages(extract, True, "" if extract else job))


class FakeMemories(Memories):
    def __init__(self, world: World) -> None:
        self.world = world

    def _find(self, partition: Partition, memory_id: str) -> Memory:
        memory = self.world.memories.get((partition, memory_id))
        if memory is None:
            raise NotFound(resource_name(partition, "memories", memory_id))
        return memory

    async def create(self, partition: Partition, draft: Draft, memory_id: str, request: Request) -> Written:
        await self.world.step("memories", partition, draft, memory_id, request)
        memory_id = memory_id or f"m{len(self.world.memories)}"
        if (partition, memory_id) in self.world.memories:
            raise AlreadyExists(resource_name(partition, "memories", memory_id))
        memory = self.world.memories[partition, memory_id] = stored(partition, draft, memory_id)
        return Written(memory, 1)

    async def get(self, partition: Partition, memory_id: str, as_of: AsOf = EVER) -> Memory:
        await self.world.step("memories", partition, memory_id)
        return self._find(partition, memory_id)

    async def get_many(self, names: Sequence[tuple[Partition, str]], as_of: AsOf = EVER) -> tuple[Memory, ...]:
        await self.world.step("memories", names)
        return tuple(self._find(*name) for name in names)

    async def list(
        self,
        scope: Scope,
        filter: Filter,  # noqa: A002
        newest_first: bool,
        after: int | None,
        limit: int,
        known_at: int | None = None,
    ) -> MemoryPage:
        await self.world.step("memories", scope, filter, newest_first, after, limit)
        found = [m for (partition, _), m in self.world.memories.items() if partition == scope.partition]
        start = after or 0
        end = start + limit
        return MemoryPage(tuple(found[start:end]), end if end < len(found) else None)

    async def update(
        self, partition: Partition, memory_id: str, patch: Patch, request: Request, policy: Policy | None = None
    ) -> Written:
        await self.world.step("memories", partition, memory_id, patch, request)
        return Written(self._find(partition, memory_id), 2)

    async def delete(
        self, partition: Partition, memory_id: str, etag: str, purge: bool, reason: str, request: Request
    ) -> Written:
        await self.world.step("memories", partition, memory_id, etag, purge, reason, request)
        memory = replace(self._find(partition, memory_id), state=State.DELETED, deleted_at=NOW, purge_at=NOW + 1)
        return Written(None if purge else memory, 3)

    async def undelete(self, partition: Partition, memory_id: str, request: Request) -> Written:
        await self.world.step("memories", partition, memory_id, request)
        return Written(self._find(partition, memory_id), 4)

    async def history(self, partition: Partition, memory_id: str, before: int | None, limit: int) -> Sequence[Entry]:
        await self.world.step("memories", partition, memory_id, before, limit)
        memory = self._find(partition, memory_id)
        newest = (before or 8) - 1
        return [
            Entry(r, partition, r, NOW, memory_id, MemoryRecorded(Change.UPDATED, memory, None, "agent", "why"))
            for r in range(newest, max(newest - limit, 0), -1)
        ]


class FakeRecall(Recall):
    def __init__(self, world: World) -> None:
        self.world = world

    async def once(self, question: Question) -> Recalled:
        await self.world.step("recall", question)
        answers = [event for event in self.world.events if isinstance(event, Recalled)]
        return answers[-1] if answers else Recalled((), (), 0, 0.0)

    async def ready(self, question: Question) -> int:
        return 1

    async def glance(self, question: Question, is_news: Any = None) -> Recalled | None:
        await self.world.step("recall", question)
        return Recalled((), (), 0, 0.0)

    async def stream(self, question: Question) -> AsyncIterator[Hit | TierReport | Recalled]:
        try:
            for event in self.world.events:
                yield event
            await self.world.step("recall", question)
            if not self.world.events:
                yield Recalled((), (), 0, 0.0)
        finally:
            self.world.left.set()


class FakeFeedback(GiveFeedback):
    def __init__(self, world: World) -> None:
        self.world = world

    async def __call__(self, scope: Scope, judged: Sequence[Judged], request: Request) -> int:
        await self.world.step("feedback", scope, tuple(judged), request)
        return 9


class FakeBuildContext(BuildContext):
    """The real assembly, over what the world holds."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def __call__(self, wanted: Wanted) -> Built:
        await self.world.step("context", wanted)
        recalled = await FakeRecall(self.world).once(wanted.question)
        material = Material((), recalled.hits, tuple(self.world.messages), tuple(self.world.scratch.values()))
        context = assemble(wanted, material, lambda text: len(text.split()))
        partition = wanted.question.scope.partition
        return Built(context, recalled.reports, recalled.degraded, partition, recalled.revision)


class FakeSessions(Sessions):
    def __init__(self, world: World) -> None:
        self.world = world

    def listen(self, key: SessionKey, listener: Callable[[Sequence[Message]], None]) -> Callable[[], None]:
        return lambda: None

    async def conversation(self, key: SessionKey, look_back: int) -> tuple[Session, Sequence[Message]]:
        return self._find(key), tuple(self.world.messages)[-look_back:]

    def _find(self, key: SessionKey) -> Session:
        if key not in self.world.sessions:
            raise NotFound(resource_name(key.partition, "sessions", key.session_id))
        return self.world.sessions[key]

    async def create(
        self,
        scope: Scope,
        session_id: str,
        labels: Mapping[str, str],
        expires_at: int | None,
        ttl: int | None,
        request: Request,
    ) -> Session:
        await self.world.step("sessions", scope, session_id, labels, expires_at, ttl, request)
        session_id = session_id or f"s{len(self.world.sessions)}"
        session = Session(session_id, scope, NOW, NOW, expires_at or NOW + (ttl or 1), ttl or 1, labels=labels)
        self.world.sessions[SessionKey(scope.partition, session_id)] = session
        return session

    async def get(self, key: SessionKey) -> Session:
        await self.world.step("sessions", key)
        return self._find(key)

    async def list(self, partition: Partition, after: str, limit: int) -> Sequence[Session]:
        await self.world.step("sessions", partition, after, limit)
        ids = sorted(k.session_id for k in self.world.sessions if k.partition == partition and k.session_id > after)
        return [self.world.sessions[SessionKey(partition, i)] for i in ids[:limit]]

    async def update(
        self,
        key: SessionKey,
        labels: Mapping[str, str] | None,
        expires_at: int | None,
        ttl: int | None,
        etag: str,
        request: Request,
    ) -> Session:
        await self.world.step("sessions", key, labels, expires_at, ttl, etag, request)
        return self._find(key)

    async def end(self, key: SessionKey, request: Request) -> Session:
        await self.world.step("sessions", key, request)
        return replace(self._find(key), ended_at=NOW)

    async def delete(self, key: SessionKey, request: Request) -> None:
        await self.world.step("sessions", key, request)
        self._find(key)

    async def append(
        self, key: SessionKey, messages: Sequence[Message], expected_last_seq: int | None, request: Request
    ) -> Appended:
        await self.world.step("sessions", key, tuple(messages), expected_last_seq, request)
        session = self._find(key)
        first = len(self.world.messages) + 1
        self.world.messages += [replace(m, seq=first + i, created_at=NOW) for i, m in enumerate(messages)]
        return Appended(tuple(range(first, first + len(messages))), sum(m.token_count for m in messages), session)

    async def messages(self, key: SessionKey, after_seq: int, limit: int) -> Sequence[Message]:
        await self.world.step("sessions", key, after_seq, limit)
        return [m for m in self.world.messages if m.seq > after_seq][:limit]

    async def window(
        self, key: SessionKey, max_tokens: int, reserved_tokens: int | None, max_messages: int, tokenizer: str
    ) -> Window:
        await self.world.step("sessions", key, max_tokens, reserved_tokens, max_messages, tokenizer)
        return Window(tuple(self.world.messages), 0, 0, shortened=True)

    async def set_scratch(
        self, key: SessionKey, writes: Sequence[ScratchWrite], ttl: int | None, request: Request
    ) -> Sequence[ScratchEntry]:
        await self.world.step("sessions", key, tuple(writes), ttl, request)
        entries = [ScratchEntry(w.key, w.value, w.expires_at, 1) for w in writes]
        self.world.scratch |= {entry.key: entry for entry in entries}
        return entries

    async def scratch(self, key: SessionKey, keys: Sequence[str]) -> Sequence[ScratchEntry]:
        await self.world.step("sessions", key, tuple(keys))
        return [self.world.scratch[k] for k in keys if k in self.world.scratch]

    async def list_scratch(self, key: SessionKey, prefix: str, after: str, limit: int) -> Sequence[ScratchEntry]:
        await self.world.step("sessions", key, prefix, after, limit)
        keys = sorted(k for k in self.world.scratch if k.startswith(prefix) and k > after)
        return [self.world.scratch[k] for k in keys[:limit]]

    async def delete_scratch(self, key: SessionKey, keys: Sequence[str], request: Request) -> int:
        await self.world.step("sessions", key, tuple(keys), request)
        return sum(self.world.scratch.pop(k, None) is not None for k in keys)


class FakeInfo(Info):
    def __init__(self) -> None:
        pass

    def __call__(self) -> ServerInfo:
        return ServerInfo("0.1.0", "test-model", 4, ("o200k_base",), "home", "kuzu")


class FakeHealth(Health):
    def __init__(self, world: World) -> None:
        self.world = world

    async def ready(self) -> tuple[str, ...]:
        if self.world.hang:
            await asyncio.Event().wait()
        return self.world.missing

    async def sessions_problem(self) -> str:
        return "" if self.world.sessions_answer else "redis.url 10.0.0.1:6379: connection refused"
