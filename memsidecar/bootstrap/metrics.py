"""The metrics of this process over HTTP."""

from __future__ import annotations

import platform
from contextlib import AsyncExitStack

from memsidecar import __version__
from memsidecar.adapters.data_directory import DiskUsage
from memsidecar.bootstrap.shown import Shown, of_build, of_disk
from memsidecar.config import Config
from memsidecar.server.listen import bound_socket
from memsidecar.services.loop_lag import LoopLag

# What stands in the data directory, by the beginning of its name.
_PARTS = {
    "ledger.db": "ledger",
    "graph": "graph",
    "resident": "snapshots",
    "sessions": "sessions",
    "accesses.db": "accesses",
}


def open_metrics(config: Config, shown: Shown, embedding_model: str, stack: AsyncExitStack) -> None:
    """Serve what is shown until `stack` is closed; nothing when `metrics.port` is 0. Raises CannotListen."""
    if not config.metrics.port:
        return
    listening = bound_socket(config.metrics.host, config.metrics.port, "metrics.port")
    stack.callback(listening.close)
    # Its library takes 30 ms to load, which nobody waits for who shows no metrics.
    from memsidecar.adapters.prometheus_metrics import MetricsCollector, MetricsServer

    lag = LoopLag()
    lag.start()
    stack.callback(lag.close)
    shown.add(lag.metrics())
    shown.add(of_disk(DiskUsage(config.data_dir, _PARTS)))
    shown.add(of_build(__version__, platform.python_version(), embedding_model, config.graph.engine))
    server = MetricsServer(listening, MetricsCollector(shown.metrics()))
    server.start()
    stack.push_async_callback(server.close)
