"""Where every partition stands, known to the writer without asking the file."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from memsidecar.adapters.sqlite_ledger import chain
from memsidecar.domain.scope import Partition

# About 300 bytes each. Past it everything is forgotten at once: a miss costs two indexed look-ups.
_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class Place:
    """A partition's row id and head. `owner` is the partition as it enters its links."""

    id: int
    revision: int
    chain: bytes
    owner: bytes
    is_new: bool


class Heads:
    """Heads as of the transaction in progress, and the last `position` and vector `slot` given out.

    After a rollback, `forget` before anything else.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._places: dict[Partition, Place] = {}
        self.position = 0
        self.slot = 0
        self._partitions = 0
        self.forget(connection)

    def forget(self, connection: sqlite3.Connection) -> None:
        """Go back to what the file says. Raises sqlite3.Error."""
        self._places.clear()
        (self.position,) = connection.execute("SELECT coalesce(max(position), 0) FROM event").fetchone()
        (self.slot,) = connection.execute("SELECT coalesce(max(slot), 0) FROM vector").fetchone()
        (self._partitions,) = connection.execute("SELECT coalesce(max(id), 0) FROM partition").fetchone()

    def find(self, connection: sqlite3.Connection, partition: Partition) -> Place:
        """The head; of a partition that has none yet, the one that its first batch will have. Raises sqlite3.Error."""
        place = self._places.get(partition)
        if place is None:
            place = self._read(connection, partition)
            if not place.is_new:
                self._places[partition] = place
        return place

    def advance(self, partition: Partition, place: Place, entries: int) -> None:
        self._places[partition] = place
        self.position += entries
        self._partitions = max(self._partitions, place.id)

    def trim(self) -> None:
        """Keep memory bounded. Only between transactions: a group's own heads are nowhere else yet."""
        if len(self._places) > _KEPT:
            self._places.clear()

    def _read(self, connection: sqlite3.Connection, partition: Partition) -> Place:
        key = (partition.namespace, partition.user)
        owner = chain.owner(partition)
        row = connection.execute("SELECT id FROM partition WHERE namespace = ? AND user = ?", key).fetchone()
        if row is None:
            return Place(self._partitions + 1, 0, chain.FIRST, owner, is_new=True)
        last = connection.execute(
            "SELECT revision, chain FROM event WHERE partition = ? ORDER BY revision DESC LIMIT 1", row
        ).fetchone()
        revision, link = last or (0, chain.FIRST)
        return Place(row[0], revision, link, owner, is_new=False)
