"""Killed at any instruction, or failed inside a transaction: the graph is as of some acknowledged or later batch."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from memsidecar.domain.errors import StoreUnavailable
from memsidecar.domain.memory import Kind, Memory, State
from memsidecar.ports.graph import GraphChange, GraphNode
from tests.contracts.graph_samples import ALICE, memory, put, puts
from tests.contracts.test_graph_store import ENGINE, open_graph

_ROUNDS = int(os.environ.get("MEMSIDECAR_TEST_KILLS", "5"))


def batch(position: int) -> list[Memory]:
    """One new memory that mentions the entity, which itself is updated each time."""
    return [memory(f"m{position:06}", mentions=["e"]), memory("e", Kind.ENTITY, version=position)]


async def write_for_ever(directory: Path) -> None:
    """Batch after batch with a checkpoint after each third; prints every acknowledged position."""
    graph = await open_graph(directory)
    assert graph.rebuilt == ""
    position = await graph.applied()
    while True:
        position += 1
        await graph.apply([put(position, item) for item in batch(position)])
        print(position, flush=True)
        if position % 3 == 0:
            await graph.checkpoint()


async def test_killed_writer_leaves_every_acknowledged_batch(tmp_path: Path) -> None:
    chance = random.Random(5)
    script = (
        "import asyncio, pathlib, sys; from tests.adapters.kuzu_graph.test_crash import write_for_ever; "
        "asyncio.run(write_for_ever(pathlib.Path(sys.argv[1])))"
    )
    acknowledged = 0
    for _ in range(_ROUNDS):
        writer = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, str(tmp_path), stdout=asyncio.subprocess.PIPE, env=dict(os.environ)
        )
        assert writer.stdout is not None
        for _ in range(chance.randint(2, 8)):
            acknowledged = int(await writer.stdout.readline())
        # Long enough for a few more rounds, most of whose time goes into checkpoints.
        await asyncio.sleep(chance.random() * 0.3)
        writer.send_signal(signal.SIGKILL)
        rest = (await writer.stdout.read()).split()
        await writer.wait()
        acknowledged = int(rest[-1]) if rest else acknowledged
        graph = await open_graph(tmp_path)
        applied = await graph.applied()
        assert graph.rebuilt == ""
        assert applied >= acknowledged
        names = [f"m{number:06}" for number in range(1, applied + 1)]
        assert [node.memory_id for node in await graph.nodes(ALICE, "", 10_000)] == ["e", *names]
        assert await graph.node(ALICE, "e") == GraphNode("e", Kind.ENTITY, State.ACTIVE, applied)
        assert [found.memory_id for found in await graph.neighbours(ALICE, ["e"], 1, 10_000)] == names
        await graph.close()


@pytest.mark.parametrize("fails_at", [1, 5, 60])
async def test_failed_batch_leaves_the_graph_as_before_and_usable(tmp_path: Path, fails_at: int) -> None:
    graph = await open_graph(tmp_path)
    await graph.apply(
        puts([memory("e", Kind.ENTITY), *(memory(f"m{number:02}", mentions=["e"]) for number in range(60))])
    )
    before = await graph.nodes(ALICE, "", 1000)
    for attempt in range(3):
        # The engine cannot store a lone surrogate; the updates beside it must not come through either.
        bad: list[GraphChange] = puts((memory(f"m{number:02}", version=9) for number in range(fails_at)), 1000)
        with pytest.raises(StoreUnavailable):
            await graph.apply([*bad, put(2000, memory("\ud83d"))])
        assert await graph.nodes(ALICE, "", 1000) == before
        assert len(await graph.neighbours(ALICE, ["e"], 1, 1000)) == 60
        await graph.apply([put(100 + attempt, memory("e", Kind.ENTITY, version=attempt + 2))])
        before = await graph.nodes(ALICE, "", 1000)
        assert before[0].version == attempt + 2
    await graph.close()


async def test_interrupted_checkpoint_is_undone_at_open(tmp_path: Path) -> None:
    graph = await open_graph(tmp_path)
    await graph.apply(puts([memory("m")]))
    await graph.close()
    folded = tmp_path / f"graph.{ENGINE}"
    record = tmp_path / "graph.json"
    stable = record.read_text()
    wal = folded.with_name(folded.name + ".wal")
    for path in (folded, wal):
        path.with_name(path.name + ".bak").write_bytes(path.read_bytes())
    if ENGINE == "kuzu":
        folded.write_bytes(b"half written")
        folded.with_name(folded.name + ".shadow").write_bytes(b"")
    record.write_text(stable.replace('"stable"', '"checkpoint"'))
    graph = await open_graph(tmp_path)
    assert graph.rebuilt == ""
    assert record.read_text() == stable
    assert [node.memory_id for node in await graph.nodes(ALICE, "", 10)] == ["m"]
    await graph.checkpoint()
    await graph.close()
    assert not folded.with_name(folded.name + ".bak").exists()
