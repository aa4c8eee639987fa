"""How soon a memory is there: after the text that brings it up, and of a Recall that streams."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.generation.process import Client
from tests.benchmarks.measuring import Result, samples
from tests.benchmarks.plan import Plan


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
        how=f"hit {hit}, {told['hits'] / len(hit.seconds):.1f} a sentence; "
        f"ping-pong of {told['bytes']:,} bytes {pong}",
        numbers={"hit": hit.numbers(), "pong": pong.numbers(), "bytes": told["bytes"]},
    )
