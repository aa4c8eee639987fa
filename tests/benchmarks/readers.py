"""A client that recalls, in a process of its own: so many at once, or at a steady rate whatever the answers take.

`python -m tests.benchmarks.readers '{"target": ...}'` takes the fields of `Reading` and prints a line of JSON.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import grpc

from memsidecar.v1 import recall_service_pb2_grpc
from tests.benchmarks.dataset import Dataset, recall_request
from tests.benchmarks.measuring import Samples, samples
from tests.benchmarks.writers import ROOT

WARM_UP = 200
"""Calls of each client before those that are measured."""


@dataclass(frozen=True, slots=True)
class Reading:
    """`rate` a second, each sent when it is due; 0: `at_once` in flight, the next when one is answered."""

    target: str
    user: str
    seconds: float
    at_once: int = 1
    rate: float = 0.0
    cores: Sequence[int] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Latencies count from when a call was due, so that a late answer also counts for those that wait behind it."""

    latencies: Samples
    seconds: float
    late: Samples
    """How long after it was due each call was sent: what this client adds."""

    @property
    def per_second(self) -> float:
        return len(self.latencies.seconds) / self.seconds


def read(reading: Reading) -> Read:
    """What a client process measured."""
    command = [sys.executable, "-m", "tests.benchmarks.readers", json.dumps(asdict(reading))]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    report = json.loads(done.stdout)
    return Read(samples(report["latencies"]), report["seconds"], samples(report["late"]))


def _read(reading: Reading) -> dict[str, Any]:
    if reading.cores:
        os.sched_setaffinity(0, reading.cores)
    requests = [recall_request(reading.user, *question) for question in Dataset().questions(500, words=False)]
    taken: list[float] = []
    late: list[float] = []
    failures: list[BaseException] = []
    slots = threading.Semaphore(reading.at_once)
    with grpc.insecure_channel(reading.target) as channel:
        recall: Any = recall_service_pb2_grpc.RecallServiceStub(channel).RecallOnce
        for request in requests[:WARM_UP]:
            recall(request)
        gc.collect()
        gc.disable()

        def answered(due: float, call: Any) -> None:
            taken.append(time.perf_counter() - due)
            if (failure := call.exception()) is not None:
                failures.append(failure)
            slots.release()

        started = time.perf_counter()
        sent = 0
        while not failures:
            due = started + sent / reading.rate if reading.rate else 0.0
            if reading.rate:
                time.sleep(max(0.0, due - time.perf_counter()))
            else:
                slots.acquire()
            now = time.perf_counter()
            if now >= started + reading.seconds:
                break
            due = due or now
            late.append(now - due)
            call = recall.future(requests[sent % len(requests)])
            call.add_done_callback(partial(answered, due))
            sent += 1
        elapsed = time.perf_counter() - started
        until = time.monotonic() + 30.0
        while len(taken) < sent and time.monotonic() < until:
            time.sleep(0.005)
    if failures:
        raise failures[0]
    return {"latencies": taken, "late": late, "seconds": elapsed}


if __name__ == "__main__":
    # Sender and receiver share this interpreter: neither may keep it from the other for long.
    sys.setswitchinterval(0.0005)
    print(json.dumps(_read(Reading(**json.loads(sys.argv[1])))))
