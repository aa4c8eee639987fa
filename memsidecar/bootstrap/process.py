"""The process from start to stop."""

from __future__ import annotations

import asyncio
import gc
import importlib
import logging
import signal
import sys
from contextlib import AsyncExitStack

from memsidecar import __version__
from memsidecar.adapters.data_directory import DataDirectory
from memsidecar.bootstrap.checking import check_settings
from memsidecar.bootstrap.metrics import open_metrics
from memsidecar.bootstrap.services import make_services
from memsidecar.bootstrap.shown import Shown, of_traces
from memsidecar.bootstrap.stores import open_sessions, open_stores
from memsidecar.bootstrap.tracing import open_tracer
from memsidecar.config import Config
from memsidecar.server.app import Server, ServerSettings

_log = logging.getLogger(__name__)

# The interpreter hands the GIL on after this long (its default is 5 ms). A commit takes it back some ten times in the
# ledger's thread: each time it would wait for as long as the event loop is busy, and so would every write.
SWITCH_INTERVAL = 0.0005
# Allocations before a young collection, and such collections before an older one (Python's own: 700, 10, 10). A
# collection stops every call: one of 2,000 young objects for half a millisecond, one that looks at three times as many
# for two, a full one over the records of 100,000 memories for a tenth of a second. What survives is hardly ever cyclic.
COLLECT_AFTER = (2_000, 2, 25_000)


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
        server = await _started(config, stack, stop)
        if server is not None:
            try:
                _log.info("ready", extra={"socket": str(config.socket_path), "version": __version__})
                await stop.wait()
                _log.info("draining")
            finally:
                # Also when this task is cancelled: calls must not meet stores that are closed.
                await server.drain(config.drain_grace)
    _log.info("stopped")


async def _started(config: Config, stack: AsyncExitStack, stop: asyncio.Event) -> Server | None:
    """The server, listening; None when `stop` is set on the way: whoever gives up on a start need not wait for it."""
    check_settings(config)
    stack.enter_context(DataDirectory.open(config.data_dir))
    # First, and so closed last: what the stores do at the end is seen, too.
    tracer = open_tracer(config, stack)
    shown = Shown()
    shown.add(of_traces(tracer))
    stores = await open_stores(config, stack, shown, tracer)
    if stop.is_set():
        return None
    sessions, tokenizer = await open_sessions(config, stack, shown, tracer)
    if stop.is_set():
        return None
    services = await make_services(config, stores, sessions, tokenizer, stack, shown, tracer)
    server = Server(_server_settings(config), services, tracer)
    shown.add(server.metrics())
    # Closed after the drain: the last scrape sees it.
    open_metrics(config, shown, stores.space.model, stack)
    if stop.is_set():
        return None
    await server.start()
    _calm_collector()
    return server


def _calm_collector() -> None:
    """What is there at the start stays; of what comes, little is cyclic, and looking at all of it takes long."""
    # numpy's first np.unique loads it, in 15 ms of a recall.
    importlib.import_module("numpy.ma")
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


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
        max_watches=config.limits.max_watches,
        max_watches_per_namespace=config.limits.max_watches_per_namespace,
        stream_idle=config.limits.stream_idle,
        max_generations=config.generation.max_streams,
        heartbeat=config.limits.heartbeat,
        min_confidence=config.generation.min_confidence,
        reflection=config.reflection,
    )
