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


Damage = Callable[[Path], object]


def _vectors(folder: Path) -> list[Path]:
    return [path for path in (folder / "vectors").rglob("*") if path.is_file()]


def _flip_vectors(folder: Path) -> None:
    for path in _vectors(folder):
        flip_bits(path, DICE, 3)


def _cut_vectors(folder: Path) -> None:
    for path in _vectors(folder):
        truncate(path, 0.5)


# Each is done to one user's folder, in pairs: a start tries two of them.
DAMAGES: tuple[tuple[Damage, Damage], ...] = (
    (
        lambda folder: flip_bits(folder / "records", DICE, 3),
        _flip_vectors,
    ),
    (
        lambda folder: truncate(folder / "records", DICE.choice((0.0, 0.3, 0.9))),
        _cut_vectors,
    ),
    (
        lambda folder: (folder / "records").unlink(),
        lambda folder: shutil.rmtree(folder / "vectors"),
    ),
)


def _swap(one: Path, other: Path) -> None:
    """Each user's snapshot in the place of the other's."""
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def test_damaged_snapshots_are_ignored_and_made_again(launch: Launch) -> None:
    sidecar = launch()
    folder = sidecar.data_dir / "resident"
    told = {}
    with Memsidecar(sidecar.target, user="ann") as ann, Memsidecar(sidecar.target, user="bob") as bob:
        for client, name in ((ann, "ann"), (bob, "bob")):
            items = [Item(Fact(f"{name} {n}"), embedding=vector(f"{name} {n}")) for n in range(MANY)]
            assert not client.remember_many(items).failures
            tell(client)
            told[name] = answers(client)
        for number in range(len(DAMAGES) + 1):
            assert sidecar.stop() == 0
            one, other = sorted(folder.iterdir())
            assert (one / "records").exists()
            assert _vectors(other)
            if number < len(DAMAGES):
                DAMAGES[number][0](one)
                DAMAGES[number][1](other)
            else:
                _swap(one, other)
            sidecar.start()
            assert answers(ann) == told["ann"], number
            assert answers(bob) == told["bob"], number
    assert sidecar.stop() == 0
    assert verify(sidecar.data_dir) == CLEAN
    assert "Traceback" not in sidecar.log()
