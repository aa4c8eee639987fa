"""Many memories: how fast they come in, what they weigh, and how soon they are there again."""

from __future__ import annotations

import time
from collections.abc import Iterator

from tests.benchmarks.dataset import BATCH, recall_request
from tests.benchmarks.measuring import Result
from tests.benchmarks.plan import Plan
from tests.benchmarks.store import Store


def batch(plan: Plan) -> Iterator[Result]:
    """BatchRemember of 256 with vectors from one client, two requests on their way; then the memory they take."""
    store = plan.store
    _first_recall(store, store.user(BATCH))
    empty_rss, empty_pss = store.resident_bytes()
    busy = sum(store.process.cpu_times()[:2])
    seconds = store.fill(plan.largest)
    busy = sum(store.process.cpu_times()[:2]) - busy
    yield Result(
        f"batches of {BATCH}, {plan.largest:,} memories",
        plan.largest / seconds,
        "memories/s",
        3_000.0,
        at_least=True,
        how=f"{seconds:.1f} s; the server used {busy:.1f} core seconds, upkeep after it included",
        numbers={"seconds": seconds, "server_cpu_seconds": busy},
    )
    yield from _weight(plan, "after loading", empty_rss, empty_pss)


def start(plan: Plan) -> Iterator[Result]:
    """Start with everything stored: after a clean stop, and after SIGKILL."""
    store = plan.store
    user = store.user(plan.largest)
    empty = plan.new_store("empty")
    empty.user(BATCH)
    empty.restart(kill=False)
    _first_recall(empty, empty.user(BATCH))
    empty_rss, empty_pss = empty.resident_bytes()
    empty.close()
    for kill in (False, True):
        if kill:
            store.ingest("late", BATCH)
        seconds = store.restart(kill)
        first = _first_recall(store, user)
        name = "SIGKILL" if kill else "a clean stop"
        yield Result(
            f"ready after {name}, {plan.largest:,} memories",
            seconds,
            "s",
            3.0,
            how=f"first recall answered {first:.2f} s later",
            numbers={"ready_seconds": seconds, "first_recall_seconds": first},
        )
        yield Result(f"first answer after {name}", seconds + first, "s", how="ready, and the first recall answered")
    store.rest()
    yield from _weight(plan, "after a restart", empty_rss, empty_pss)


def _weight(plan: Plan, when: str, empty_rss: int, empty_pss: int) -> Iterator[Result]:
    rss, pss = plan.store.resident_bytes()
    yield Result(
        f"resident memory a memory, {when}",
        (rss - empty_rss) / plan.largest / 1024,
        "KB",
        4.0,
        how=f"MiB: RSS {rss >> 20} and {empty_rss >> 20} empty, PSS {pss >> 20} and {empty_pss >> 20}",
        numbers={"rss": rss, "pss": pss, "empty_rss": empty_rss, "empty_pss": empty_pss},
    )


def _first_recall(store: Store, user: str) -> float:
    """Seconds of one recall."""
    request = recall_request(user, *store.data.questions(1, words=True)[0])
    started = time.perf_counter()
    store.recalls.RecallOnce(request)
    return time.perf_counter() - started
