"""The resident partition: apply deltas, answer the rules, find rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.feedback import NO_FEEDBACK, Feedback
from memsidecar.domain.fold import Delta
from memsidecar.domain.indexed_text import embedded_text, indexed_text
from memsidecar.domain.keyword import KeywordIndex
from memsidecar.domain.memory import Entity, Episode, Kind, Memory, State
from memsidecar.domain.scope import Partition
from memsidecar.domain.slot_places import Sought
from memsidecar.domain.slot_words import rarity_among
from memsidecar.domain.text import entity_key
from memsidecar.domain.tokens import token_counts
from memsidecar.domain.view import oldest
from memsidecar.ports.ledger import EventCodec, Head
from memsidecar.ports.vectors import VectorIndex
from memsidecar.services.resident.chats import Chats
from memsidecar.services.resident.columns import Columns
from memsidecar.services.resident.conflicts import Conflicts
from memsidecar.services.resident.lookup import Lookup
from memsidecar.services.resident.records import Records

Terms = Mapping[str, Counter[str]]
"""Index terms, counted, by the text that they are of (`indexed_text`)."""

_NO_TERMS: Terms = MappingProxyType({})
_EMPTY_BYTES = 64 * 1024  # an empty partition's objects


class Resident:
    """One partition in memory at `head.revision`. Belongs to the event loop's thread; nothing here blocks.

    `model` is the embedding model whose vectors count.

    A memory keeps its row while it keeps its vectors; other vectors get a new row and the old one dies, because the
    vector index takes a row only once. What a purge or a new text takes away is out of every index at once.
    """

    def __init__(self, partition: Partition, codec: EventCodec, vectors: VectorIndex, model: str) -> None:
        self.partition = partition
        self.model = model
        self.head = Head(0, b"")
        self.columns = Columns()
        self.keywords = KeywordIndex()
        self.vectors = vectors
        self.lookup = Lookup(_created_in(self.columns))
        self.records = Records(partition, codec)
        self.conflicts = Conflicts(codec)
        self._has_vectors: set[int] = set()
        self._last_episode: dict[int, int] = {}
        # Memories without vectors of the model, in the order in which they came.
        self.due: dict[str, None] = {}
        self._speakers: dict[str, str] | None = None
        self._speaking: frozenset[str] | None = None
        self._chats = Chats()

    @property
    def nbytes(self) -> int:
        parts = (self.columns, self.keywords, self.vectors, self.lookup, self.records, self.conflicts)
        return _EMPTY_BYTES + sum(p.nbytes for p in parts) + 60 * len(self._has_vectors)

    @property
    def rows(self) -> int:
        """Rows, dead ones included: the length of columns and masks. A replay may have fewer."""
        return self.columns.rows

    @property
    def memories(self) -> int:
        """Memories of every state: the same after a replay."""
        return len(self.lookup.rows)

    # The view that decisions are made on (domain.view.PartitionView).

    def memory(self, memory_id: str) -> Memory | None:
        row = self.lookup.rows.get(memory_id)
        return self.records.get(row) if row is not None else None

    def by_digest(self, digest: bytes) -> str | None:
        return oldest(self._holders(digest)) if self.lookup.by_digest(digest) else None

    def holders(self, digest: bytes) -> list[str]:
        return [memory.id for memory in self._holders(digest)]

    def _holders(self, digest: bytes) -> list[Memory]:
        candidates = map(self.records.get, self.lookup.by_digest(digest))
        return [memory for memory in candidates if memory.digest == digest]

    def entity(self, key: str) -> str | None:
        return self.lookup.by_name(key)

    def named(self, key: str) -> list[str]:
        return list(self.lookup.sharing(key))

    def naming(self, entity_id: str) -> list[str]:
        return [self.records.get(row).id for row in self.lookup.about(entity_id).tolist()]

    def last_episode(self, session: str, without: Set[str] = frozenset()) -> str | None:
        number = self.columns.sessions.find(session)
        row = self._last_episode.get(number) if number else None
        if row is None or number is None:
            return None
        found = self.records.get(row).id
        if found not in without:
            return found
        gone = [self.lookup.rows[i] for i in without if i in self.lookup.rows]
        row = self._newest_episode(number, gone)
        return self.records.get(row).id if row is not None else None

    def _newest_episode(self, session: int, without: list[int]) -> int | None:
        """The row of the episode that came last among those of a session; slow."""
        of_session = (self._column("session") == session) & (self._column("kind") == int(Kind.EPISODE))
        of_session[without] = False
        rows = np.flatnonzero(of_session & self._column("live"))
        return int(rows[np.argmax(self._column("birth")[rows])]) if len(rows) else None

    def _column(self, name: str) -> Any:
        return self.columns[name]

    def speakers(self) -> Mapping[str, str]:
        """Key (`entity_key`) -> name of everyone who speaks here."""
        if self._speakers is None:
            names = self.columns.speakers.used(self.columns["speaker"])
            self._speakers = {key: name for name in names if (key := entity_key(name))}
        return self._speakers

    def speaking(self) -> Set[str]:
        """Ids of the entities that have the name of somebody who speaks here."""
        if self._speaking is None:
            names = (self.lookup.by_name(key) for key in self.speakers())
            self._speaking = frozenset(name for name in names if name is not None)
        return self._speaking

    def chat_kinds(self) -> NDArray[np.uint8]:
        """The kind of talk (`Chat`) of each session, by its number in the columns; none beyond the end."""
        return self._chats.kinds(self.columns)

    def has_vectors(self, memory_id: str) -> bool:
        row = self.lookup.rows.get(memory_id)
        return row is not None and row in self._has_vectors

    def feedback(self, memory_id: str) -> Feedback:
        row = self.lookup.rows.get(memory_id)
        return self.columns.feedback(row) if row is not None else NO_FEEDBACK

    def in_slot(self, subject: str, family: str, sought: Sought | None = None) -> list[str]:
        rows = self.lookup.in_slot(subject, family)
        if sought is not None:
            rows = self.columns.fitting(rows, sought)
        return [self.records.get(row).id for row in rows.tolist()]

    def called(self, key: str) -> list[str]:
        return list(self.lookup.called(key))

    def read_from(self, memory_id: str) -> list[str]:
        return [self.records.get(row).id for row in self.lookup.read_from(memory_id)]

    def rarity(self, stem: str, /) -> float:
        return rarity_among(self.keywords.documents, self.keywords.having)(stem)

    def conflict(self, conflict_id: str) -> Conflict | None:
        return self.conflicts.get(conflict_id)

    def conflicts_of(self, memory_id: str) -> Sequence[str]:
        return self.conflicts.of(memory_id)

    def conflicts_about(self, subject: str, attribute: str) -> Sequence[str]:
        return self.conflicts.about(subject, attribute)

    # Applying.

    def texts_of(self, delta: Delta) -> list[str]:
        """The texts whose terms `apply` will need because of what is here already."""
        row = self.lookup.rows.get(delta.subject)
        if row is None:
            return []
        old = self.records.get(row)
        if delta.purged:
            return [indexed_text(old.body)]
        if delta.put is None or (old.body == delta.put.body and delta.vectors is None):
            return []
        return [indexed_text(old.body), indexed_text(delta.put.body)]

    def apply(self, delta: Delta, terms: Terms = _NO_TERMS, revision: int | None = None) -> None:
        """Follow one delta. `terms` are those of texts that the caller has counted already.

        `revision` is the delta's place in the ledger: a new memory's place in lists, which a page token may hold on to,
        so that it must be the same after a replay without what was purged. Left out, memories come in order of rows.
        """
        for _ in self.applying(delta, terms, revision):
            pass

    def applying(self, delta: Delta, terms: Terms = _NO_TERMS, revision: int | None = None) -> Iterator[None]:
        """`apply` in short steps, between which others may run, but nobody may read this partition."""
        if delta.purged:
            yield from self._purge(delta.subject, terms)
        if delta.put is not None:
            brings_vectors = delta.vectors is not None and delta.vectors.model == self.model
            yield from self._put(delta.put, terms, revision, brings_vectors)
        # Vectors read back from the ledger come apart from their event, which then has none.
        if delta.vectors is not None and delta.vectors.model == self.model and len(delta.vectors.rows):
            row = self.lookup.rows.get(delta.subject)
            if row is not None and row not in self._has_vectors:
                self.set_vectors(row, delta.vectors.rows)
        if delta.feedback is not None and (judged := self.lookup.rows.get(delta.subject)) is not None:
            self.columns.judge(judged, delta.feedback)
        if delta.conflict is not None:
            self.conflicts.put(delta.conflict)

    def set_vectors(self, row: int, vectors: NDArray[np.float32]) -> None:
        """Give a row the vectors of its memory."""
        self.vectors.add(row, vectors)
        self.columns.set_chunks(row, len(vectors))
        self._has_vectors.add(row)
        if self.due:
            self.due.pop(self.records.get(row).id, None)

    def _put(self, memory: Memory, terms: Terms, revision: int | None, brings_vectors: bool) -> Iterator[None]:
        old_row = self.lookup.rows.get(memory.id)
        if old_row is None:
            row = self.columns.append(memory, self.columns.rows if revision is None else revision)
            yield from self._index(row, memory, terms)
            self._link(row, memory)
        else:
            old = self.records.get(old_row)
            self.lookup.drop(old_row, old)
            if old.body != memory.body and isinstance(memory.body, Episode):
                self._chats.forget()
            same_text = old.body == memory.body or indexed_text(old.body) == indexed_text(memory.body)
            stale = old.body != memory.body and embedded_text(old.body) != embedded_text(memory.body)
            if old_row in self._has_vectors and (stale or brings_vectors):
                row = yield from self._move(old_row, old, memory, terms)
                yield from self._index(row, memory, terms)
            else:
                row = old_row
                self.columns.write(row, memory)
                if not same_text:
                    yield from self.keywords.removing(row, _terms_of(old, terms))
                    yield from self._index(row, memory, terms)
            if stale:
                self.columns.judge(row, NO_FEEDBACK)
        self.records.put(row, memory)
        self.lookup.put(row, memory)
        self._note_due(row, memory)
        if isinstance(memory.body, Entity):
            self._speaking = None

    def _index(self, row: int, memory: Memory, terms: Terms) -> Iterator[None]:
        yield from self.keywords.adding(row, _terms_of(memory, terms))
        if isinstance(memory.body, Episode):
            self._speakers = self._speaking = None

    def _link(self, row: int, memory: Memory) -> None:
        """Put a new episode at the end of its session."""
        if not isinstance(memory.body, Episode):
            return
        if memory.scope.session:
            session = int(self._column("session")[row])
            self._last_episode[session] = row
            self._chats.note(session, int(self._column("speaker")[row]), int(self._column("traits")[row]))
        previous = self.lookup.rows.get(memory.body.follows) if memory.body.follows else None
        if previous is not None:
            self.columns.follow(row, previous)

    def _move(self, old_row: int, old: Memory, memory: Memory, terms: Terms) -> Generator[None, None, int]:
        """A new row for a memory that is there already."""
        session = int(self._column("session")[old_row])
        row = self.columns.append(memory, int(self._column("birth")[old_row]))
        self.columns.move(old_row, row)
        yield from self._retire(old_row, old, terms)
        if self._last_episode.get(session) == old_row:
            self._last_episode[session] = row
        return row

    def _retire(self, row: int, memory: Memory, terms: Terms) -> Iterator[None]:
        """Take a row out of the indexes."""
        self.records.drop(row)
        yield from self.keywords.removing(row, _terms_of(memory, terms))
        if row in self._has_vectors:
            self.vectors.remove(row)
            self._has_vectors.discard(row)

    def _purge(self, memory_id: str, terms: Terms) -> Iterator[None]:
        row = self.lookup.rows.get(memory_id)
        if row is None:
            return
        memory = self.records.get(row)
        session = int(self._column("session")[row])
        self.lookup.drop(row, memory)
        self.columns.erase(row)
        yield from self._retire(row, memory, terms)
        self.due.pop(memory_id, None)
        if isinstance(memory.body, Episode):
            self._speakers = None
            self._chats.forget()
        self._speaking = None
        # The session ends with the newest episode that is left, as it would after a replay without this one.
        if self._last_episode.get(session) == row:
            newest = self._newest_episode(session, [])
            if newest is None:
                del self._last_episode[session]
            else:
                self._last_episode[session] = newest

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
        parts: dict[str, Columns | KeywordIndex | Lookup | Records | Conflicts] = {
            "columns": self.columns,
            "keywords": self.keywords,
            "lookup": self.lookup,
            "records": self.records,
            "conflicts": self.conflicts,
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
        self.conflicts.restore(part("conflicts"))
        self._has_vectors = set(arrays["has_vectors"].tolist())
        self._last_episode = {int(session): int(row) for session, row in arrays["last_episode"]}
        self.lookup = Lookup.restore(part("lookup"), _created_in(self.columns))
        self._chats.forget()
        due = np.array(self.columns["live"], dtype=np.bool_)
        due[np.asarray(self.columns["discovered"], dtype=np.bool_)] = False
        due[self.columns["state"] == int(State.DELETED)] = False
        due[arrays["has_vectors"]] = False
        self.due = {self.records.get(row).id: None for row in np.flatnonzero(due).tolist()}
        self.head = head


def _terms_of(memory: Memory, terms: Terms) -> Counter[str]:
    text = indexed_text(memory.body)
    known = terms.get(text) if terms else None
    return token_counts(text) if known is None else known


def _created_in(columns: Columns) -> Callable[[int], int]:
    """Not a method: a partition that holds on to itself would leave memory only when the collector comes by."""

    def created(row: int) -> int:
        times: Any = columns["created"]
        return int(times[row])

    return created
