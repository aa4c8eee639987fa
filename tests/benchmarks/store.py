"""The process under test, and the memories in it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import psutil
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tqdm import tqdm

from memsidecar.v1 import memory_service_pb2, memory_service_pb2_grpc, recall_service_pb2_grpc
from tests.benchmarks.dataset import BATCH, DIMENSIONS, Dataset, batches
from tests.benchmarks.serve import ANSWER, ECHO
from tests.sidecar import Sidecar

SETTINGS = {"embedding.provider": "client", "embedding.dimensions": str(DIMENSIONS)}
QUICK_TO_RECONNECT = (
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 20),
)
# Below this share of a core, for so many seconds, there is no upkeep under way.
# Upkeep waits a second for a pause in the writes: longer than that without work is rest.
_AT_REST_PERCENT, _AT_REST_SECONDS = 5.0, 4.0
# Requests on their way at once during an ingest: one being made, one being served.
_IN_FLIGHT = 2


class Store:
    """A running sidecar on a data directory of its own, with partitions of given sizes made when first asked for."""

    def __init__(
        self,
        folder: Path,
        name: str,
        data: Dataset,
        settings: Mapping[str, str] | None = None,
        module: str = "tests.benchmarks.serve",
    ) -> None:
        self.sidecar = Sidecar(folder / name, SETTINGS | dict(settings or {}), module=module)
        self.data = data
        self._sizes: dict[int, str] = {}
        self._blocks = 0
        self.sidecar.start()
        self._connect()

    def _connect(self) -> None:
        self.channel = grpc.insecure_channel(self.sidecar.target, options=QUICK_TO_RECONNECT)
        self.memories: Any = memory_service_pb2_grpc.MemoryServiceStub(self.channel)
        self.recalls: Any = recall_service_pb2_grpc.RecallServiceStub(self.channel)

    def echo(self, request: Message, answer: Message) -> Callable[[], Any]:
        """A call that sends this request and gets this answer, written and parsed as a stub would; one at a time."""
        tell: Any = self.channel.unary_unary(ANSWER)
        tell(answer.SerializeToString())
        call: Any = self.channel.unary_unary(ECHO, type(request).SerializeToString, type(answer).FromString)
        return lambda: call(request)

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self.sidecar.pid)

    def user(self, memories: int) -> str:
        """The user of a partition of that size, at rest."""
        if memories not in self._sizes:
            self.fill(memories)
        return self._sizes[memories]

    def fill(self, memories: int) -> float:
        """Make the user of that size; the seconds it took to store."""
        name = self._sizes[memories] = f"user-{memories}"
        return self.ingest(name, memories)

    def ingest(self, user: str, memories: int) -> float:
        """Store new memories in batches of 256 and wait for the upkeep; the seconds of the calls alone."""
        first = self.take_blocks(-(-memories // BATCH))
        started = time.perf_counter()
        with tqdm(total=memories, desc=f"storing {memories:,}", unit=" memories", leave=False, disable=None) as bar:
            for stored in self.send(batches(self.data, user, first, memories)):
                bar.update(stored)
        elapsed = time.perf_counter() - started
        self.rest()
        return elapsed

    def send(self, requests: Iterable[memory_service_pb2.BatchRememberRequest]) -> Iterator[int]:
        """Store one batch after the other, the next one being made meanwhile; yields how many memories each stored."""
        waiting: deque[Any] = deque()
        for request in requests:
            waiting.append(self.memories.BatchRemember.future(request))
            if len(waiting) >= _IN_FLIGHT:
                yield _stored(waiting.popleft().result())
        while waiting:
            yield _stored(waiting.popleft().result())

    def take_blocks(self, count: int) -> int:
        """The first of so many blocks of the data set that nothing else uses."""
        first = self._blocks
        self._blocks += count
        return first

    def rest(self, patience: float = 300.0) -> float:
        """`at_rest` of the process under test."""
        return at_rest(self.process, patience)

    def resident_bytes(self) -> tuple[int, int]:
        """(RSS, PSS) of the process itself; its private Redis-protocol server holds sessions only."""
        info = self.process.memory_full_info()
        return info.rss, info.pss

    def restart(self, kill: bool) -> float:
        """Stop it, cleanly or by SIGKILL, and start it again; seconds from exec to SERVING on readiness."""
        self.channel.close()
        if kill:
            self.sidecar.kill()
        else:
            self.sidecar.stop()
        started = time.perf_counter()
        self.sidecar.start(wait=False)
        self._connect()
        health = health_pb2_grpc.HealthStub(self.channel)
        request = health_pb2.HealthCheckRequest(service="readiness")
        while health.Check(request, wait_for_ready=True, timeout=60).status != health_pb2.HealthCheckResponse.SERVING:
            time.sleep(0.005)
        return time.perf_counter() - started

    def close(self) -> None:
        self.channel.close()
        self.sidecar.close()


def at_rest(process: psutil.Process, patience: float = 300.0) -> float:
    """Wait until it does nothing by itself: indexes built, graph caught up, snapshots written; the seconds that took.

    Raises RuntimeError when it is still busy after `patience` seconds.
    """
    process.cpu_percent()
    started, quiet = time.monotonic(), 0.0
    with tqdm(desc="waiting for its upkeep", bar_format="{desc} {elapsed}", leave=False, disable=None) as bar:
        while quiet < _AT_REST_SECONDS:
            if time.monotonic() > started + patience:
                raise RuntimeError(f"the sidecar is still busy after {patience} s")
            time.sleep(0.25)
            bar.update()
            quiet = quiet + 0.25 if process.cpu_percent() < _AT_REST_PERCENT else 0.0
    return max(0.0, time.monotonic() - started - quiet)


def _stored(response: Any) -> int:
    wrong = [result.error.message for result in response.results if not result.outcomes]
    if wrong:
        raise RuntimeError(wrong[0])
    return len(response.results)
