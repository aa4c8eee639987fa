"""A process that dies while the engine opens the files does so once, not at each start."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import zlib
from pathlib import Path

import pytest

from memsidecar.domain.memory import Kind
from tests.adapters.kuzu_graph.histories import assert_told, tell
from tests.contracts.graph_samples import memory, puts
from tests.contracts.test_graph_store import ENGINE, open_graph, set_aside

_OPEN = """
import asyncio, os, pathlib, sys
from memsidecar.adapters.kuzu_graph import core, files
from tests.contracts.graph_samples import memory, puts
from tests.contracts.test_graph_store import open_graph

patch, directory = sys.argv[1:]
if patch == "engine":
    core.open_session = lambda *_: os._exit(9)
elif patch == "probe":
    files.Files.opened = lambda _: os._exit(9)
elif patch == "checkpoint":
    files.Files.checkpoint_ended = lambda _: os._exit(9)

async def main():
    graph = await open_graph(pathlib.Path(directory))
    await graph.apply([])
    if patch == "checkpoint":
        from tests.adapters.kuzu_graph.histories import tell
        position = await graph.applied()
        await tell(graph, range(position + 1, position + 4))
        await graph.checkpoint()

asyncio.run(main())
"""


async def opened_elsewhere(directory: Path, patch: str) -> int | None:
    """The exit code of another process that opens the graph; None when it hangs until it is killed."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _OPEN, patch, str(directory)), env=dict(os.environ), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(15):
            return await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()
        return None


async def filled(directory: Path) -> Path:
    graph = await open_graph(directory)
    await tell(graph, range(1, 10))
    await graph.close()
    return directory / f"graph.{ENGINE}"


async def assert_rebuilt_once(directory: Path, reason: str) -> None:
    graph = await open_graph(directory)
    assert reason in graph.rebuilt
    await tell(graph, range(1, 12))
    await assert_told(graph, 11)
    await graph.close()
    graph = await open_graph(directory)
    assert graph.rebuilt == ""
    await assert_told(graph, 11)
    await graph.close()
    assert len(set_aside(directory)) == 1


@pytest.mark.parametrize("patch", ["engine", "probe"])
async def test_death_inside_open_is_answered_by_a_rebuild(tmp_path: Path, patch: str) -> None:
    await filled(tmp_path)
    assert await opened_elsewhere(tmp_path, patch) == 9
    await assert_rebuilt_once(tmp_path, "died while the engine opened it")


async def test_damage_that_crashes_the_engine_does_so_once(tmp_path: Path) -> None:
    graph = await open_graph(tmp_path)
    await graph.apply(puts([memory("e", Kind.ENTITY), *(memory(f"m{number}", mentions=["e"]) for number in range(3))]))
    await graph.close()
    file = tmp_path / f"graph.{ENGINE}"
    whole = file.read_bytes()
    record = file.with_name("graph.json")
    # Zeros over some of its last pages make kuzu 0.11.3 die from SIGSEGV. The checksum is made to fit.
    for pages in (2, 3, 4, 6, 8, 12, 16) if ENGINE == "kuzu" else (2,):
        content = whole[: -4096 * pages] + bytes(4096 * pages)
        file.write_bytes(content)
        record.write_text(json.dumps({**json.loads(record.read_text()), "checksum": zlib.crc32(content)}))
        died = await opened_elsewhere(tmp_path, "nothing") != 0
        if died or set_aside(tmp_path):
            break
    if ENGINE == "kuzu":
        assert died
        await assert_rebuilt_once(tmp_path, "died while the engine opened it")
    else:
        assert len(set_aside(tmp_path)) <= 1


async def test_checkpoints_that_kill_the_process_end_in_a_rebuild(tmp_path: Path) -> None:
    await filled(tmp_path)
    for _ in range(3):
        assert await opened_elsewhere(tmp_path, "checkpoint") == 9
    await assert_rebuilt_once(tmp_path, "none of its last 3 checkpoints")
