"""Recall: against an echo, as the memory grows, and while somebody writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

from tests.benchmarks.dataset import recall_request
from tests.benchmarks.measuring import Result, repeated, side_by_side
from tests.benchmarks.plan import Plan
from tests.benchmarks.writers import Client, Load


def against_echo(plan: Plan) -> Iterator[Result]:
    """RecallOnce through the generated stub, beside the echo of one of its requests and its answer."""
    store, size = plan.store, plan.middle
    user = store.user(size)
    for words in (False, True):
        recall = _recall(plan, user, words)
        request = recall_request(user, *store.data.questions(1, words)[0])
        answer = store.recalls.RecallOnce(request)
        timings = side_by_side({"recall": recall, "echo": store.echo(request, answer)}, plan.rounds)
        yield Result(
            f"recall{' with words' if words else ''}, {size:,} memories",
            timings["recall"].p50 / timings["echo"].p50,
            "x echo",
            2.0,
            how=f"recall {timings['recall']}; echo of {answer.ByteSize():,} bytes {timings['echo']}",
            numbers={name: taken.numbers() for name, taken in timings.items()} | {"answer_bytes": answer.ByteSize()},
        )


def growth(plan: Plan) -> Iterator[Result]:
    store = plan.store
    for words in (False, True):
        calls = {f"{size:,}": _recall(plan, store.user(size), words) for size in plan.sizes}
        timings = side_by_side(calls, plan.rounds // 2)
        smallest, largest = f"{plan.sizes[0]:,}", f"{plan.sizes[-1]:,}"
        yield Result(
            f"recall{' with words' if words else ''}, {largest} against {smallest}",
            timings[largest].p50 / timings[smallest].p50,
            "x",
            2.0,
            how="; ".join(f"{size}: {taken}" for size, taken in timings.items()),
            numbers={size: taken.numbers() for size, taken in timings.items()},
        )


def under_writes(plan: Plan) -> Iterator[Result]:
    """The same user is written to, 50 times a second, by a client in another process."""
    store = plan.store
    user = store.user(plan.middle)
    recall = _recall(plan, user, words=False)
    client = Client(Load(store.sidecar.target, store.take_blocks(200), 1, 10 * plan.seconds, (user,), rate=50.0))
    client.begin()
    taken = repeated(recall, plan.seconds)
    report = client.stop()
    yield Result(
        f"recall under 50 writes/s, {plan.middle:,} memories",
        taken.at(99) / taken.p50,
        "p99/p50",
        5.0,
        how=f"recall {taken}; {report['writes'] / report['seconds']:.0f} writes/s, p50 {report['p50_ms']:.2f} ms",
        numbers={"recall": taken.numbers(), "writer": dict(report)},
    )


def _recall(plan: Plan, user: str, words: bool) -> Callable[[], Any]:
    requests = cycle([recall_request(user, *q) for q in plan.store.data.questions(500, words)])
    call = plan.store.recalls.RecallOnce
    return lambda: call(next(requests))
