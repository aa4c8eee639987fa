"""Killed at any instruction, or failed inside a transaction: the graph is as of a batch, and can be told the rest."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from memsidecar.domain.errors import StoreUnavailable
from memsidecar.domain.memory import Kind
from memsidecar.ports.graph import GraphChange
from tests.adapters.kuzu_graph.histories import as_if_killed, assert_told, batch, files, tell, unreplayed
from tests.contracts.graph_samples import ALICE, memory, put, puts
from tests.contracts.test_graph_store import ENGINE, open_graph

_ROUNDS = int(os.environ.get("MEMSIDECAR_TEST_KILLS", "2"))
_DAMAGES = 2 * _ROUNDS


async def write_for_ever(directory: Path) -> None:
    """Batch after batch with a checkpoint after each third; prints every position that must survive a kill."""
    graph = await open_graph(directory)
    assert graph.rebuilt == ""
    position = await graph.applied()
    while True:
        position += 1
        await graph.apply(batch(position))
        if ENGINE == "ladybug":
            print(position, flush=True)
        if position % 3 == 0:
            await graph.checkpoint()
            print(position, flush=True)


async def test_killed_writer_goes_on_from_what_is_safe(tmp_path: Path) -> None:
    chance = random.Random(5)
    script = (
        "import asyncio, pathlib, sys; from tests.adapters.kuzu_graph.test_crash import write_for_ever; "
        "asyncio.run(write_for_ever(pathlib.Path(sys.argv[1])))"
    )
    for _ in range(_ROUNDS):
        writer = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, str(tmp_path), stdout=asyncio.subprocess.PIPE, env=dict(os.environ)
        )
        assert writer.stdout is not None
        safe = int(await writer.stdout.readline())
        # Long enough for a few more batches; most of the time goes into checkpoints.
        await asyncio.sleep(chance.random() * 0.3)
        writer.send_signal(signal.SIGKILL)
        rest = (await writer.stdout.read()).split()
        await writer.wait()
        safe = int(rest[-1]) if rest else safe
        graph = await open_graph(tmp_path)
        applied = await graph.applied()
        assert graph.rebuilt == ""
        assert applied >= safe
        await assert_told(graph, applied)
        await tell(graph, range(max(1, applied - 3), applied + 4))
        await assert_told(graph, applied + 3)
        await graph.close()


async def test_batches_after_the_last_checkpoint_can_be_told_again(tmp_path: Path) -> None:
    graph = await open_graph(tmp_path / "0")
    await tell(graph, range(1, 6))
    await graph.checkpoint()
    safe = 5
    for killed in range(1, 5):
        await tell(graph, range(safe + 1, safe + 7))
        directory = as_if_killed(tmp_path / str(killed - 1), tmp_path / str(killed))
        await graph.close()
        graph = await open_graph(directory)
        assert graph.rebuilt == ""
        await assert_told(graph, safe if ENGINE == "kuzu" else safe + 6)
        await tell(graph, range(1, safe + 7))
        await assert_told(graph, safe + 6)
        await graph.checkpoint()
        safe += 6
    await graph.close()
    # Kill after kill must not fill the disk.
    assert len(unreplayed(tmp_path / "4")) == (3 if ENGINE == "kuzu" else 0)


async def test_damaged_log_costs_no_more_than_what_it_held(tmp_path: Path) -> None:
    graph = await open_graph(tmp_path / "0")
    await tell(graph, range(1, 10))
    await graph.checkpoint()
    await tell(graph, range(10, 20))
    size = (tmp_path / "0" / f"graph.{ENGINE}.wal").stat().st_size
    for number, offset in enumerate(range(3, size, size // _DAMAGES)):
        directory = as_if_killed(tmp_path / "0", tmp_path / f"{offset}")
        log = directory / f"graph.{ENGINE}.wal"
        content = bytearray(log.read_bytes())
        content[offset] ^= 1 << offset % 8
        log.write_bytes(content[:offset] if number % 3 == 2 else content)
        damaged = await open_graph(directory)
        assert damaged.rebuilt == ""
        applied = await damaged.applied()
        assert applied == 9 if ENGINE == "kuzu" else 9 <= applied < 20
        await assert_told(damaged, applied)
        await tell(damaged, range(1, 22))
        await assert_told(damaged, 21)
        await damaged.close()
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
    await tell(graph, range(1, 4))
    await graph.close()
    folded, record = tmp_path / f"graph.{ENGINE}", tmp_path / "graph.json"
    stable = record.read_text()
    if ENGINE == "kuzu":
        folded.with_name(folded.name + ".bak").write_bytes(folded.read_bytes())
        folded.write_bytes(b"half written")
        for suffix in (".shadow", ".wal"):
            folded.with_name(folded.name + suffix).write_bytes(b"of the new file")
    record.write_text(stable.replace('"stable"', '"checkpoint"'))
    graph = await open_graph(tmp_path)
    assert graph.rebuilt == ""
    assert record.read_text() == stable
    await assert_told(graph, 3)
    await tell(graph, [4])
    await graph.close()
    assert files(tmp_path) == {folded.name, "graph.json", "graph.lock"}
