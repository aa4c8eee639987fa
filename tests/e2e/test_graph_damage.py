"""Whatever happens to the graph's files while nobody looks, the ledger makes another graph of it."""

from __future__ import annotations

import fcntl
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from memsidecar_client import Memsidecar

from tests.e2e.damage import flip_bits, truncate
from tests.e2e.process import CLEAN, Launch, verify
from tests.e2e.story import answers, tell

DICE = random.Random(11)


def _delete_file(file: Path) -> None:
    file.unlink()


def _delete_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def _cut(file: Path) -> None:
    truncate(file, DICE.choice((0.0, 0.1, 0.5, 0.9, 0.999)))


def _flip_one(file: Path) -> None:
    flip_bits(file, DICE)


def _flip_many(file: Path) -> None:
    flip_bits(file, DICE, 200)


def _forget_description(file: Path) -> None:
    (file.parent / "graph.json").write_text("{")


DAMAGES: tuple[Callable[[Path], None], ...] = (
    _delete_file,
    _delete_folder,
    _cut,
    _flip_one,
    _flip_many,
    _forget_description,
)


def _kept(data: Path) -> int:
    """How many graphs were set aside."""
    return len(list((data / "graph").glob("graph.bad-*"))) + len(list(data.glob("graph.aside-*")))


def test_damaged_graph_is_kept_aside_and_made_again(launch: Launch, engine: str) -> None:
    sidecar = launch({"graph.engine": engine})
    data, settings = sidecar.data_dir, {"graph.engine": engine}
    with Memsidecar(sidecar.target, user="ann") as client:
        tell(client)
        told = answers(client)
        for damage in DAMAGES:
            assert sidecar.stop() == 0
            kept = _kept(data)
            damage(data / "graph" / f"graph.{engine}")
            sidecar.start()
            assert answers(client) == told, damage
            if damage is not _delete_folder:
                assert _kept(data) == kept + 1, damage
    assert sidecar.stop() == 0
    assert verify(data, settings) == CLEAN
    assert "Traceback" not in sidecar.log()


@contextmanager
def _held(file: Path) -> Iterator[None]:
    """Another process has the engine's own kind of lock on the file."""
    program = f"import fcntl; f = open({str(file)!r}, 'r+b'); fcntl.lockf(f, {fcntl.LOCK_EX}); print('held'); input()"
    holder = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdin is not None
    holder.stdout.readline()
    yield
    holder.communicate("\n")
    assert holder.returncode == 0


def test_graph_that_another_process_holds_is_left_to_it(launch: Launch, engine: str) -> None:
    sidecar = launch({"graph.engine": engine})
    data = sidecar.data_dir
    with Memsidecar(sidecar.target, user="ann") as client:
        tell(client)
        told = answers(client)
        assert sidecar.stop() == 0
        file = data / "graph" / f"graph.{engine}"
        before = file.read_bytes()
        with _held(file):
            sidecar.start()
            assert answers(client) == told
        (aside,) = data.glob("graph.aside-*")
        assert (aside / file.name).read_bytes() == before
        assert sidecar.stop() == 0
    assert verify(data, {"graph.engine": engine}) == CLEAN


@pytest.mark.parametrize("order", [("kuzu", "ladybug", "kuzu")], ids="-".join)
def test_engine_may_be_changed_and_changed_back(launch: Launch, order: tuple[str, ...]) -> None:
    told = None
    for engine in order:
        sidecar = launch({"graph.engine": engine})
        with Memsidecar(sidecar.target, user="ann") as client:
            if told is None:
                tell(client)
                told = answers(client)
            assert answers(client) == told
            assert client.server_info().graph_engine == engine
        assert sidecar.stop() == 0
    assert _kept(sidecar.data_dir) == len(order) - 1
    assert verify(sidecar.data_dir) == CLEAN
