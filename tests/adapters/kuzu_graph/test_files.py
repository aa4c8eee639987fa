"""Whatever is wrong with the files: they are set aside or left alone, never deleted."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memsidecar.adapters.kuzu_graph import KuzuGraph
from memsidecar.domain.errors import StoreUnavailable
from tests.adapters.kuzu_graph.histories import files
from tests.contracts.graph_samples import ALICE, memory, puts
from tests.contracts.test_graph_store import ENGINE, open_graph, set_aside


async def filled(directory: Path) -> Path:
    """A closed graph with three memories, checkpointed; the path of its main file."""
    graph = await open_graph(directory)
    await graph.apply(puts(memory(f"m{number}") for number in range(3)))
    await graph.checkpoint()
    await graph.close()
    return directory / f"graph.{ENGINE}"


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip_a_bit(path: Path) -> None:
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 3] ^= 4
    path.write_bytes(damaged)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def remove(path: Path) -> None:
    path.unlink()


def describe_as(**changes: object) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        record = path.with_name("graph.json")
        record.write_text(json.dumps({**json.loads(record.read_text()), **changes}))

    return edit


def lose_description(path: Path) -> None:
    path.with_name("graph.json").unlink()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (truncate, "not what was written"),
        (flip_a_bit, "not what was written"),
        (empty, "not what was written"),
        (remove, "missing"),
        (describe_as(engine="another"), "written by another"),
        (describe_as(engine_version="0.0.1"), "0.0.1"),
        (describe_as(schema_version=0), "schema 0"),
        (describe_as(phase="creating"), "interrupted"),
        (describe_as(surprise=1), "unreadable"),
        (lose_description, "unreadable"),
    ],
)
async def test_files_that_cannot_be_trusted_are_set_aside(
    tmp_path: Path, damage: Callable[[Path], None], reason: str
) -> None:
    damage(await filled(tmp_path))
    before = content(tmp_path)
    graph = await open_graph(tmp_path)
    assert reason in graph.rebuilt
    assert await graph.applied() == 0
    await graph.apply(puts([memory("n")]))
    await graph.close()
    (aside,) = set_aside(tmp_path)
    assert content(aside) == {name: data for name, data in before.items() if name != "graph.lock"}


async def test_two_set_aside_in_one_second_get_their_own_names(tmp_path: Path) -> None:
    for _ in range(3):
        flip_a_bit(await filled(tmp_path))
    graph = await open_graph(tmp_path)
    assert graph.rebuilt
    await graph.close()
    assert len(set_aside(tmp_path)) == 3


async def test_file_that_another_process_has_open_is_left_alone(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    before = content(tmp_path)
    script = (
        f"import {ENGINE} as engine, sys; database = engine.Database(sys.argv[1], buffer_pool_size=1 << 26); "
        "connection = engine.Connection(database); print('open', flush=True); sys.stdin.read()"
    )
    other = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, str(path)), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert other.stdout is not None
    assert await other.stdout.readline() == b"open\n"
    with pytest.raises(StoreUnavailable, match="locked by another process"):
        await KuzuGraph.open(tmp_path, ENGINE, lock_wait_seconds=0.1)
    assert content(tmp_path) == before
    other.kill()
    await other.wait()
    graph = await open_graph(tmp_path)
    assert graph.rebuilt == ""
    assert await graph.count(ALICE) == 3
    await graph.close()


async def test_second_opening_in_the_process_is_refused(tmp_path: Path) -> None:
    first = await open_graph(tmp_path)
    with pytest.raises(StoreUnavailable, match="open already in this process"):
        await open_graph(tmp_path / ".." / tmp_path.name)
    await first.apply(puts([memory("m")]))
    await first.close()
    second = await open_graph(tmp_path)
    assert await second.count(ALICE) == 1
    await second.close()


async def test_engine_keeps_its_lock_through_checkpoints(tmp_path: Path) -> None:
    graph = await open_graph(tmp_path)
    await graph.apply(puts([memory("m")]))
    await graph.checkpoint()
    script = f"import {ENGINE} as engine, sys; engine.Database(sys.argv[1], buffer_pool_size=1 << 26)"
    other = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, str(tmp_path / f"graph.{ENGINE}")), stderr=asyncio.subprocess.PIPE
    )
    _, told = await other.communicate()
    assert other.returncode != 0
    assert b"lock" in told
    await graph.close()


async def test_unknown_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="kuzu, ladybug"):
        await KuzuGraph.open(tmp_path, "neo")


async def test_little_free_disk_refuses_writes_and_serves_reads(tmp_path: Path) -> None:
    await filled(tmp_path)
    graph = await KuzuGraph.open(tmp_path, ENGINE, min_free_bytes=1 << 60)
    with pytest.raises(StoreUnavailable, match="disk space"):
        await graph.apply(puts([memory("late")], first=100))
    assert await graph.count(ALICE) == 3
    await graph.close()


async def test_closed_graph_has_nothing_to_replay(tmp_path: Path) -> None:
    graph = await open_graph(tmp_path)
    await graph.apply(puts([memory("m")]))
    assert (tmp_path / f"graph.{ENGINE}.wal").stat().st_size
    await graph.close()
    assert files(tmp_path) == {f"graph.{ENGINE}", "graph.json", "graph.lock"}


async def test_log_that_is_none_does_not_cost_the_graph(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    path.with_name(path.name + ".wal").write_bytes(b"no log at all" * 100)
    graph = await open_graph(tmp_path)
    assert graph.rebuilt == ""
    assert await graph.count(ALICE) == 3
    await graph.apply(puts([memory("late")], first=100))
    await graph.close()
