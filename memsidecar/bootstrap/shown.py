"""What the process shows of itself: collected while it is put together, read when somebody asks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from memsidecar.adapters.data_directory import DiskUsage
from memsidecar.adapters.embedding_cache import CachedEmbedder, CacheStats
from memsidecar.adapters.sqlite_ledger import SqliteLedger
from memsidecar.adapters.valkey_server import ValkeyServer
from memsidecar.bootstrap.models import Models
from memsidecar.domain.measures import Calls
from memsidecar.ports.metrics import Kind, Metric
from memsidecar.ports.tracing import Tracer
from memsidecar.services.residency import Residency

_COUNTER, _GAUGE, _HISTOGRAM = Kind.COUNTER, Kind.GAUGE, Kind.HISTOGRAM


class Shown:
    """`models` takes in the models; everything else is added as metrics."""

    def __init__(self) -> None:
        self.models = Models()
        self._metrics: list[Metric] = []

    def add(self, metrics: Iterable[Metric]) -> None:
        self._metrics += metrics

    def metrics(self) -> Sequence[Metric]:
        return (*self._metrics, *self.models.metrics())


def of_ledger(ledger: SqliteLedger) -> Sequence[Metric]:
    counts = ledger.counts
    return (
        Metric("memsidecar_ledger_position", _GAUGE, "Entries in the ledger.", lambda: [((), counts.position)]),
        Metric(
            "memsidecar_ledger_events_total",
            _COUNTER,
            "Entries that were added to the ledger.",
            lambda: [((), counts.events)],
        ),
        Metric(
            "memsidecar_ledger_commit_seconds",
            _HISTOGRAM,
            "How long a transaction of the ledger took; all that wait at a moment share one.",
            lambda: [((), counts.commits)],
        ),
        Metric(
            "memsidecar_ledger_sync_seconds",
            _HISTOGRAM,
            "How long the last step of a transaction took, which waits for the disk (fsync).",
            lambda: [((), counts.syncs)],
        ),
        Metric(
            "memsidecar_ledger_failures_total",
            _COUNTER,
            "Transactions of the ledger that were rolled back.",
            lambda: [((), counts.failures)],
        ),
        Metric(
            "memsidecar_ledger_waiting",
            _GAUGE,
            "Batches that wait for the ledger's writer.",
            lambda: [((), ledger.waiting)],
        ),
    )


def of_residency(residency: Residency, max_bytes: int) -> Sequence[Metric]:
    counts = residency.counts
    return (
        *residency.writes.metrics(),
        Metric(
            "memsidecar_writes_waiting",
            _GAUGE,
            "Requests that wait for the writer of their user.",
            lambda: [((), sum(each.writer.waiting for each in residency.loaded))],
        ),
        Metric(
            "memsidecar_vectors_due",
            _GAUGE,
            "Memories of users in memory that are stored and have no vector yet.",
            lambda: [((), sum(len(each.resident.due) for each in residency.loaded))],
        ),
        Metric(
            "memsidecar_resident_partitions",
            _GAUGE,
            "Users whose memory is held ready.",
            lambda: [((), residency.count)],
        ),
        Metric(
            "memsidecar_resident_bytes",
            _GAUGE,
            "Memory that users held ready take, estimated.",
            lambda: [((), residency.nbytes)],
        ),
        Metric(
            "memsidecar_resident_limit_bytes",
            _GAUGE,
            "Memory that users held ready may take (resident.max_mb).",
            lambda: [((), max_bytes)],
        ),
        Metric(
            "memsidecar_resident_hits_total",
            _COUNTER,
            "Looks at a user's memory that was held ready.",
            lambda: [((), counts.hits)],
        ),
        Metric(
            "memsidecar_resident_misses_total",
            _COUNTER,
            "Looks at a user's memory that had to be loaded first.",
            lambda: [((), counts.misses)],
        ),
        Metric(
            "memsidecar_resident_evictions_total",
            _COUNTER,
            "Users whose memory made room for others.",
            lambda: [((), counts.evictions)],
        ),
        Metric(
            "memsidecar_resident_load_seconds",
            _HISTOGRAM,
            "How long loading a user's memory took.",
            lambda: [((), counts.loads)],
        ),
    )


def of_embedding_cache(cache: CachedEmbedder | None) -> Sequence[Metric]:
    def stats() -> CacheStats:
        return CacheStats(0, 0, 0, 0) if cache is None else cache.stats

    return (
        Metric(
            "memsidecar_embedding_cache_hits_total",
            _COUNTER,
            "Texts whose vector was known.",
            lambda: [((), stats().hits)],
        ),
        Metric(
            "memsidecar_embedding_cache_misses_total",
            _COUNTER,
            "Texts that the embedder was asked for.",
            lambda: [((), stats().misses)],
        ),
        Metric(
            "memsidecar_embedding_cache_bytes",
            _GAUGE,
            "Memory that vectors of texts seen before take.",
            lambda: [((), stats().bytes)],
        ),
    )


def of_sessions(calls: Calls, server: ValkeyServer | None) -> Sequence[Metric]:
    return (
        Metric(
            "memsidecar_session_store_calls_total",
            _COUNTER,
            "Calls to the session store; the look each second whether it answers is one.",
            lambda: [((outcome,), count) for outcome, count in calls.ended.items()],
            ("outcome",),
        ),
        Metric(
            "memsidecar_session_store_call_seconds",
            _HISTOGRAM,
            "How long calls to the session store took.",
            lambda: [((), calls.seconds)],
        ),
        Metric(
            "memsidecar_session_server_restarts_total",
            _COUNTER,
            "Times that the private session server ended and was started again.",
            lambda: [((), 0 if server is None else server.restarts)],
        ),
    )


def of_traces(tracer: Tracer | None) -> Sequence[Metric]:
    return (
        Metric(
            "memsidecar_spans_dropped_total",
            _COUNTER,
            "Spans of traces that never reached the collector; 0 without tracing.endpoint.",
            lambda: [((), 0 if tracer is None else tracer.dropped)],
        ),
    )


def of_disk(disk: DiskUsage) -> Sequence[Metric]:
    return (
        Metric(
            "memsidecar_data_bytes",
            _GAUGE,
            "Size of the files in the data directory, looked at once a minute.",
            lambda: [((part,), size) for part, size in disk.parts().items()],
            ("part",),
        ),
        Metric(
            "memsidecar_volume_free_bytes",
            _GAUGE,
            "What may still be written to the volume of the data directory.",
            lambda: [((), disk.free())],
        ),
        Metric(
            "memsidecar_volume_bytes", _GAUGE, "Size of the volume of the data directory.", lambda: [((), disk.size())]
        ),
    )


def of_build(version: str, python: str, model: str, graph_engine: str) -> Sequence[Metric]:
    started = time.time()
    return (
        Metric(
            "memsidecar_build_info",
            _GAUGE,
            "1; its labels say what runs.",
            lambda: [((version, python, model, graph_engine), 1)],
            ("version", "python", "embedding_model", "graph_engine"),
        ),
        Metric(
            "memsidecar_start_time_seconds",
            _GAUGE,
            "When the process had opened its stores, in seconds since 1970.",
            lambda: [((), started)],
        ),
    )
