"""How soon a memory is there: after the text that brings it up, and of a Recall that streams."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from memsidecar.v1 import memory_service_pb2, recall_service_pb2
from tests.benchmarks.dataset import BATCH, scope
from tests.benchmarks.generation.process import Client
from tests.benchmarks.measuring import Result, samples
from tests.benchmarks.plan import Plan

RATE = 20.0
DELTAS_A_SENTENCE = 40


def against_ping_pong(plan: Plan) -> Iterator[Result]:
    """From a sentence to its first hit, beside a message and its answer on a stream of the same channel."""
    store, size = plan.followed, plan.middle
    client = Client(
        "tests.benchmarks.generation.talking", target=store.sidecar.target, user=store.user(size), rounds=plan.rounds
    )
    told = client.last()
    hit, pong = samples(told["hit"]), samples(told["pong"])
    yield Result(
        f"sentence to hit, {size:,} memories",
        hit.p50 / pong.p50,
        "x ping-pong",
        3.0,
        how=f"hit {hit}, {told['hits'] / len(hit.seconds):.1f} with it; ping-pong of {told['bytes']:,} bytes {pong}",
        numbers={"hit": hit.numbers(), "pong": pong.numbers(), "bytes": told["bytes"]},
    )


def crowd(plan: Plan) -> Iterator[Result]:
    """Models write 20 tokens a second, and the local embedder embeds. Two client processes, on the server's cores."""
    store, users = plan.embedding, _spoken_of(plan)
    streams, processes = (20, 2) if plan.quick else (100, 2)
    seconds = 3 * plan.seconds
    clients = [
        Client(
            "tests.benchmarks.generation.crowd",
            target=store.sidecar.target,
            users=users,
            first=number * streams // processes,
            streams=streams // processes,
            all=streams,
            rate=RATE,
            per_sentence=DELTAS_A_SENTENCE,
            seconds=seconds,
        )
        for number in range(processes)
    ]
    for client in clients:
        client.told()
    busy = sum(store.process.cpu_times()[:2])
    for client in clients:
        client.go()
    reports = [client.last() for client in clients]
    busy = sum(store.process.cpu_times()[:2]) - busy
    taken = samples([seconds for report in reports for seconds in report["taken"]])
    late = samples([seconds for report in reports for seconds in report["late"]])
    events = Counter[str]()
    for report in reports:
        events.update(report["events"])
    with_hits = sum(report["with_hits"] for report in reports)
    unanswered = sum(report["unanswered"] for report in reports)
    yield Result(
        f"{streams} streams, {streams * RATE / DELTAS_A_SENTENCE:.0f} evaluations/s, local embedder",
        1000 * taken.at(95),
        "ms, p95",
        25.0,
        how=f"delta to hit ({with_hits / len(taken.seconds):.0%}) or watermark {taken}; never answered: "
        f"{unanswered}; written late by {late}; {dict(events)}; of a core: server "
        f"{busy / seconds:.2f}, clients {sum(report['cpu'] for report in reports) / seconds:.2f}",
        numbers={
            "taken": taken.numbers(),
            "late": late.numbers(),
            "events": dict(events),
            "with_hits": with_hits,
            "unanswered": unanswered,
        },
    )


def first_of_recall(plan: Plan) -> Iterator[Result]:
    """Recall with the local embedder, each question for the first time: hits by words come before the model answers."""
    store, user = plan.embedding, _spoken_of(plan)[0]
    recall = store.recalls.Recall
    first, whole = [], []
    for text, _ in store.data.questions(plan.rounds // 5, words=True):
        request = recall_service_pb2.RecallRequest(scope=scope(user), query=recall_service_pb2.Query(text=text))
        began = time.perf_counter()
        events = [(response.WhichOneof("event"), time.perf_counter() - began) for response in recall(request)]
        first.append(next(seconds for event, seconds in events if event == "hit"))
        whole.append(events[-1][1])
    at_first, at_last = samples(first), samples(whole)
    yield Result(
        "first hit of Recall, local embedder",
        at_first.p50 / at_last.p50,
        "x its last",
        0.5,
        how=f"first hit {at_first}; last event {at_last}",
        numbers={"first": at_first.numbers(), "last": at_last.numbers()},
    )


def _spoken_of(plan: Plan) -> list[str]:
    """Users with memories whose vectors the sidecar has made."""
    store, count = plan.embedding, 2 if plan.quick else 5
    users = [f"spoken-of-{number}" for number in range(count)]
    if not plan.spoken_of:
        for user in users:
            for block in range(first := store.take_blocks(plan.sizes[0] // BATCH), first + plan.sizes[0] // BATCH):
                items = [memory_service_pb2.RememberItem(text=text) for text in store.data.block(block)[0]]
                store.memories.BatchRemember(
                    memory_service_pb2.BatchRememberRequest(scope=scope(user, f"s{block}"), items=items)
                )
        store.rest()
        plan.spoken_of = True
    return users
