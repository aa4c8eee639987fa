"""Builds stores, then services, then the server: the only place that knows them all."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from memsidecar import __version__
from memsidecar.adapters.data_directory import DataDirectory, set_aside
from memsidecar.adapters.embedding_cache import CachedEmbedder
from memsidecar.adapters.event_codec import ProtobufEventCodec
from memsidecar.adapters.hnsw_vectors import HnswSettings, HnswVectorIndexes
from memsidecar.adapters.kuzu_graph import KuzuGraph
from memsidecar.adapters.local_models import PROVIDERS, local_embedder
from memsidecar.adapters.partition_snapshots import SnapshotFiles
from memsidecar.adapters.quicktok_tokenizer import QuicktokTokenizer
from memsidecar.adapters.redis_sessions import RedisSessions, RedisSettings
from memsidecar.adapters.sqlite_accesses import FILE_NAME as ACCESSES_FILE
from memsidecar.adapters.sqlite_accesses import SqliteAccesses
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.adapters.system_runtime import SystemClock, TimeOrderedIds
from memsidecar.adapters.time_expressions import GrammarTimeExpressions
from memsidecar.adapters.valkey_server import ValkeyServer
from memsidecar.config import Config
from memsidecar.domain.errors import InvalidField, ModelUnavailable, StoreUnavailable
from memsidecar.domain.events import Entry
from memsidecar.domain.finding import Finding
from memsidecar.domain.profile_choice import read_choice
from memsidecar.ports.graph import GraphStore
from memsidecar.ports.models import Embedder, Tokenizer
from memsidecar.ports.runtime import Clock
from memsidecar.ports.sessions import SessionStore
from memsidecar.server.app import Server, ServerSettings, Services
from memsidecar.services.backlog import EmbeddingBacklog
from memsidecar.services.context import BuildContext
from memsidecar.services.conversation import Conversation
from memsidecar.services.feedback import GiveFeedback
from memsidecar.services.health import Health
from memsidecar.services.hydration import Hydration
from memsidecar.services.info import Info, ServerInfo
from memsidecar.services.memories import Memories
from memsidecar.services.named_times import NamedTimes
from memsidecar.services.past import Past
from memsidecar.services.preparing import Preparing, Space
from memsidecar.services.projector import GraphProjector
from memsidecar.services.purging import Purging
from memsidecar.services.recall import Recall
from memsidecar.services.remember import Remember
from memsidecar.services.reranking import Reranking
from memsidecar.services.residency import Residency
from memsidecar.services.resident import Resident
from memsidecar.services.sessions import Sessions
from memsidecar.services.usages import Usages
from memsidecar.services.verification import Verification

_log = logging.getLogger(__name__)

MEBIBYTE = 1 << 20
# The graph leaves the rest of the volume to the ledger: this much, and an eighth of a small one.
GRAPH_LEAVES_FREE = 256 * MEBIBYTE
# The interpreter hands the GIL on after this long (its default is 5 ms). A commit takes it back some ten times in the
# ledger's thread: each time it would wait for as long as the event loop is busy, and so would every write.
SWITCH_INTERVAL = 0.0005
# Allocations before a young collection, and such collections before an older one (Python's own: 700, 10, 10). A
# collection stops every call: one of 2,000 young objects for half a millisecond, one that looks at three times as many
# for two, a full one over the records of 100,000 memories for a tenth of a second. What survives is hardly ever cyclic.
COLLECT_AFTER = (2_000, 2, 25_000)
# A recall waits this long for the embedder, then answers from the other tiers.
QUERY_MODEL_TIMEOUT = 2.0
# The start waits this long for a model to tell the size of its vectors, when nothing else does.
MODEL_AT_START = 5.0
# A write waits this long for its vectors (and longer for long texts), then is stored without them and embedded later:
# well within the 10 s that clients give a call by default, so that a model that hangs does not fail writes.
WRITE_MODEL_TIMEOUT = 5.0

# Standard deviation of the cosines within a memory, by provider; the weight of a cosine follows from it. Measured over
# all pairs of the developer samples' turns (LoCoMo, MADial-zh, PrefEval: 0.131, 0.123, 0.142 for USE; 0.118, 0.135 for
# e5). MiniLM's 0.11 stands in where nothing is known.
SPREAD = {"use": 0.13, "e5": 0.125, "use+e5": 0.125}
UNKNOWN_SPREAD = 0.11


@dataclass(frozen=True, slots=True)
class Stores:
    """What is on disk, and the models: everything below the services."""

    ledger: SqliteLedger
    codec: ProtobufEventCodec
    graph: GraphStore
    projector: GraphProjector
    indexes: HnswVectorIndexes
    snapshots: SnapshotFiles
    space: Space


async def run(config: Config) -> None:
    """Serve until SIGTERM or SIGINT, then drain; returns when everything is closed.

    Raises DataDirectoryBusy, StoreUnavailable, StoreFull, ModelUnavailable when it cannot start, InvalidField for a
    setting that does not fit.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    sys.setswitchinterval(SWITCH_INTERVAL)
    async with AsyncExitStack() as stack:
        stack.enter_context(DataDirectory.open(config.data_dir))
        stores = await _open_stores(config, stack)
        sessions, tokenizer = await _open_sessions(config, stack)
        services = await _services(config, stores, sessions, tokenizer, stack)
        server = Server(_server_settings(config), services)
        await server.start()
        _calm_collector()
        try:
            _log.info("ready", extra={"socket": str(config.socket_path), "version": __version__})
            await stop.wait()
            _log.info("draining")
        finally:
            # Also when this task is cancelled: calls must not meet stores that are closed.
            await server.drain(config.drain_grace)
    _log.info("stopped")


def _calm_collector() -> None:
    """What is there at the start stays; of what comes, little is cyclic, and looking at all of it takes long."""
    # numpy's first np.unique loads it, in 15 ms of a recall.
    importlib.import_module("numpy.ma")
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


async def verify(config: Config, repair: bool) -> Sequence[Finding]:
    """Compare ledger, graph, vectors and keywords; with `repair`, rebuild what differs from the ledger.

    Raises DataDirectoryBusy while a sidecar runs on the same data directory.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(DataDirectory.open(config.data_dir))
        stores = await _open_stores(config, stack)
        await stores.projector.wait_until_caught_up()
        check = Verification(
            stores.ledger,
            stores.codec,
            stores.graph,
            stores.projector,
            stores.indexes,
            stores.snapshots,
            stores.space,
        )
        return [finding async for finding in check(repair)]


async def _open_stores(config: Config, stack: AsyncExitStack) -> Stores:
    codec = ProtobufEventCodec()
    ledger = await SqliteLedger.open(config.data_dir, codec)
    stack.push_async_callback(ledger.close)
    graph = await _open_graph(config)
    stack.push_async_callback(graph.close)
    if graph.rebuilt:
        _log.warning("the graph was set aside and is rebuilt from the ledger", extra={"reason": graph.rebuilt})
    projector = GraphProjector(graph, ledger)
    await projector.start()
    stack.push_async_callback(projector.close)
    indexes = HnswVectorIndexes(HnswSettings(crossover=config.vectors.crossover))
    stack.push_async_callback(indexes.close)
    embedder, model, dimensions = await _open_embedder(config, ledger, stack)
    cache = None
    if embedder is not None and config.embedding.cache_mb:
        embedder = cache = CachedEmbedder(embedder, config.embedding.cache_mb * MEBIBYTE)
    space = Space(model, dimensions, embedder, WRITE_MODEL_TIMEOUT, cache)
    snapshots = SnapshotFiles(config.data_dir / "resident")
    return Stores(ledger, codec, graph, projector, indexes, snapshots, space)


async def _open_graph(config: Config) -> KuzuGraph:
    """The graph; a new one when the old one cannot be opened, which is kept beside it and made again from the ledger.

    Nobody else owns this data directory, so whoever holds a lock on the graph only looks, or has been forgotten: not a
    reason to wait, and what is moved stays theirs.
    """
    folder = config.data_dir / "graph"
    volume = shutil.disk_usage(config.data_dir)
    open_graph = partial(
        KuzuGraph.open,
        folder,
        config.graph.engine,
        config.graph.buffer_pool_mb * MEBIBYTE,
        min_free_bytes=min(GRAPH_LEAVES_FREE, volume.total // 8),
    )
    try:
        return await open_graph()
    except StoreUnavailable as error:
        if not folder.exists():
            raise
        aside = set_aside(folder)
        try:
            graph = await open_graph()
        except StoreUnavailable:
            # Then it is not these files: a full disk, say.
            shutil.rmtree(folder, ignore_errors=True)
            aside.rename(folder)
            raise error from None
        _log.warning("the graph was set aside and is rebuilt", extra={"reason": str(error), "kept": aside.name})
        return graph


async def _open_accesses(config: Config, stack: AsyncExitStack) -> SqliteAccesses:
    """The counts of recalls; new ones when they cannot be opened: they are no reason not to start."""
    try:
        store = await SqliteAccesses.open(config.data_dir)
    except StoreUnavailable as error:
        file = config.data_dir / ACCESSES_FILE
        if not file.exists():
            raise
        kept = set_aside(file)
        for suffix in ("-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        store = await SqliteAccesses.open(config.data_dir)
        _log.warning("counts of recalls begin anew", extra={"reason": str(error), "kept": kept.name})
    stack.push_async_callback(store.close)
    return store


async def _open_embedder(
    config: Config, ledger: SqliteLedger, stack: AsyncExitStack
) -> tuple[Embedder | None, str, int]:
    """The embedder (None: callers bring vectors, or nobody does), the model's name, and the size of its vectors: 0 for
    that of its first answer."""
    settings = config.embedding
    if settings.provider in PROVIDERS:
        local = local_embedder(settings.provider)
        stack.push_async_callback(local.close)
        await local.load()
        if settings.dimensions not in (0, local.dimensions):
            made = f"but {settings.provider} makes vectors of {local.dimensions}; leave it out"
            raise InvalidField("embedding.dimensions", f"is {settings.dimensions}, {made}")
        return local, local.model, local.dimensions
    if settings.provider == "openai":
        # Its library is a third of everything that a start loads.
        from memsidecar.adapters.openai_models import OpenAIEmbedder, OpenAISettings

        remote = OpenAIEmbedder(
            OpenAISettings(
                model=settings.model,
                api_key=settings.api_key,
                base_url=settings.base_url,
                dimensions=settings.dimensions or None,
                max_batch=settings.batch,
                timeout=settings.timeout,
            )
        )
        stack.push_async_callback(remote.close)
        # Vectors that are stored tell the size; else the server, and when it is away, its first answer later on.
        if not remote.dimensions and (known := await ledger.dimensions(remote.model)):
            remote.expect(known)
        try:
            async with asyncio.timeout(MODEL_AT_START):
                await remote.load()
        except (ModelUnavailable, TimeoutError) as error:
            problem = str(error) or "does not answer"
            _log.warning("the model is away: no recall by meaning until it answers", extra={"problem": problem})
        return remote, remote.model, remote.dimensions
    return None, settings.model or settings.provider, settings.dimensions or 1


def _open_reranking(config: Config, clock: Clock, stack: AsyncExitStack) -> Reranking | None:
    settings = config.reranker
    if settings.provider == "none":
        return None
    from memsidecar.adapters.openai_models import OpenAIReranker, RerankerSettings

    reranker = OpenAIReranker(
        RerankerSettings(
            model=settings.model,
            ask="chat" if settings.provider == "openai" else "rerank",
            api_key=settings.api_key,
            base_url=settings.base_url,
            timeout=settings.timeout,
        )
    )
    stack.push_async_callback(reranker.close)
    return Reranking(reranker, clock, settings.top_n)


async def _open_sessions(config: Config, stack: AsyncExitStack) -> tuple[SessionStore, Tokenizer]:
    tokenizer = QuicktokTokenizer(config.tokenizer)
    # Reading its vocabulary takes as long as the session server's start: both at once.
    loading = asyncio.create_task(asyncio.to_thread(tokenizer.load, config.tokenizer), name="tokenizer")
    stack.push_async_callback(asyncio.wait, [loading])
    url = config.redis.connection_url
    explain: Callable[[], str] = str
    if not url:
        server = await ValkeyServer.start(config.data_dir / "sessions", config.redis.maxmemory_mb * MEBIBYTE)
        stack.push_async_callback(server.stop)
        if server.set_aside:
            _log.warning("the sessions' file was set aside", extra={"reason": server.set_aside})
        url, explain = server.url, partial(getattr, server, "problem")
    store = RedisSessions.connect(RedisSettings(url, config.redis.cluster, config.redis.ca_file, explain))
    stack.push_async_callback(store.close)
    await loading
    return store, tokenizer


async def _services(
    config: Config, stores: Stores, store: SessionStore, tokenizer: Tokenizer, stack: AsyncExitStack
) -> Services:
    clock = SystemClock()
    ids = TimeOrderedIds(clock)

    past = Past(stores.ledger, stores.codec, stores.indexes, stores.space)
    stack.push_async_callback(past.close)

    def committed(resident: Resident, entries: Sequence[Entry]) -> None:
        stores.projector.publish(entries)
        past.follow(resident.partition, entries)

    hydration = Hydration(stores.ledger, stores.codec, stores.indexes, stores.snapshots, stores.space)
    max_bytes = config.resident.max_mb * MEBIBYTE
    usages = Usages(await _open_accesses(config, stack), clock)
    usages.start()
    stack.push_async_callback(usages.close)
    residency = Residency(hydration, stores.ledger, stores.snapshots, clock, ids, max_bytes, committed, usages)
    stack.push_async_callback(residency.close)
    backlog = EmbeddingBacklog(residency, stores.space)
    backlog.start()
    stack.push_async_callback(backlog.close)
    preparing = Preparing(stores.space)
    reranking = _open_reranking(config, clock, stack)
    chosen = read_choice(config.ranking.profiles, config.ranking.profile, config.ranking.namespaces)
    # An embedder has the spread that it has, whatever weights are chosen.
    spread = SPREAD.get(config.embedding.provider, UNKNOWN_SPREAD)
    times = GrammarTimeExpressions()
    await asyncio.to_thread(times.load)
    embeds = stores.space.embeds or config.embedding.provider == "client"
    memories = Memories(residency, stores.ledger, preparing, stores.space, backlog, clock)
    purging = Purging(stores.ledger, memories, clock)
    purging.start()
    stack.push_async_callback(purging.close)
    times = GrammarTimeExpressions()
    await asyncio.to_thread(times.load)
    recall = Recall(
        residency,
        past,
        stores.space,
        backlog,
        clock,
        chosen,
        spread,
        QUERY_MODEL_TIMEOUT,
        NamedTimes(times),
        Conversation(store, clock),
        usages,
        reranking,
    )
    sessions = Sessions(store, tokenizer, clock, ids)
    return Services(
        now=clock.now,
        remember=Remember(residency, preparing, backlog),
        memories=memories,
        recall=recall,
        give_feedback=GiveFeedback(residency),
        usage_of=usages.of,
        build_context=BuildContext(recall, residency, past, sessions, tokenizer, clock),
        sessions=sessions,
        info=Info(
            ServerInfo(
                version=__version__,
                embedding_model=stores.space.model if embeds else "",
                embedding_dimensions=0,
                tokenizers=tokenizer.names,
                default_namespace=config.namespace,
                graph_engine=config.graph.engine,
            ),
            lambda: stores.space.dimensions if embeds else 0,
        ),
        health=Health(stores.ledger, stores.graph, store),
    )


def _server_settings(config: Config) -> ServerSettings:
    return ServerSettings(
        socket=str(config.socket_path),
        socket_mode=config.listen.socket_mode,
        socket_group=config.listen.socket_group,
        tcp_host=config.listen.tcp_host,
        tcp_port=config.listen.tcp_port or None,
        health_host=config.health.host,
        health_port=config.health.port or None,
        token=config.token,
        default_namespace=config.namespace,
        max_concurrent_rpcs=config.limits.max_concurrent_rpcs,
        max_streams=config.limits.max_streams,
        stream_idle=config.limits.stream_idle,
        reflection=config.reflection,
    )
