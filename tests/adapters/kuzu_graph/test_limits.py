"""What the graph does by itself when something has added up, and where the machine gives it little."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from memsidecar.adapters.kuzu_graph import KuzuGraph, core, driver, store
from memsidecar.adapters.kuzu_graph.core import Core
from memsidecar.adapters.kuzu_graph.driver import Engine, Link
from memsidecar.domain.fold import Relation
from memsidecar.domain.memory import Kind
from tests.adapters.kuzu_graph.histories import as_if_killed, assert_told, tell
from tests.contracts.graph_samples import ALICE, memory, puts
from tests.contracts.test_graph_store import ENGINE, open_graph, set_aside

AROUND = [f"f{number:02}" for number in range(20)]


async def test_idle_graph_checkpoints_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    idled = threading.Event()
    original = Core.idle

    def idle(self: Core) -> None:
        original(self)
        if self.applied:
            idled.set()

    monkeypatch.setattr(Core, "idle", idle)
    monkeypatch.setattr(store, "_IDLE_SECONDS", 0.05)
    graph = await open_graph(tmp_path)
    await tell(graph, range(1, 4))
    assert await asyncio.to_thread(idled.wait, 60)
    log = tmp_path / f"graph.{ENGINE}.wal"
    assert not log.exists() or not log.stat().st_size
    await assert_told(graph, 3)
    await graph.close()


@pytest.mark.parametrize(("limit", "value"), [("_REPLAY_LEAST", 8), ("_UPDATES", 8), ("_WAL_MOST", 20_000)])
async def test_what_an_unclean_end_leaves_to_replay_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(core, limit, value)
    graph = await open_graph(tmp_path / "a")
    await tell(graph, range(1, 21))
    killed = await open_graph(as_if_killed(tmp_path / "a", tmp_path / "b"))
    assert await killed.applied() > 10
    await killed.close()
    await graph.close()


async def test_file_that_outgrew_its_content_asks_for_a_rebuild(tmp_path: Path) -> None:
    graph = await open_graph(tmp_path)
    await graph.apply(puts(memory(f"m{number}") for number in range(3)))
    await graph.checkpoint()
    file = tmp_path / f"graph.{ENGINE}"
    os.truncate(file, 512 << 20)
    assert not graph.needs_rebuild
    os.truncate(file, (512 << 20) + 4096)
    assert graph.needs_rebuild
    await graph.reset("mostly dead space", keep=False)
    assert not graph.needs_rebuild
    assert set_aside(tmp_path) == []
    await graph.close()


async def test_large_file_that_is_full_asks_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = await open_graph(tmp_path)
    await graph.apply(puts(memory(f"m{number}") for number in range(3)))
    await graph.checkpoint()
    os.truncate(tmp_path / f"graph.{ENGINE}", 513 << 20)
    monkeypatch.setattr(core, "_FRESH_BYTES", 50 << 20)
    assert not graph.needs_rebuild
    await graph.close()


@pytest.mark.parametrize(("address_space", "outcome"), [(3 << 40, "3 memories"), (4 << 30, "refused")])
async def test_little_address_space_is_lived_with_or_refused(tmp_path: Path, address_space: int, outcome: str) -> None:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _IN_LITTLE_SPACE, str(address_space), str(tmp_path)),
        env=dict(os.environ),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    told, errors = await child.communicate()
    assert told.decode().split("\n")[0] == outcome, errors.decode()
    # Made with all of the address space or with less, the file is the same.
    graph = await open_graph(tmp_path)
    assert await graph.count(ALICE) == (3 if outcome == "3 memories" else 0)
    await graph.close()


_IN_LITTLE_SPACE = """
import asyncio, pathlib, resource, sys
from memsidecar.domain.errors import StoreUnavailable
from tests.contracts.graph_samples import ALICE, memory, puts
from tests.contracts.test_graph_store import open_graph

resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))

async def main():
    for _ in range(2):
        try:
            graph = await open_graph(pathlib.Path(sys.argv[2]))
        except StoreUnavailable:
            print("refused")
            return
        await graph.apply(puts(memory(f"m{number}") for number in range(3)))
        count = await graph.count(ALICE)
        await graph.close()
    print(count, "memories")

asyncio.run(main())
"""


@pytest.fixture
async def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[KuzuGraph, list[Link]]]:
    """A hub with 20 around it, read by one thread; and the links that were made to read it."""
    made: list[Link] = []
    original = Link.__init__

    def noted(self: Link, engine: Engine, database: Any, read_only: bool) -> None:
        original(self, engine, database, read_only)
        if read_only:
            made.append(self)

    monkeypatch.setattr(Link, "__init__", noted)
    monkeypatch.setattr(store, "_READERS", 1)
    graph = await open_graph(tmp_path)
    await graph.apply(puts([memory("hub", Kind.ENTITY), *(memory(name, mentions=["hub"]) for name in AROUND)]))
    yield graph, made
    await graph.close()


async def test_a_question_from_many_memories_is_planned_once(links: tuple[KuzuGraph, list[Link]]) -> None:
    graph, made = links
    planned = set[int]()
    for _ in range(4):
        assert len(await graph.neighbours(ALICE, ["hub"], 3, 100)) == len(AROUND)
        assert len(await graph.edges(ALICE, AROUND)) == len(AROUND)
        await graph.ties(ALICE, AROUND)
        planned.add(made[0].plans)
    assert (len(made), len(planned)) == (1, 1)


async def test_a_connection_is_given_back_when_it_has_planned_much(
    links: tuple[KuzuGraph, list[Link]], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, made = links
    monkeypatch.setattr(driver, "_READ_PLANS", 10)
    for one, other in combinations(Relation, 2):
        found = await graph.neighbours(ALICE, AROUND, 1, 100, [one, other])
        assert [each.memory_id for each in found] == (["hub"] if Relation.MENTIONS in (one, other) else [])
    assert len(made) > 5
    # One question goes on with the connection that it has begun with.
    assert max(link.plans for link in made) < 10 + 20
