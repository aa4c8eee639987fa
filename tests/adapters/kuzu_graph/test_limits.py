"""What the graph does by itself when something has added up, and where the machine gives it little."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest

from memsidecar.adapters.kuzu_graph import core, store
from memsidecar.adapters.kuzu_graph.core import Core
from tests.adapters.kuzu_graph.histories import as_if_killed, assert_told, tell
from tests.contracts.graph_samples import ALICE, memory, puts
from tests.contracts.test_graph_store import ENGINE, open_graph, set_aside


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
