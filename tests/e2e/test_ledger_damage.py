"""A ledger that somebody or something has changed: detected, reported, never served as if nothing had happened.

The rule: a partition whose ledger is damaged answers DATA_LOSS; every other partition goes on. A snapshot made while
the ledger was sound may answer for the moments that the ledger under it takes to be proved after a start; it holds what
was acknowledged, never what was altered. It is kept: it may be the last good copy.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

from memsidecar_client import DataLoss, Memsidecar, Message, Role

from tests.e2e.damage import ALTERATIONS, ledger_of
from tests.e2e.process import CLEAN, Launch, until, verify
from tests.e2e.story import answers, tell, vector

# Enough for a snapshot at the end (services/residency.py: a fifth of 5,000 entries).
MANY = 1_100


def _calls(client: Memsidecar, name: str) -> dict[str, Callable[[], object]]:
    return {
        "get": lambda: client.get_memory(name),
        "list": lambda: list(client.list_memories()),
        "recall": lambda: client.recall("Ben", embedding=vector("Ben")),
        "remember": lambda: client.remember("something new", embedding=vector("n")),
        "update": lambda: client.delete_memory(name),
    }


def _refused(call: Callable[[], object]) -> DataLoss | None:
    try:
        call()
    except DataLoss as error:
        return error if error.reason == "LEDGER_DAMAGED" and "memsidecar verify" in str(error) else None
    return None


def _assert_refused(client: Memsidecar, name: str, user: str) -> None:
    for what, call in _calls(client, name).items():
        error = _refused(call)
        assert error is not None, what
        assert error.metadata["partition"] == f"namespaces/default/users/{user}"


def test_altered_entry_is_reported_and_not_served(launch: Launch) -> None:
    sidecar = launch()
    data, told, names = sidecar.data_dir, {}, {}
    for user in ("ann", *ALTERATIONS):
        with Memsidecar(sidecar.target, user=user) as client:
            names[user] = tell(client)[0].name
            told[user] = answers(client)
    assert sidecar.stop() == 0
    with ledger_of(data) as ledger:
        for user, alter in ALTERATIONS.items():
            alter(ledger, user, 6)
    found = verify(data)
    assert found.code == 1
    damaged = {("ledger", f"namespaces/default/users/{user}") for user in ALTERATIONS}
    assert {finding[:2] for finding in found.findings} == damaged
    # Nor can the projections be asked instead: without the graph, the same.
    shutil.rmtree(data / "graph")
    sidecar.start()
    for user in ALTERATIONS:
        with Memsidecar(sidecar.target, user=user) as client:
            _assert_refused(client, names[user], user)
            client.session("s").create()
            client.session("s").append([Message(Role.USER, "sessions go on, too")])
    with Memsidecar(sidecar.target, user="ann") as client:
        assert answers(client) == told["ann"]
        client.remember("Ann goes on", embedding=vector("b"))
    assert sidecar.stop() == 0
    # It ends, though the graph cannot follow those partitions, and follows ann's.
    again = verify(data, None, "--repair")
    assert again.code == 1
    assert {finding[:2] for finding in again.findings} == damaged


def test_a_snapshot_hides_no_damage_for_long(launch: Launch) -> None:
    sidecar = launch()
    with Memsidecar(sidecar.target, user="ann") as client:
        told = client.remember_many(f"Fact number {n}" for n in range(MANY))
        name = told.results[3].outcomes[0].memory.name
        text = client.get_memory(name).text
    assert sidecar.stop() == 0
    assert list((sidecar.data_dir / "resident").iterdir())
    with ledger_of(sidecar.data_dir) as ledger:
        ALTERATIONS["payload"](ledger, "ann", 4)
    assert verify(sidecar.data_dir).code == 1
    for _ in range(2):
        sidecar.start()
        with Memsidecar(sidecar.target, user="ann") as client:
            served: list[str] = []

            def look(client: Memsidecar = client, served: list[str] = served) -> bool:
                error = _refused(lambda: served.append(client.get_memory(name).text))
                return error is not None

            until(look, "the damage is found")
            assert set(served) <= {text}
            _assert_refused(client, name, "ann")
        assert "is taken out of service" in sidecar.log()
        assert sidecar.stop() == 0
        assert list((sidecar.data_dir / "resident").iterdir()), "the last good copy is kept"
    assert verify(sidecar.data_dir).code == 1


def test_torn_log_opens_at_the_last_complete_commit(launch: Launch, tmp_path: Path) -> None:
    sidecar = launch()
    with Memsidecar(sidecar.target, user="ann") as client:
        names = [client.remember(f"Fact number {n}", embedding=vector(str(n))).memories[0].name for n in range(40)]
        sidecar.kill()
    whole = (sidecar.data_dir / "ledger.db-wal").read_bytes()
    dice = random.Random(7)
    kept_before = -1
    for number, offset in enumerate(sorted(dice.sample(range(len(whole) // 2, len(whole)), 3))):
        copy = tmp_path / f"torn-{number}"
        shutil.copytree(sidecar.data_dir, copy, ignore=shutil.ignore_patterns("*.sock", "*-shm"))
        # Torn: what follows is missing, or (a page that never reached the disk) is rubbish.
        rest = b"" if number % 2 else dice.randbytes(len(whole) - offset)
        (copy / "ledger.db-wal").write_bytes(whole[:offset] + rest)
        torn = launch(data=copy)
        with Memsidecar(torn.target, user="ann") as client:
            kept = [memory.name for memory in client.list_memories(page_size=1000)]
            assert kept == names[: len(kept)]
            assert kept_before <= len(kept) < 40
            kept_before = len(kept)
            client.remember("It goes on", embedding=vector("on"))
        assert torn.stop() == 0
        assert verify(copy) == CLEAN
