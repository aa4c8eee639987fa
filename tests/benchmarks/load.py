"""Recalls under load: how many at once, and how even the answers are at a steady part of that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import psutil

from tests.benchmarks.measuring import Result
from tests.benchmarks.plan import Plan
from tests.benchmarks.readers import WARM_UP, Read, Reading, read

AT_ONCE = 16
STEADY = 0.7
CORES = 2
_PARTS = 4


def under_load(plan: Plan) -> Iterator[Result]:
    """Server and client on the same two cores: as fast as it goes with 16 in flight, then 70 % of that, evenly sent.

    Both are measured in parts that take turns, and the rate of a steady part follows the throughput just before it:
    a machine that others use, too, is not the same machine a minute later.
    """
    store = plan.store
    user = store.user(plan.middle)
    everything = sorted(os.sched_getaffinity(0))
    cores = everything[:CORES]
    server = store.process
    _pin(server, cores)
    reading = Reading(store.sidecar.target, user, plan.seconds / _PARTS, AT_ONCE, cores=cores)
    full: list[Read] = []
    steady: list[Read] = []
    busy = sum(server.cpu_times()[:2])
    try:
        for _ in range(_PARTS):
            full.append(read(reading))
            steady.append(read(replace(reading, rate=STEADY * full[-1].per_second)))
    finally:
        _pin(server, everything)
    busy = sum(server.cpu_times()[:2]) - busy
    calls = sum(WARM_UP + len(part.latencies.seconds) for part in (*full, *steady))
    best = _middle(full)
    yield Result(
        f"{AT_ONCE} recalls at once, {plan.middle:,} memories, {len(cores)} cores",
        best.per_second,
        "recalls/s",
        how=f"{best.latencies}; {1000 * busy / calls:.2f} ms of the server's CPU each",
        numbers=best.latencies.numbers() | {"per_second": [part.per_second for part in full]},
    )
    even = _middle(steady)
    yield Result(
        f"recalls at a steady {STEADY:.0%} of that",
        even.latencies.at(99) / even.latencies.p50,
        "p99/p50",
        4.0,
        how=f"{even.per_second:,.0f}/s: {even.latencies}; sent late by {even.late}; p99/p50 of the parts: "
        + ", ".join(f"{part.latencies.at(99) / part.latencies.p50:.1f}" for part in steady),
        numbers=even.latencies.numbers() | {"per_second": even.per_second},
    )


def _pin(server: psutil.Process, cores: list[int]) -> None:
    """All threads that there are: an affinity is a thread's, and new ones have that of the thread which starts them."""
    for process in (server, *server.children(recursive=True)):
        for thread in process.threads():
            os.sched_setaffinity(thread.id, cores)


def _middle(parts: list[Read]) -> Read:
    """The part with the (lower) median of p99 / p50."""
    return sorted(parts, key=lambda part: part.latencies.at(99) / part.latencies.p50)[(len(parts) - 1) // 2]
