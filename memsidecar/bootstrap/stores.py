"""What is on disk, and the models, opened in the order in which they need each other."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from memsidecar.adapters.data_directory import set_aside
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
from memsidecar.adapters.valkey_server import ValkeyServer
from memsidecar.bootstrap.shown import Shown, of_embedding_cache, of_ledger, of_sessions
from memsidecar.bootstrap.tracing import traced_embedder, traced_graph, traced_sessions
from memsidecar.config import Config
from memsidecar.domain.errors import ModelUnavailable, StoreUnavailable
from memsidecar.ports.graph import GraphStore
from memsidecar.ports.models import Embedder, Tokenizer
from memsidecar.ports.sessions import SessionStore
from memsidecar.ports.tracing import Tracer
from memsidecar.services.preparing import Space
from memsidecar.services.projector import GraphProjector

_log = logging.getLogger(__name__)

MEBIBYTE = 1 << 20
# The graph leaves the rest of the volume to the ledger: this much, and an eighth of a small one.
GRAPH_LEAVES_FREE = 256 * MEBIBYTE
# The start waits this long for a model to tell the size of its vectors, when nothing else does.
MODEL_AT_START = 5.0
# A write waits this long for its vectors (and longer for long texts), then is stored without them and embedded later:
# well within the 10 s that clients give a call by default, so that a model that hangs does not fail writes.
WRITE_MODEL_TIMEOUT = 5.0


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


async def open_stores(config: Config, stack: AsyncExitStack, shown: Shown, tracer: Tracer | None = None) -> Stores:
    codec = ProtobufEventCodec()
    ledger = await SqliteLedger.open(config.data_dir, codec)
    stack.push_async_callback(ledger.close)
    shown.add(of_ledger(ledger))
    graph = await _open_graph(config)
    stack.push_async_callback(graph.close)
    if graph.rebuilt:
        _log.warning("the graph was set aside and is rebuilt from the ledger", extra={"reason": graph.rebuilt})
    projector = GraphProjector(graph if tracer is None else traced_graph(graph, tracer), ledger)
    await projector.start()
    stack.push_async_callback(projector.close)
    shown.add(projector.metrics())
    indexes = HnswVectorIndexes(HnswSettings(crossover=config.vectors.crossover))
    stack.push_async_callback(indexes.close)
    embedder, model, dimensions = await _open_embedder(config, ledger, stack)
    cache = None
    if embedder is not None:
        # Both behind the cache: what is counted and traced is a call that is made, not one that is answered.
        embedder = shown.models.embedder(embedder)
        if tracer is not None:
            embedder = traced_embedder(embedder, tracer, config)
        if config.embedding.cache_mb:
            embedder = cache = CachedEmbedder(embedder, config.embedding.cache_mb * MEBIBYTE)
    shown.add(of_embedding_cache(cache))
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


async def open_accesses(config: Config, stack: AsyncExitStack) -> SqliteAccesses:
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


async def open_sessions(
    config: Config, stack: AsyncExitStack, shown: Shown, tracer: Tracer | None = None
) -> tuple[SessionStore, Tokenizer]:
    tokenizer = QuicktokTokenizer(config.tokenizer)
    # Reading its vocabulary takes as long as the session server's start: both at once.
    loading = asyncio.create_task(asyncio.to_thread(tokenizer.load, config.tokenizer), name="tokenizer")
    stack.push_async_callback(asyncio.wait, [loading])
    url = config.redis.connection_url
    explain: Callable[[], str] = str
    server: ValkeyServer | None = None
    if not url:
        server = await ValkeyServer.start(config.data_dir / "sessions", config.redis.maxmemory_mb * MEBIBYTE)
        stack.push_async_callback(server.stop)
        if server.set_aside:
            _log.warning("the sessions' file was set aside", extra={"reason": server.set_aside})
        url, explain = server.url, partial(getattr, server, "problem")
    store = RedisSessions.connect(RedisSettings(url, config.redis.cluster, config.redis.ca_file, explain))
    stack.push_async_callback(store.close)
    shown.add(of_sessions(store.calls, server))
    await loading
    return (store if tracer is None else traced_sessions(store, tracer)), tokenizer
