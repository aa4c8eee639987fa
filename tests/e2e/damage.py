"""Doing to files what disks, crashes and people do."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def ledger_of(data: Path) -> Iterator[sqlite3.Connection]:
    """The ledger of a stopped sidecar, as anybody with a shell may open it."""
    with closing(sqlite3.connect(data / "ledger.db")) as connection, connection:
        yield connection


def rowid(connection: sqlite3.Connection, user: str, revision: int) -> int:
    (found,) = connection.execute(
        "SELECT position FROM event WHERE revision = ? AND partition = (SELECT id FROM partition WHERE user = ?)",
        (revision, user),
    ).fetchone()
    return int(found)


def flip_payload(connection: sqlite3.Connection, user: str, revision: int) -> None:
    at = rowid(connection, user, revision)
    (payload,) = connection.execute("SELECT payload FROM event WHERE position = ?", (at,)).fetchone()
    changed = bytearray(payload)
    changed[len(changed) // 2] ^= 1
    connection.execute("UPDATE event SET payload = ? WHERE position = ?", (bytes(changed), at))


def change_hash(connection: sqlite3.Connection, user: str, revision: int) -> None:
    at = rowid(connection, user, revision)
    connection.execute("UPDATE event SET payload_sha256 = zeroblob(32) WHERE position = ?", (at,))


def delete_row(connection: sqlite3.Connection, user: str, revision: int) -> None:
    connection.execute("DELETE FROM event WHERE position = ?", (rowid(connection, user, revision),))


Alter = Callable[[sqlite3.Connection, str, int], None]
ALTERATIONS: dict[str, Alter] = {"payload": flip_payload, "hash": change_hash, "deleted": delete_row}


def flip_bits(path: Path, dice: random.Random, count: int = 1) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(count):
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


def truncate(path: Path, part: float) -> None:
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])
