"""A history that anyone can tell again from its numbers, and a directory as a kill leaves it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from pathlib import Path

from memsidecar.adapters.kuzu_graph import KuzuGraph
from memsidecar.ports.graph import GraphChange
from tests.contracts.graph_samples import ALICE, Chance
from tests.contracts.test_graph_store import same
from tests.doubles.naive_graph import NaiveGraph

_IDS = [f"m{number:02}" for number in range(25)]


def batch(position: int) -> list[GraphChange]:
    """New and known memories, other edges, conflicts, purges; always the same for a position."""
    chance = random.Random(position)
    changes = Chance(chance, _IDS)
    return [changes.change(position, ALICE) for _ in range(chance.randint(2, 6))]


async def tell(graph: KuzuGraph, positions: Iterable[int]) -> None:
    """Apply batches; those that the graph has are skipped by it."""
    for position in positions:
        await graph.apply(batch(position))


async def assert_told(graph: KuzuGraph, last: int) -> None:
    """The graph is, node by node and edge by edge, what the batches up to `last` make of an empty one."""
    model = NaiveGraph()
    for position in range(1, last + 1):
        model.apply(batch(position))
    assert await graph.applied() == last
    await same(graph, model, ALICE, _IDS, random.Random(last))


def as_if_killed(directory: Path, target: Path) -> Path:
    """The files of an open graph as a SIGKILL at this moment would leave them."""
    return shutil.copytree(directory, target, ignore=shutil.ignore_patterns("graph.lock"))


def unreplayed(directory: Path) -> list[Path]:
    return sorted(directory.glob("graph.unreplayed-*"))


def files(directory: Path) -> set[str]:
    """The names of the files, not the folders, in a directory."""
    return {path.name for path in directory.iterdir() if path.is_file()}
