"""What many generations leave behind, hold while nobody reads, and do when the process is told to go."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from memsidecar.v1 import memory_service_pb2 as pb
from tests.benchmarks.dataset import scope
from tests.benchmarks.generation.ending import WAYS
from tests.benchmarks.generation.process import Client
from tests.benchmarks.measuring import Result, Samples, samples
from tests.benchmarks.plan import Plan
from tests.benchmarks.serve import CENSUS
from tests.benchmarks.store import Store

_KILLED_AT_ONCE = 200
# Memories, so few that each has been read before anything is counted: what was read once is kept at hand.
_FEW = 256
_MIB = 1 << 20
# What is a stream's, and has to go with it.
_COUNTED = ("tasks", "threads", "os_threads", "fds")
_SETTLES = 15.0
# Counts of recalls are held until they are written, every five seconds.
_FLUSHED = 6.0


def census(store: Store) -> Mapping[str, Any]:
    call: Any = store.channel.unary_unary(CENSUS)
    counted: Mapping[str, Any] = json.loads(call(b""))
    return counted


def ended(plan: Plan) -> Iterator[Result]:
    """Streams that end in every way, before and after; those before them have filled whatever fills once."""
    store, streams = plan.followed, 600 if plan.quick else 10_000
    user = store.user(_FEW)
    _end_all(store, user, max(240, streams // 5))
    before = _settled(store, {})
    began = time.perf_counter()
    codes = _end_all(store, user, streams)
    elapsed = time.perf_counter() - began
    after = _settled(store, before)
    left = {name: after[name] - before[name] for name in _COUNTED}
    how = f"in {elapsed:.0f} s: " + "; ".join(f"{way}: {_counts(ends)}" for way, ends in codes.items())
    yield Result(
        f"left by {streams:,} streams",
        sum(max(0, count) for count in left.values()),
        "tasks, fds ..",
        0.0,
        how=f"{left}{_strangers(before, after)}; {how}",
        numbers={"before": before, "after": after, "codes": codes},
    )
    yield Result(
        "objects of Python left by each",
        (after["objects"] - before["objects"]) / streams,
        "objects",
        0.1,
        how=f"{before['objects']:,} before",
    )
    yield Result(
        "resident memory left by each",
        (after["rss"] - before["rss"]) / streams,
        "bytes",
        how=f"{before['rss'] / _MIB:.1f} MiB before, {after['rss'] / _MIB:.1f} MiB after",
    )


def unread(plan: Plan) -> Iterator[Result]:
    """Streams that are written to and never read, and another one meanwhile. Memories are long: they fill windows."""
    store, streams = plan.followed, 100 if plan.quick else 1_000
    user, other = _with_long_memories(store), store.user(plan.sizes[0])
    rounds = plan.rounds // 5
    alone = _neighbour(store, other, rounds)
    before = census(store)["rss"]
    each, size, rate = (3, 4_000, 200.0) if plan.quick else (14, 4_000, 1_000.0)
    client = Client(
        "tests.benchmarks.generation.unread",
        target=store.sidecar.target,
        user=user,
        streams=streams,
        sentences_each=each,
        size=size,
        rate=rate,
    )
    client.told()
    opened = _settled(store, {})["rss"]
    client.go()
    flooded = _neighbour(store, other, max(10, rounds // 10))
    written = client.told()["written"]
    full = census(store)["rss"]
    client.go()
    steady = _neighbour(store, other, rounds)
    later = census(store)["rss"]
    client.go()
    client.last()
    yield Result(
        f"{streams:,} streams that are never read, each",
        (max(full, later) - before) / streams / 1024,
        "KiB",
        how=f"{before / _MIB:.0f} MiB before, {opened / _MIB:.0f} open, {full / _MIB:.0f} when each has sent "
        f"{written / streams / 1024:.0f} KiB, {later / _MIB:.0f} after a while more of text",
        numbers={"before": before, "open": opened, "full": full, "later": later, "written": written},
    )
    yield Result(
        f"another stream beside them, {rate:,.0f} deltas/s in all",
        steady.p50 / alone.p50,
        "x alone",
        how=f"sentence to hit alone {alone}; beside them {steady}; while they write all they can {flooded}",
        numbers={"alone": alone.numbers(), "beside": steady.numbers(), "flood": flooded.numbers()},
    )


def drained(plan: Plan) -> Iterator[Result]:
    """SIGTERM while streams are open: most finish within two seconds, a few never do."""
    grace = 3 if plan.quick else 8
    store = plan.new_store("drained", {"drain-grace": str(grace)}, module="tests.benchmarks.serve_from_table")
    streams, obstinate = (40, 4) if plan.quick else (200, 20)
    user = store.user(plan.sizes[0])
    client = Client(
        "tests.benchmarks.generation.leaving",
        target=store.sidecar.target,
        user=user,
        streams=streams,
        obstinate=obstinate,
    )
    client.told()
    began = time.time()
    store.sidecar.terminate()
    code = store.sidecar.wait()
    elapsed = time.time() - began
    told = client.last()
    heard = samples([at - began for at in told["told"]])
    yield Result(
        f"of {streams} open streams, told that the process goes",
        len(told["told"]) / streams,
        "of them",
        1.0,
        at_least=True,
        how=f"after {heard}; ended: {_counts(told['ended'])}, of which {obstinate} had no mind to",
        numbers={"told": heard.numbers(), "ended": told["ended"]},
    )
    yield Result("SIGTERM to exit", elapsed, "s", 10.0, how=f"exit code {code}; drain_grace is {grace} s")


def _end_all(store: Store, user: str, streams: int) -> dict[str, Mapping[str, int]]:
    """An equal part of them in each way; the status codes as the client saw them."""
    codes: dict[str, Mapping[str, int]] = {}
    each = streams // len(WAYS)
    for way in WAYS:
        if way == "kill":
            for first in range(0, each, _KILLED_AT_ONCE):
                client = _ending(store, user, way, min(_KILLED_AT_ONCE, each - first))
                client.told()
                client.kill()
            codes[way] = {"killed": each}
        else:
            codes[way] = _ending(store, user, way, each).last()["ended"]
    return codes


def _ending(store: Store, user: str, way: str, streams: int) -> Client:
    return Client(
        "tests.benchmarks.generation.ending", target=store.sidecar.target, user=user, way=way, streams=streams
    )


def _settled(store: Store, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """The census when nothing changes any more: a killed client is noticed a moment later."""
    time.sleep(_FLUSHED)
    until = time.monotonic() + _SETTLES
    now = census(store)
    while time.monotonic() < until:
        time.sleep(1.0)
        last, now = now, census(store)
        same = all(now[name] == last[name] for name in _COUNTED)
        if same and all(now[name] <= wanted[name] for name in _COUNTED if name in wanted):
            break
    return now


def _strangers(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The tasks that are there and were not."""
    more = Counter(after["names"]) - Counter(before["names"])
    return f" ({_counts(more)})" if more else ""


def _neighbour(store: Store, user: str, rounds: int) -> Samples:
    client = Client("tests.benchmarks.generation.talking", target=store.sidecar.target, user=user, rounds=rounds)
    return samples(client.last()["hit"])


def _with_long_memories(store: Store) -> str:
    user, (texts, vectors) = "long-memories", store.data.block(store.take_blocks(1))
    items = store.data.items(store.take_blocks(1))
    for number, item in enumerate(items):
        item.text = f"{item.text} {(texts[number] + ' ') * 80}"[:8_000]
    assert len(vectors) == len(items)
    store.memories.BatchRemember(pb.BatchRememberRequest(scope=scope(user), items=items))
    store.rest()
    return user


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items())
