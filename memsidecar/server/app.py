"""The running server: what it listens on, what it serves, and how it goes away."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import grpc
from grpc_reflection.v1alpha import reflection

from memsidecar.domain import limits
from memsidecar.domain.generation.values import Terms
from memsidecar.ports.metrics import Metric
from memsidecar.ports.tracing import Tracer
from memsidecar.server.admission import Admission, Kind
from memsidecar.server.calls import Calls
from memsidecar.server.health import HealthServicer
from memsidecar.server.listen import CannotListen, bind_socket, bind_tcp
from memsidecar.server.loopback import is_loopback
from memsidecar.server.mapping.memory_out import UsageOf
from memsidecar.server.methods import handlers
from memsidecar.server.rpc_counts import RpcCounts
from memsidecar.server.servicers.generation import GenerationServicer, GenerationSettings
from memsidecar.server.servicers.info import InfoServicer
from memsidecar.server.servicers.ingest import Ingest
from memsidecar.server.servicers.job import JobServicer
from memsidecar.server.servicers.knowledge import KnowledgeServicer
from memsidecar.server.servicers.memory import MemoryServicer
from memsidecar.server.servicers.recall import RecallServicer
from memsidecar.server.servicers.session import SessionServicer
from memsidecar.server.servicers.watching import Watching
from memsidecar.server.state import State
from memsidecar.services.context import BuildContext
from memsidecar.services.feedback import GiveFeedback
from memsidecar.services.generation import RecallDuring
from memsidecar.services.health import Health
from memsidecar.services.info import Info
from memsidecar.services.jobs import Jobs
from memsidecar.services.knowledge import Knowledge
from memsidecar.services.memories import Memories
from memsidecar.services.neighbours import Neighbours
from memsidecar.services.recall import Recall
from memsidecar.services.remember import Remember
from memsidecar.services.session_end import EndSession
from memsidecar.services.sessions import Sessions
from memsidecar.services.slot_history import SlotHistory
from memsidecar.services.uniting import UniteEntities
from memsidecar.services.watch import Watch
from memsidecar.v1 import (
    generation_service_pb2,
    info_service_pb2,
    job_service_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
    recall_service_pb2,
    session_service_pb2,
)

_log = logging.getLogger(__name__)

# What a stop gives calls that a drain could not wait for, and their clean-up after it.
_STOP_SECONDS: Final = 1.0
_CLEAN_UP_SECONDS: Final = 2.0
# Watches end at once, but for those that wait for a client that does not read: they have this long.
_WATCH_SECONDS: Final = 0.5
# Of a drain's grace, generations get all but this much, and this part at least: so they end with a status of their own,
# within it. One whose client does not read takes no status and is cancelled.
_GENERATIONS_END_BEFORE: Final = 0.5
_GENERATIONS_SHARE: Final = 0.8

_MEMORY = memory_service_pb2.DESCRIPTOR.services_by_name["MemoryService"]
_RECALL = recall_service_pb2.DESCRIPTOR.services_by_name["RecallService"]
_KNOWLEDGE = knowledge_service_pb2.DESCRIPTOR.services_by_name["KnowledgeService"]
_JOB = job_service_pb2.DESCRIPTOR.services_by_name["JobService"]
_GENERATION = generation_service_pb2.DESCRIPTOR.services_by_name["GenerationService"]
_SESSION = session_service_pb2.DESCRIPTOR.services_by_name["SessionService"]
_INFO = info_service_pb2.DESCRIPTOR.services_by_name["InfoService"]
_API: Final = (_MEMORY, _KNOWLEDGE, _JOB, _RECALL, _GENERATION, _SESSION, _INFO)

_OPTIONS: Final = (
    ("grpc.max_receive_message_length", limits.MAX_MESSAGE_BYTES),
    # Two processes on one port would share its calls between two memories.
    ("grpc.so_reuseport", 0),
    # A client may ping every 10 s, also without calls. The default is one in 5 minutes, and cuts off what pings more.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where to listen and how much to take on. The caller holds the lock of the data directory."""

    socket: str = ""
    """Path of the Unix socket; empty: none."""
    socket_mode: int = 0o660
    socket_group: str = ""
    """Name or number; empty: the process's own."""
    tcp_host: str = "127.0.0.1"
    tcp_port: int | None = None
    """None: none. 0: a free one, then `Server.tcp_port`."""
    health_host: str = "0.0.0.0"
    health_port: int | None = None
    token: str = ""
    """Bearer token that every call but GetServerInfo and health must carry; empty: none is asked for."""
    default_namespace: str = "default"
    max_concurrent_rpcs: int = 256
    max_streams: int = 64
    max_watches: int = 256
    max_watches_per_namespace: int = 256
    stream_idle: float = 300.0
    """Seconds that a StreamRemember or a RecallDuring may wait for its client, and a message of Recall or WatchMemories
    to be read."""
    max_generations: int = 1_000
    """Open RecallDuring streams, counted apart from all other calls."""
    heartbeat: float = 15.0
    """Seconds after which a silent stream shows that it is alive."""
    min_confidence: float = 0.2
    """What a memory needs to be sent during a generation that does not say its own."""
    reflection: bool = False


@dataclass(frozen=True, slots=True)
class Services:
    """The use cases behind the API. `now` is the clock: microseconds since 1970 UTC. `history`: of the store, see
    `domain.revision`."""

    remember: Remember
    memories: Memories
    knowledge: Knowledge
    slot_history: SlotHistory
    unite: UniteEntities
    neighbours: Neighbours
    recall: Recall
    recall_during: RecallDuring
    give_feedback: GiveFeedback
    usage_of: UsageOf
    build_context: BuildContext
    sessions: Sessions
    end_session: EndSession
    jobs: Jobs
    info: Info
    health: Health
    watch: Watch
    now: Callable[[], int]
    history: int = 0


class Server:
    """Serves until `drain`. `start` raises CannotListen, and then nothing is left bound."""

    def __init__(self, settings: ServerSettings, services: Services, tracer: Tracer | None = None) -> None:
        self._settings = settings
        self._services = services
        self._tracer = tracer
        self._admission = Admission(
            settings.max_concurrent_rpcs, settings.max_streams, settings.max_generations, settings.max_watches
        )
        others = [api.full_name for api in _API if api is not _SESSION]
        self._health = HealthServicer(services.health, others, _SESSION.full_name)
        self._counts = RpcCounts()
        self._state = State(self._admission, self._health)
        self._data: grpc.aio.Server | None = None
        self._probes: grpc.aio.Server | None = None
        self._poll: asyncio.Task[None] | None = None
        self.tcp_port = 0
        self.health_port = 0

    def metrics(self) -> Sequence[Metric]:
        """What is measured of calls, and of the server's own state."""
        return (*self._counts.metrics(), *self._state.metrics())

    async def start(self) -> None:
        settings = self._settings
        if settings.tcp_port is not None and not settings.token and not is_loopback(settings.tcp_host):
            raise CannotListen(
                f"listen.tcp_host: a port on {settings.tcp_host} needs a token, or anybody could read every memory"
            )
        # The guard that says why is Admission; this one only bounds what waits for its refusal.
        calls = 2 * (settings.max_concurrent_rpcs + settings.max_watches) + settings.max_generations + 64
        self._data = grpc.aio.server(options=_OPTIONS, maximum_concurrent_rpcs=calls)
        self._probes = grpc.aio.server(options=_OPTIONS, maximum_concurrent_rpcs=256)
        try:
            self._bind(self._data, self._probes)
        except CannotListen:
            await asyncio.gather(self._data.stop(None), self._probes.stop(None))
            raise
        await self._data.start()
        await self._probes.start()
        self._poll = asyncio.create_task(self._health.run(), name="readiness")

    async def drain(self, grace: float) -> None:
        """Stop without cutting off a call that ends within `grace` seconds; about 3 s more at the most.

        First readiness goes, then new calls are refused with DRAINING, watches are ended with it and generations are
        told, then the calls that run are awaited.
        """
        self._health.drain()
        self._state.drain_began = time.monotonic()
        self._services.watch.drain()
        told = max(grace - _GENERATIONS_END_BEFORE, grace * _GENERATIONS_SHARE)
        self._services.recall_during.drain(told)
        loop, cancel = asyncio.get_running_loop(), self._admission.cancel
        unread = [
            loop.call_later(_WATCH_SECONDS, cancel, Kind.WATCH),
            loop.call_later((told + grace) / 2, cancel, Kind.GENERATION),
        ]
        is_idle = await self._admission.drain(grace)
        for timer in unread:
            timer.cancel()
        if not is_idle:
            _log.warning("%d calls still run after %g s and are cancelled", self._admission.running, grace)
            self._state.cut_off = self._admission.running
        if self._data is not None:
            await self._data.stop(_STOP_SECONDS if self._admission.running else 0.2)
        if not await self._admission.idle(_CLEAN_UP_SECONDS):
            _log.error("%d calls do not end", self._admission.running)
        if self._poll is not None:
            self._poll.cancel()
            await asyncio.gather(self._poll, return_exceptions=True)
        self._health.close()
        if self._probes is not None:
            await self._probes.stop(0.2)

    def _bind(self, data: grpc.aio.Server, probes: grpc.aio.Server) -> None:
        settings = self._settings
        services, namespace = self._services, settings.default_namespace
        calls = Calls(
            self._admission, settings.token, settings.stream_idle, self._counts, self._tracer, services.history
        )
        memory = MemoryServicer(
            services.memories,
            Ingest(services.remember, services.usage_of, namespace, services.now, settings.stream_idle),
            Watching(services.watch, namespace, services.now, settings.max_watches_per_namespace),
            services.usage_of,
            namespace,
            services.now,
        )
        knowledge = KnowledgeServicer(
            services.knowledge,
            services.slot_history,
            services.unite,
            services.neighbours,
            services.usage_of,
            namespace,
            services.now,
        )
        jobs = JobServicer(services.jobs, services.usage_of, namespace, services.now)
        recall = RecallServicer(
            services.recall,
            services.build_context,
            services.give_feedback,
            services.usage_of,
            namespace,
            services.now,
        )
        generations = GenerationServicer(
            services.recall_during,
            services.usage_of,
            services.now,
            GenerationSettings(
                namespace,
                settings.stream_idle,
                Terms(min_confidence=settings.min_confidence, heartbeat=settings.heartbeat),
            ),
        )
        sessions = SessionServicer(services.sessions, services.end_session, services.usage_of, namespace, services.now)
        health = self._health.handler()
        data.add_generic_rpc_handlers(
            (
                handlers(_MEMORY, memory, calls),
                handlers(_KNOWLEDGE, knowledge, calls),
                handlers(_JOB, jobs, calls),
                handlers(_RECALL, recall, calls),
                handlers(_GENERATION, generations, calls),
                handlers(_SESSION, sessions, calls),
                handlers(_INFO, InfoServicer(services.info, settings.heartbeat), calls, is_open=True),
                health,
            )
        )
        probes.add_generic_rpc_handlers((health,))
        if settings.reflection:
            names = (*(api.full_name for api in _API), "grpc.health.v1.Health", reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, data)
        if settings.socket:
            bind_socket(data, settings.socket, settings.socket_mode, settings.socket_group)
        if settings.tcp_port is not None:
            self.tcp_port = bind_tcp(data, settings.tcp_host, settings.tcp_port, "listen.tcp_port")
        if settings.health_port is not None:
            self.health_port = bind_tcp(probes, settings.health_host, settings.health_port, "health.port")
