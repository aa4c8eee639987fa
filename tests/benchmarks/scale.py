"""A million memories: of ten thousand users of whom a tenth is in memory, and of one team."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from tqdm import tqdm

from memsidecar.v1 import memory_service_pb2
from tests.benchmarks.dataset import BATCH, HITS, Dataset, recall_request, scope
from tests.benchmarks.measuring import Result, Samples, samples
from tests.benchmarks.plan import Plan
from tests.benchmarks.store import Store

EACH = 100
"""Memories of one user."""
HELD = 0.1
_RESIDENT_BYTES_OF_A_USER = 700_000
"""What the sidecar reckons for a user of 100 such memories; how many users it really holds is measured."""
_HIT_TIMES = 2.5
"""An answer that takes so many times as long as from memory comes from the ledger."""
_PATIENCE = 4 * 3600.0
_QUESTIONS = 200
# Vectors are cosines of float32: what differs less is equally near.
_EQUALLY_NEAR = 1e-4


def many_users(plan: Plan) -> Iterator[Result]:
    """Recall of users who are in memory and of users who are not, least recently used ones having left."""
    count = plan.memories // EACH
    room = max(1, int(count * HELD * _RESIDENT_BYTES_OF_A_USER) >> 20)
    store = plan.new_store("scale-users", {"resident.max_mb": str(room)}, keep=True)
    _fill(plan, store, "scale-users", count, lambda n: _batch(plan.data, f"user-{n}", n, EACH))
    ask = _Asker(store)
    # After a start nobody is in memory, and the last ones stored are not alone there.
    ask.each(range(count - int(3 * HELD * count), count), "filling the memory")
    held = _held(ask, count)
    newest = range(count - max(1, int(held * count / 2)), count)
    for user in newest:
        ask(user)
    rng = np.random.default_rng(1)
    hits = ask.each(rng.choice(np.array(newest), plan.questions).tolist(), "asking those in memory")
    # Longest unused first: none of them has been asked about since it was stored.
    misses = ask.each(range(min(plan.questions, count // 2)), "asking those that are not")
    rss, pss = store.resident_bytes()
    what = f"{plan.memories:,} memories of {count:,} users"
    yield Result(
        f"{what}: in memory at once",
        100 * held,
        "% of users",
        how=f"resident.max_mb {room}: made for {HELD:.0%}; RSS {rss >> 20} MiB, PSS {pss >> 20} MiB",
        numbers={"rss": rss, "pss": pss, "max_mb": room},
    )
    yield Result(f"{what}: recall, hit", 1000 * hits.p50, "ms", how=str(hits), numbers=hits.numbers())
    yield Result(
        f"{what}: recall, miss",
        1000 * misses.p50,
        "ms",
        how=f"{misses}; {misses.p50 / hits.p50:.1f} x a hit",
        numbers=misses.numbers(),
    )
    store.close()


def one_partition(plan: Plan) -> Iterator[Result]:
    """The namespace's shared memory on hnswlib: what it finds of the true nearest, and how fast."""
    blocks = -(-plan.memories // BATCH)
    store = plan.new_store("scale-shared", keep=True)

    def sizes(block: int) -> int:
        return min(BATCH, plan.memories - block * BATCH)

    _fill(plan, store, "scale-shared", blocks, lambda n: _batch(plan.data, "", n, sizes(n)))
    questions = np.stack([vector for _, vector in plan.data.questions(_QUESTIONS, words=False)])
    nearest, of_text = _truth(plan.data, questions, blocks, sizes)
    requests = [recall_request("", "", vector) for vector in questions]
    answers = [store.recalls.RecallOnce(request) for request in requests]
    shares = []
    for answer, scores, vector in zip(answers, nearest, questions, strict=True):
        vectors = [of_text(hit.memory.episode.text) for hit in answer.hits]
        shares.append(sum(float(v @ vector) >= scores[-1] - _EQUALLY_NEAR for v in vectors) / HITS)
    taken = []
    for number in tqdm(range(plan.questions), desc="asking", leave=False, disable=None):
        started = time.perf_counter()
        store.recalls.RecallOnce(requests[number % len(requests)])
        taken.append(time.perf_counter() - started)
    timed = samples(taken)
    rss, pss = store.resident_bytes()
    what = f"{plan.memories:,} memories in one partition"
    yield Result(
        f"{what}: recall@{HITS} against exact",
        float(np.mean(shares)),
        "",
        0.98,
        at_least=True,
        how=f"{len(shares)} questions, worst {min(shares):.1f}; RSS {rss >> 20} MiB, PSS {pss >> 20} MiB",
        numbers={"rss": rss, "pss": pss, "worst": min(shares)},
    )
    yield Result(f"{what}: recall", 1000 * timed.p50, "ms", 5.0, how=str(timed), numbers=timed.numbers())
    store.close()


class _Asker:
    """Recalls of users by their number, each with the next question."""

    def __init__(self, store: Store) -> None:
        self._recall = store.recalls.RecallOnce
        self._vectors = [vector for _, vector in store.data.questions(500, words=False)]
        self._asked = 0

    def __call__(self, user: int) -> float:
        """Seconds."""
        request = recall_request(f"user-{user}", "", self._vectors[self._asked % len(self._vectors)])
        self._asked += 1
        started = time.perf_counter()
        answer = self._recall(request)
        taken = time.perf_counter() - started
        if len(answer.hits) != HITS:
            raise RuntimeError(f"user-{user} has {len(answer.hits)} hits; was everything stored?")
        return taken

    def each(self, users: Sequence[int], what: str) -> Samples:
        return samples([self(user) for user in tqdm(users, desc=what, leave=False, disable=None)])


def _held(ask: _Asker, count: int) -> float:
    """The share of users in memory, found by asking ever longer unused ones until the answers take longer.

    Asking about a user who is there makes nobody leave, so what lies behind stays as it was.
    """
    step = max(1, count // 100)
    newest = [ask(user) for user in range(count - 1, count - 1 - step, -1)]
    usual = float(np.median([ask(user) for user in range(count - 1, count - 1 - step, -1)] + newest))
    depth = step
    while depth + step <= count:
        group = [ask(count - 1 - n) for n in range(depth, depth + min(step, 5))]
        if float(np.median(group)) > _HIT_TIMES * usual:
            break
        for n in range(depth + len(group), depth + step):
            ask(count - 1 - n)
        depth += step
    return depth / count


def _batch(data: Dataset, user: str, block: int, count: int) -> memory_service_pb2.BatchRememberRequest:
    # No session: neighbours in a conversation share relevance, and then the nearest ten are not the ten hits.
    return memory_service_pb2.BatchRememberRequest(scope=scope(user), items=data.items(block, count))


def _fill(
    plan: Plan, store: Store, name: str, blocks: int, make: Callable[[int], memory_service_pb2.BatchRememberRequest]
) -> None:
    """Store what is not there yet. A kept folder says how far an earlier run came; what came after is stored again,
    which a sidecar that knows the same text already takes for the same memory."""
    mark = plan.folder_of(keep=True) / f"{name}.stored"
    done = int(mark.read_text()) if mark.exists() else 0
    with tqdm(total=blocks, initial=done, desc=f"storing {plan.memories:,}", unit=" batches", disable=None) as bar:
        for count in store.send(make(block) for block in range(done, blocks)):
            done += 1
            bar.update()
            bar.set_postfix(items=count, refresh=False)
            if done % 50 == 0 or done == blocks:
                mark.write_text(str(done))
    store.rest(_PATIENCE)


def _truth(
    data: Dataset, questions: Any, blocks: int, sizes: Callable[[int], int]
) -> tuple[list[Any], Callable[[str], Any]]:
    """The best scores of each question, best first, and what gives the vector of a text.

    A text ends with its block and its place in it, so nothing needs to be kept.
    """
    best = np.full((len(questions), HITS), -1.0, dtype=np.float32)
    for block in tqdm(range(blocks), desc="comparing exactly", leave=False, disable=None):
        _, vectors = data.block(block, sizes(block))
        both = np.concatenate((best, questions @ vectors.T), axis=1)
        best = -np.partition(-both, HITS - 1, axis=1)[:, :HITS]

    @lru_cache(maxsize=256)  # 100 MB: hits of one topic come from everywhere
    def of_block(block: int) -> Any:
        return data.block(block, sizes(block))[1]

    def of_text(text: str) -> Any:
        block, _, place = text.rstrip(".").rpartition(" ")[2].partition("-")
        return of_block(int(block))[int(place)]

    return list(-np.sort(-best, axis=1)), of_text
