"""Everything below the server, over the real adapters, with a pinned clock and an embedder made of hashes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.hnsw_vectors import HnswSettings, HnswVectorIndexes
from memsidecar.adapters.partition_snapshots import SnapshotFiles
from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.adapters.sqlite_accesses import SqliteAccesses
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.adapters.time_expressions import GrammarTimeExpressions
from memsidecar.domain.claims_read import claims_read
from memsidecar.domain.draft import Draft, Request
from memsidecar.domain.events import Entry
from memsidecar.domain.extraction.asking import worth_asking
from memsidecar.domain.gate import Gate
from memsidecar.domain.memory import Episode, Fact, Memory
from memsidecar.domain.profile_choice import read_choice
from memsidecar.domain.recall import Filter, Question, Recalled
from memsidecar.domain.scope import Partition, Scope
from memsidecar.ports.extraction import Extractor
from memsidecar.ports.graph import GraphStore
from memsidecar.ports.sessions import SessionStore
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.changes import Changes
from memsidecar.services.conversation import Conversation
from memsidecar.services.extraction import Extract
from memsidecar.services.feedback import GiveFeedback
from memsidecar.services.hydration import Hydration
from memsidecar.services.job_worker import JobWorker
from memsidecar.services.jobs import Jobs
from memsidecar.services.knowledge import Knowledge
from memsidecar.services.learning import Learning
from memsidecar.services.memories import Memories
from memsidecar.services.moments import Moments
from memsidecar.services.named_times import NamedTimes
from memsidecar.services.neighbours import Neighbours
from memsidecar.services.past import Past
from memsidecar.services.preparing import Preparing, Space
from memsidecar.services.projector import GraphProjector
from memsidecar.services.recall import Recall
from memsidecar.services.remember import Remember, Remembered, Wait
from memsidecar.services.residency import Residency
from memsidecar.services.resident import Resident
from memsidecar.services.slot_history import SlotHistory
from memsidecar.services.uniting import UniteEntities
from memsidecar.services.usages import Usages
from memsidecar.services.watch import Watch
from tests.doubles.hash_embedder import HashEmbedder
from tests.doubles.runtime import CountedIds, PinnedClock
from tests.doubles.wrapped_stores import SwitchedLedger
from tests.session_servers import until

ANN = Scope("acme", "ann")
BEN = Scope("acme", "ben")
TEAM = Scope("acme")


class Stack:
    """Opened on a directory; opened again on the same one it is the process after a restart."""

    def __init__(
        self,
        directory: Path,
        ledger: SqliteLedger,
        accesses: SqliteAccesses,
        embedder: HashEmbedder | None,
        crossover: int,
        max_bytes: int,
        clock: PinnedClock,
        ids: CountedIds,
    ) -> None:
        self.directory, self.clock, self.ids = directory, clock, ids
        self.codec = ProtobufEventCodec()
        self.real_ledger = ledger
        self.ledger = SwitchedLedger(ledger)
        self.embedder = embedder
        self.indexes = HnswVectorIndexes(HnswSettings(crossover=crossover))
        self.snapshots = SnapshotFiles(directory / "resident")
        model, dimensions = (embedder.model, embedder.dimensions) if embedder else ("client", 8)
        self.space = Space(model, dimensions, embedder, 5.0)
        self.hydration = Hydration(self.ledger, self.codec, self.indexes, self.snapshots, self.space)
        self.published: list[Entry] = []
        self.given_back = 0
        self.changes = Changes()
        self.accesses = accesses
        self.usages = Usages(accesses, clock)
        self.residency = Residency(
            self.hydration,
            self.ledger,
            self.snapshots,
            clock,
            ids,
            max_bytes,
            self._committed,
            self.usages,
            self._give_back,
        )
        self.backlog = EmbeddingBacklog(self.residency, self.space)
        self.preparing = Preparing(self.space)
        self.times = NamedTimes(GrammarTimeExpressions())
        self.jobs = Jobs(self.real_ledger, self.residency, clock)
        self.worker: JobWorker | None = None
        self.remembering = Remember(self.residency, self.preparing, self.backlog)
        self.past = Past(self.ledger, self.codec, self.indexes, self.space, 1 << 40)
        self.moments = Moments(self.residency, self.past, clock)
        self.memories = Memories(self.residency, self.ledger, self.preparing, self.space, self.backlog, self.moments)
        self.profiles = read_choice("", "default", "latest=recent")
        # Nobody listens there: a test that needs sessions names a server's.
        self.session_store = RedisSessions.connect(RedisSettings(f"unix://{directory / 'none.sock'}"))
        self.recalling = self.recall_with(self.session_store)
        self.knowledge = Knowledge(self.residency, self.preparing, self.backlog)
        self.slot_history = SlotHistory(self.moments)
        self.unite = UniteEntities(self.residency)
        self.judging = GiveFeedback(self.residency)
        self.watch = self.watch_with(60.0)
        self.projector: GraphProjector | None = None

    @classmethod
    async def open(
        cls,
        directory: Path,
        embedder: HashEmbedder | None,
        crossover: int = 20_000,
        max_bytes: int = 1 << 40,
        clock: PinnedClock | None = None,
        ids: CountedIds | None = None,
    ) -> Stack:
        ledger = await SqliteLedger.open(directory, ProtobufEventCodec())
        accesses = await SqliteAccesses.open(directory)
        return cls(
            directory, ledger, accesses, embedder, crossover, max_bytes, clock or PinnedClock(), ids or CountedIds()
        )

    def learn(self, extractor: Extractor | None = None, gate: Gate | None = None, mode: str = "rules") -> None:
        """Read what is remembered from now on, and ask the extractor, if there is one."""
        rules = None if mode == "none" else claims_read
        learning = Learning(rules, self.times, self.clock, gate, worth_asking if extractor is not None else None)
        self.remembering = Remember(self.residency, self.preparing, self.backlog, learning, self.jobs.unfinished)
        self.memories = Memories(
            self.residency,
            self.ledger,
            self.preparing,
            self.space,
            self.backlog,
            self.moments,
            learning=learning,
            unfinished=self.jobs.unfinished,
        )
        if extractor is not None:
            extract = Extract(self.residency, self.preparing, self.backlog, learning, extractor)
            self.worker = JobWorker(
                self.real_ledger, self.residency, extract, self.jobs.changed, gathering=0.01, first_retry=0.02
            )
            self.jobs.worked_by(self.worker)
            self.worker.start()

    async def neighbours_in(self, graph: GraphStore) -> Neighbours:
        """Neighbours over a graph that follows from now on."""
        self.projector = GraphProjector(graph, self.ledger)
        await self.projector.start()
        return Neighbours(self.moments, graph, self.projector)

    async def close(self) -> None:
        if self.worker is not None:
            await self.worker.close()
        await self.backlog.close()
        await self.past.close()
        await self.session_store.close()
        await self.residency.close()
        if self.projector is not None:
            await self.projector.close()
        await self.usages.close()
        await self.accesses.close()
        await self.indexes.close()
        await self.real_ledger.close()

    async def again(self, embedder: HashEmbedder | None = None, crossover: int = 20_000) -> Stack:
        """Close, and open what is on disk."""
        await self.close()
        return await Stack.open(self.directory, embedder or self.embedder, crossover, 1 << 40, self.clock, self.ids)

    def _committed(self, resident: Resident, entries: Sequence[Entry]) -> None:
        self.published.extend(entries)
        if self.projector is not None:
            self.projector.publish(entries)
        self.past.follow(resident.partition, entries)
        self.changes.notice(resident, entries)

    def _give_back(self) -> None:
        self.given_back += 1

    async def remember(self, scope: Scope, *texts: str | Draft, request: str = "") -> Remembered:
        drafts = [
            t if isinstance(t, Draft) else Draft(Fact(t), agent=scope.agent, session=scope.session) for t in texts
        ]
        return await self.remembering(scope, drafts, Wait.SEARCHABLE, Request(request, b"d"))

    def recall_with(self, sessions: SessionStore) -> Recall:
        return Recall(
            self.residency,
            self.past,
            self.space,
            self.backlog,
            self.clock,
            self.profiles,
            0.11,
            2.0,
            self.times,
            Conversation(sessions, self.clock),
            self.usages,
        )

    def watch_with(self, heartbeat: float) -> Watch:
        return Watch(self.residency, self.ledger, self.changes, heartbeat)

    async def recall(self, scope: Scope, text: str, **more: object) -> Recalled:
        return await self.recalling.once(Question(scope, text, **more))  # type: ignore[arg-type]

    async def texts(self, scope: Scope, wanted: Filter | None = None) -> list[str]:
        page = await self.memories.list(scope, wanted or Filter(), False, None, 10_000)
        return [memory.text for memory in page.memories]


def said(text: str, session: str = "s", speaker: str = "Ann") -> Draft:
    return Draft(Episode(text, speaker=speaker), session=session)


def stored(answer: Remembered) -> list[Memory]:
    """The memories of outcomes that are all well."""
    found = []
    for outcome in answer.outcomes:
        assert not isinstance(outcome, Exception), outcome
        found.append(outcome.memory)
    return found


async def writing(stack: Stack, who: Partition) -> None:
    """Until the partition, which is loaded, has something to write."""
    loaded = stack.residency.peek(who)
    assert loaded is not None

    async def begun() -> bool:
        return not loaded.writer.idle

    await until(begun)
