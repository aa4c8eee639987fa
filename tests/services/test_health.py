from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memsidecar.domain.errors import StoreUnavailable
from memsidecar.services import health as module
from memsidecar.services.health import Health


class Store:
    """Its check does what `answer` says: fine, fails, hangs."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.checking = 0

    async def check(self) -> None:
        self.checking += 1
        try:
            if self.answer == "hangs":
                await asyncio.Event().wait()
            if self.answer == "fails":
                raise StoreUnavailable("ledger", reason="connection refused")
        finally:
            self.checking -= 1


@pytest.mark.parametrize(
    ("ledger", "graph", "named"),
    [
        ("fine", "fine", ()),
        ("fails", "fine", ("ledger",)),
        ("fine", "hangs", ("graph",)),
        ("hangs", "hangs", ("ledger", "graph")),
    ],
)
async def test_a_store_that_does_not_answer_is_named(
    ledger: str, graph: str, named: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.05)
    stores: Any = (Store(ledger), Store(graph), Store("fails"))
    assert await Health(*stores).ready() == named
    assert [store.checking for store in stores] == [0, 0, 0]


async def test_stores_are_asked_at_the_same_time() -> None:
    ledger, graph = Store("hangs"), Store("hangs")
    asking = asyncio.create_task(Health(ledger, graph, Store("fine")).ready())  # type: ignore[arg-type]
    for _ in range(5):
        await asyncio.sleep(0)
    assert (ledger.checking, graph.checking) == (1, 1)
    asking.cancel()
    await asyncio.wait([asking])


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("fine", ""),
        ("fails", "redis.url 10.0.0.1: connection refused"),
        ("hangs", "redis.url 10.0.0.1: no answer in 0.05 s"),
    ],
)
async def test_sessions_are_asked_apart_and_the_log_learns_why(
    answer: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.05)
    stores: Any = (Store("fine"), Store("fine"), Store(answer), "redis.url 10.0.0.1")
    assert await Health(*stores).sessions_problem() == problem
