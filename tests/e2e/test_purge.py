"""What is purged is gone from every file, and with it the names that only it held.

As soon as the purge is answered: the ledger has zeros in its place, its log is emptied, the user's snapshot is dropped.
The graph holds no text. What stays: ids (the ledger's chain needs them, so an id that a caller chooses should say
nothing). Sessions are apart: their messages are in the session server's file until it is rewritten.
"""

from __future__ import annotations

from pathlib import Path

from memsidecar_client import Episode, Fact, Filter, Memory, Memsidecar

from tests.e2e.process import CLEAN, Launch, verify
from tests.e2e.story import ALL, tell, vector

CANARIES = ("Xylophonquetzal", "Vorpalsnicker", "Brobdingnag", "Zephyranth")
MANY = 1_100  # enough for a snapshot


def _holding(data: Path, words: tuple[str, ...] = CANARIES) -> set[str]:
    """The files that hold any of the words, in any case, as UTF-8 or UTF-16."""
    wanted = [w.encode(code) for word in words for w in (word, word.lower()) for code in ("utf-8", "utf-16-le")]
    found = set()
    for path in data.rglob("*"):
        if path.is_file() and any(word in path.read_bytes() for word in wanted):
            found.add(path.relative_to(data).as_posix())
    return found


def test_purged_text_is_gone_from_every_file(launch: Launch, engine: str) -> None:
    settings = {"graph.engine": engine}
    sidecar = launch(settings)
    data = sidecar.data_dir
    with Memsidecar(sidecar.target, user="ann") as client:
        tell(client)
        client.remember_many([Fact(f"Fact number {n}") for n in range(MANY)])
        names = []
        for canary in CANARIES:
            told = client.remember(
                f"Ann met {canary} in Lisbon", embedding=vector(canary), labels={"who": canary}, session=canary
            )
            names.append(told.memories[0].name)
            names.append(client.remember(f"I live in {canary}.", embedding=vector(canary)).memories[0].name)
        changed = Memory(Episode(f"Ann met {CANARIES[0]} and {CANARIES[1]} in Porto"), name=names[0])
        client.update_memory(changed, fields=["episode.text"], reason=f"about {CANARIES[2]}")
        found = [m.name for m in client.list_memories(ALL, page_size=1000) if _mentions(m)]
        assert len(found) > len(names)
        assert sidecar.stop() == 0  # everything is in every file now
        assert {"ledger.db", "resident"} <= {name.partition("/")[0] for name in _holding(data)}

        sidecar.start()
        client.recall(CANARIES[0])
        for name in names:
            client.delete_memory(name, purge=True)
        assert _holding(data) == set()
        assert not [m for m in client.list_memories(ALL, page_size=1000) if _mentions(m)]
        for canary in CANARIES:
            assert not [h for h in client.recall(canary).hits if canary in str(h)]
        assert sidecar.stop() == 0
    assert _holding(data) == set()
    assert verify(data, settings) == CLEAN
    sidecar.start()  # a new snapshot is not made of what was purged, either
    with Memsidecar(sidecar.target, user="ann") as client:
        assert len(list(client.list_memories(Filter(), page_size=1000))) >= MANY
    assert sidecar.stop() == 0
    assert _holding(data) == set()


def _mentions(memory: Memory) -> bool:
    return any(canary.lower() in f"{memory.body} {memory.labels}".lower() for canary in CANARIES)
