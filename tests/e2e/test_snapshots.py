"""Snapshots spare a start some time. Damaged, they are ignored and made again; nothing depends on them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from memsidecar_client import Fact, Item, Memsidecar

from tests.e2e.damage import flip_bits, truncate
from tests.e2e.process import CLEAN, Launch, verify
from tests.e2e.story import answers, tell, vector

DICE = random.Random(5)
MANY = 1_100  # enough for a snapshot when the process stops


def _files(data: Path, name: str) -> list[Path]:
    return [path for path in (data / "resident").rglob(name) if path.is_file()]


def _flip(name: str) -> Callable[[Path], None]:
    def damage(data: Path) -> None:
        for path in _files(data, name):
            flip_bits(path, DICE, 3)

    return damage


def _cut(name: str) -> Callable[[Path], None]:
    def damage(data: Path) -> None:
        for path in _files(data, name):
            truncate(path, DICE.choice((0.0, 0.3, 0.9)))

    return damage


def _swap(data: Path) -> None:
    """Each user's snapshot in the place of the other's."""
    one, other = sorted((data / "resident").iterdir())
    aside = data / "aside"
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "bits of the records": _flip("records"),
    "the records cut": _cut("records"),
    "no records": lambda data: [path.unlink() for path in _files(data, "records")] and None,
    "bits of the vectors": lambda data: (
        [flip_bits(p, DICE, 3) for p in _files(data, "*") if p.name != "records"] and None
    ),
    "the vectors cut": lambda data: [truncate(p, 0.5) for p in _files(data, "*") if p.name != "records"] and None,
    "no vectors": lambda data: [shutil.rmtree(p) for p in (data / "resident").glob("*/vectors")] and None,
    "another user's": _swap,
}


def test_damaged_snapshots_are_ignored_and_made_again(launch: Launch) -> None:
    sidecar = launch()
    told = {}
    with Memsidecar(sidecar.target, user="ann") as ann, Memsidecar(sidecar.target, user="bob") as bob:
        for client, name in ((ann, "ann"), (bob, "bob")):
            items = [Item(Fact(f"{name} {n}"), embedding=vector(f"{name} {n}")) for n in range(MANY)]
            assert not client.remember_many(items).failures
            tell(client)
            told[name] = answers(client)
        for what, damage in DAMAGES.items():
            assert sidecar.stop() == 0
            assert len(_files(sidecar.data_dir, "records")) == 2, what
            damage(sidecar.data_dir)
            sidecar.start()
            assert answers(ann) == told["ann"], what
            assert answers(bob) == told["bob"], what
            # So much is new that each stop makes a snapshot again.
            for client, name in ((ann, "ann"), (bob, "bob")):
                kept = client.remember_many([Fact(f"{name} passing {n}") for n in range(2)])
                for result in kept.results:
                    client.delete_memory(result.outcomes[0].memory.name, purge=True)
    assert sidecar.stop() == 0
    assert verify(sidecar.data_dir) == CLEAN
    assert "Traceback" not in sidecar.log()
