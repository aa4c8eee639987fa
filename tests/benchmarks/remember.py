"""Remember: against one commit, and by many at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, count
from typing import Any

import numpy as np

from memsidecar.domain.claims_read import claims_read
from memsidecar.v1 import memory_service_pb2 as pb
from tests.benchmarks.dataset import scope
from tests.benchmarks.machine import CommitProbe
from tests.benchmarks.measuring import Result, Samples, side_by_side
from tests.benchmarks.plan import Plan
from tests.benchmarks.store import Store
from tests.benchmarks.writers import Load, run_together

WRITERS = 32


def against_commit(plan: Plan) -> Iterator[Result]:
    """A memory with its vector, answered when it is durable and searchable, beside a bare commit of as many bytes."""
    store = plan.store
    user = store.user(plan.middle)
    remember = _remember(store, user, plan.rounds * 2)
    item = store.data.items(0, 1)[0]
    size = item.ByteSize()
    probe = CommitProbe(plan.folder, size)
    echo = store.echo(pb.RememberRequest(scope=scope(user), item=item), remember())
    calls = {"remember": remember, "commit": probe.commit, "echo": echo}
    timings = side_by_side(calls, plan.rounds)
    probe.close()
    yield Result(
        "remember, durable and searchable",
        timings["remember"].p50 / timings["commit"].p50,
        "x commit",
        3.0,
        how=f"remember {timings['remember']}; commit of {size:,} bytes {timings['commit']}; echo {timings['echo']}",
        numbers={name: taken.numbers() for name, taken in timings.items()} | {"bytes": size},
    )


def by_many(plan: Plan) -> Iterator[Result]:
    """Rates of 32 writers against that of one, before and after it; all writers in client processes of their own."""
    store = plan.store
    yield _empty_calls(plan)
    for processes, own_users in ((1, False), (2, False), (2, True)):
        before, _ = run_together([_load(plan, 1, 1)])
        loads = [_load(plan, WRITERS // processes, WRITERS // processes if own_users else 1) for _ in range(processes)]
        busy = sum(store.process.cpu_times()[:2])
        many, reports = run_together(loads)
        busy = sum(store.process.cpu_times()[:2]) - busy
        after, _ = run_together([_load(plan, 1, 1)])
        one = (before + after) / 2
        seconds = max(r["seconds"] for r in reports)
        client = sum(r["cpu"] for r in reports) / seconds
        yield Result(
            f"{WRITERS} writers, {'a user each' if own_users else 'one user'}, {processes} client process"
            + ("es" if processes > 1 else ""),
            many / one,
            "x one writer",
            8.0,
            at_least=True,
            how=f"{many:,.0f}/s against {one:,.0f}/s; of a core: server {busy / seconds:.2f}, clients {client:.2f}",
            numbers={"many_per_second": many, "one_per_second": one, "clients": [dict(r) for r in reports]},
        )


def _empty_calls(plan: Plan) -> Result:
    """What the server's event loop leaves: the same requests to a call that does nothing."""
    store = plan.store
    remember = _remember(store, store.user(plan.middle), 1)
    store.echo(pb.RememberRequest(), remember())
    one, _ = run_together([_load(plan, 1, 1, echo=True)])
    many, _ = run_together([_load(plan, WRITERS, 1, echo=True)])
    how = f"{many:,.0f}/s against {one:,.0f}/s; nothing is read or stored"
    return Result(f"{WRITERS} empty calls at once, 1 client process", many / one, "x one at a time", how=how)


def _load(plan: Plan, writers: int, users: int, echo: bool = False) -> Load:
    store = plan.store
    block = store.take_blocks(400)
    names = tuple(f"writer-{block}-{n}" for n in range(users))
    return Load(store.sidecar.target, block, writers, plan.seconds / 4, names, echo=echo)


def _remember(store: Store, user: str, number: int) -> Callable[[], Any]:
    blocks = range(first := store.take_blocks(number // 256 + 2), first + number // 256 + 2)
    items = chain.from_iterable(store.data.items(block) for block in blocks)
    requests = iter([pb.RememberRequest(scope=scope(user), item=item) for item in items])
    call = store.memories.Remember
    return lambda: call(next(requests))


# What people write to an assistant, about two in five with something to remember; {n} makes each another one.
_TURNS = (
    "I moved to {place} last month and work at Siemens now.",
    "Could you help me with the report for meeting {n}? It is due soon.",
    "My sister Anna lives in {place}.",
    "Thanks, that worked. What would you do about item {n}?",
    "I love {place} in spring, but I hate the traffic there.",
    "How do I sort {n} numbers in Python without a library?",
    "The second draft, number {n}, reads much better than the first one did.",
    "My 5k time is now 24:{n}, and I have {n} commits in the repository.",
    "Please summarise chapter {n} in three sentences and keep the names.",
    "That is a good point, and I had not thought of case {n} at all.",
)
# A user changes his mind about one thing some times, not some hundred.
_TURNS_OF_ONE = 200
_PLACES = tuple("Oslo Berlin Lisbon Quito Tokyo Cairo Lima Paris Rome Delhi".split())


def with_extraction(plan: Plan) -> Iterator[Result]:
    """Turns of a conversation and what they say, beside such turns alone; embedded by the default model. And what the
    rules alone cost."""
    yield _reading(plan)
    store = plan.new_store("extraction", {"embedding.provider": "use", "embedding.dimensions": "0"})
    calls = {
        "reading": _turns(store, "reader", skip=False, first=0),
        "plain": _turns(store, "writer", skip=True, first=1_000_000),
    }
    timings = side_by_side(calls, plan.rounds)
    yield Result(
        "remember with extraction by rules",
        timings["reading"].p50 / timings["plain"].p50,
        "x plain",
        1.5,
        how=f"reading {timings['reading']}; plain {timings['plain']}; of the means {_of_means(timings):.2f}",
        numbers={name: taken.numbers() for name, taken in timings.items()},
    )


# Of longer turns, which hold several of the short ones and a paragraph that somebody pastes.
_PASTED = (
    "The handler reads the file in chunks, and each of them is checked before it is written to the table; when one is"
    " broken, the whole upload is refused. In the logs there are 3 retries, then it gives up after about 40 seconds."
)


def _reading(plan: Plan) -> Result:
    """Processor time of the rules for a turn, on one thread, without a server."""
    turns = [_turn(number) for number in range(len(_TURNS) * len(_PLACES))]
    turns += [" ".join((*turns[i : i + 4], _PASTED)) for i in range(0, len(turns), 4)]
    seconds = np.full(len(turns), np.inf)
    for _ in range(3 if plan.quick else 10):
        for i, turn in enumerate(turns):
            began = time.thread_time()
            claims_read(turn)
            seconds[i] = min(seconds[i], time.thread_time() - began)
    taken = Samples(seconds)
    return Result(
        "reading a turn by rules",
        1000 * float(seconds.mean()),
        "ms of a core",
        1.0,
        how=f"the least of some runs; {taken}; {sum(map(len, turns)) // len(turns)} characters a turn",
        numbers={"rules": taken.numbers()},
    )


def _turn(number: int) -> str:
    return _TURNS[number % len(_TURNS)].format(n=number % 60, place=_PLACES[number // len(_TURNS) % len(_PLACES)])


def _of_means(timings: Mapping[str, Samples]) -> float:
    return float(timings["reading"].seconds.mean() / timings["plain"].seconds.mean())


def _turns(store: Store, user: str, *, skip: bool, first: int) -> Callable[[], Any]:
    numbers = count(first)
    call = store.memories.Remember
    options = pb.RememberOptions(skip_extraction=skip)

    def remember() -> Any:
        number = next(numbers)
        item = pb.RememberItem(text=f"{_turn(number)} ({number})", speaker="user")
        whose = scope(f"{user}-{number // _TURNS_OF_ONE}")
        return call(pb.RememberRequest(scope=whose, item=item, options=options))

    return remember
