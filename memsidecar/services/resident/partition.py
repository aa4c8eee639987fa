"""The resident partition: apply deltas, answer the rules, find rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.fold import Delta
from memsidecar.domain.indexed_text import indexed_text
from memsidecar.domain.keyword import KeywordIndex
from memsidecar.domain.memory import Episode, Memory, State
from memsidecar.domain.scope import Partition
from memsidecar.domain.text import entity_key
from memsidecar.domain.tokens import tokens
from memsidecar.ports.ledger import EventCodec, Head
from memsidecar.ports.vectors import VectorIndex
from memsidecar.services.resident.columns import NO_ROW, Columns
from memsidecar.services.resident.lookup import Lookup
from memsidecar.services.resident.records import Records

_EMPTY_BYTES = 64 * 1024  # an empty partition's objects


class Resident:
    """One partition in memory at `head.revision`. Belongs to the event loop's thread; nothing here blocks.

    `model` is the embedding model whose vectors count.

    A memory keeps its row while its indexed text stays the same; a new text gets a new row and the old one dies, so
    that index entries are only ever added.
    """

    def __init__(self, partition: Partition, codec: EventCodec, vectors: VectorIndex, model: str) -> None:
        self.partition = partition
        self.model = model
        self.head = Head(0, b"")
        self.columns = Columns()
        self.keywords = KeywordIndex()
        self.vectors = vectors
        self.lookup = Lookup()
        self.records = Records(partition, codec)
        self._has_vectors: set[int] = set()
        self._last_episode: dict[int, int] = {}
        # Memories without vectors of the model, in the order in which they came.
        self.due: dict[str, None] = {}
        self._speakers: dict[str, str] = {}
        self._speakers_seen = 0

    @property
    def nbytes(self) -> int:
        parts = (self.columns, self.keywords, self.vectors, self.lookup, self.records)
        return _EMPTY_BYTES + sum(p.nbytes for p in parts) + 60 * len(self._has_vectors)

    @property
    def rows(self) -> int:
        return self.columns.rows

    # The view that decisions are made on (domain.view.PartitionView).

    def memory(self, memory_id: str) -> Memory | None:
        row = self.lookup.rows.get(memory_id)
        return self.records.get(row) if row is not None else None

    def by_digest(self, digest: bytes) -> str | None:
        row = self.lookup.by_digest(digest)
        if row is None:
            return None
        memory = self.records.get(row)
        return memory.id if memory.digest == digest else None

    def entity(self, key: str) -> str | None:
        return self.lookup.by_name(key)

    def last_episode(self, session: str) -> str | None:
        number = self.columns.sessions.find(session)
        row = self._last_episode.get(number) if number is not None else None
        return self.records.get(row).id if row is not None else None

    def speakers(self) -> Mapping[str, str]:
        """Key (`entity_key`) -> name of everyone who speaks here."""
        known = self.columns.speakers.all()
        if len(known) != self._speakers_seen:
            self._speakers = {key: name for name in known if (key := entity_key(name))}
            self._speakers_seen = len(known)
        return self._speakers

    def has_vectors(self, memory_id: str) -> bool:
        row = self.lookup.rows.get(memory_id)
        return row is not None and row in self._has_vectors

    # Applying.

    def apply(self, delta: Delta, terms: list[str] | None = None) -> None:
        """Follow one delta. `terms` are the tokens of the put memory's indexed text, when the caller has them."""
        if delta.purged:
            self._purge(delta.subject)
        if delta.put is not None:
            self._put(delta.put, terms, delta.vectors is not None)
        # Vectors read back from the ledger come apart from their event, which then has none.
        if delta.vectors is not None and delta.vectors.model == self.model and len(delta.vectors.rows):
            row = self.lookup.rows.get(delta.subject)
            if row is not None and row not in self._has_vectors:
                self.set_vectors(row, delta.vectors.rows)

    def set_vectors(self, row: int, vectors: NDArray[np.float32]) -> None:
        """Give a row the vectors of its memory."""
        self.vectors.add(row, vectors)
        self._has_vectors.add(row)
        if self.due:
            self.due.pop(self.records.get(row).id, None)

    def _put(self, memory: Memory, terms: list[str] | None, brings_vectors: bool) -> None:
        old_row = self.lookup.rows.get(memory.id)
        if old_row is None:
            row = self.columns.append(memory, self.columns.rows)
            self._index(row, memory, terms)
        else:
            old = self.records.get(old_row)
            self.lookup.drop(old_row, old)
            moved = old.body is not memory.body and indexed_text(old.body) != indexed_text(memory.body)
            if moved or (brings_vectors and old_row in self._has_vectors):
                row = self.columns.append(memory, int(self.columns["birth"][old_row]))
                self._move(old_row, row)
                self._index(row, memory, terms)
            else:
                row = old_row
                self.columns.write(row, memory)
        self.records.put(row, memory)
        self.lookup.put(row, memory)
        self._note_due(row, memory)

    def _index(self, row: int, memory: Memory, terms: list[str] | None) -> None:
        self.keywords.add(row, tokens(indexed_text(memory.body)) if terms is None else terms)
        if isinstance(memory.body, Episode):
            session = int(self.columns["session"][row])
            if memory.version == 1 and session:
                self._last_episode[session] = row
            previous = self.lookup.rows.get(memory.body.follows) if memory.body.follows else None
            if previous is not None:
                self.columns.follow(row, previous)

    def _move(self, old_row: int, row: int) -> None:
        self._retire(old_row)
        session = int(self.columns["session"][old_row])
        if self._last_episode.get(session) == old_row:
            self._last_episode[session] = row
        following = int(self.columns["following"][old_row])
        if following != NO_ROW:
            self.columns.follow(following, row)

    def _retire(self, row: int) -> None:
        self.columns.kill(row)
        self.records.drop(row)
        if row in self._has_vectors:
            self.vectors.remove(row)
            self._has_vectors.discard(row)

    def _purge(self, memory_id: str) -> None:
        row = self.lookup.rows.get(memory_id)
        if row is None:
            return
        memory = self.records.get(row)
        self.lookup.drop(row, memory)
        self._retire(row)
        self.due.pop(memory_id, None)
        # The episode before it is the session's last one again, as it would be after a replay without it.
        session = int(self.columns["session"][row])
        if self._last_episode.get(session) == row:
            previous = int(self.columns["previous"][row])
            if previous != NO_ROW and self.columns["live"][previous]:
                self._last_episode[session] = previous
            else:
                del self._last_episode[session]

    def _note_due(self, row: int, memory: Memory) -> None:
        if memory.state is State.DELETED or self.columns["discovered"][row] or row in self._has_vectors:
            self.due.pop(memory.id, None)
        else:
            self.due[memory.id] = None

    # Snapshots.

    def dump(self) -> Mapping[str, NDArray[np.generic]]:
        """Everything but the vectors, as arrays (the vector index saves itself)."""
        last = np.array([*self._last_episode.items()], dtype=np.int64).reshape(-1, 2)
        arrays: dict[str, NDArray[np.generic]] = {
            "model": np.frombuffer(self.model.encode(), dtype=np.uint8),
            "has_vectors": np.array(sorted(self._has_vectors), dtype=np.int32),
            "last_episode": last,
        }
        parts: dict[str, Columns | KeywordIndex | Lookup | Records] = {
            "columns": self.columns,
            "keywords": self.keywords,
            "lookup": self.lookup,
            "records": self.records,
        }
        for prefix, part in parts.items():
            arrays.update({f"{prefix}.{name}": array for name, array in part.dump().items()})
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[np.generic]], head: Head) -> None:
        """Become what `dump` wrote at that head. The vector index must be the one that was saved with it."""

        def part(prefix: str) -> dict[str, NDArray[np.generic]]:
            return {n.split(".", 1)[1]: a for n, a in arrays.items() if n.startswith(prefix + ".")}

        self.columns = Columns.restore(part("columns"))
        self.keywords = KeywordIndex.restore(part("keywords"))
        self.records.restore(part("records"))
        self._has_vectors = set(arrays["has_vectors"].tolist())
        self._last_episode = {int(session): int(row) for session, row in arrays["last_episode"]}
        self.lookup = Lookup.restore(part("lookup"))
        due = np.array(self.columns["live"], dtype=np.bool_)
        due[np.asarray(self.columns["discovered"], dtype=np.bool_)] = False
        due[self.columns["state"] == int(State.DELETED)] = False
        due[arrays["has_vectors"]] = False
        self.due = {self.records.get(row).id: None for row in np.flatnonzero(due).tolist()}
        self.head = head
