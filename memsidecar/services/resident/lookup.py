"""The dictionaries of a partition: from ids, contents, names, entities and labels to rows."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.fold import Relation, edges_of
from memsidecar.domain.memory import Entity, Memory, State
from memsidecar.domain.reading import sources_of
from memsidecar.domain.slots import slot_of
from memsidecar.domain.text import entity_key
from memsidecar.domain.view import called_keys, entity_keys, named_keys
from memsidecar.services.resident.packing import pack_rows, pack_strings, unpack_rows, unpack_strings

_DICT_ENTRY = 110  # a dictionary slot with its key and value, as measured with small strings and integers

Key = TypeVar("Key", bound=Hashable)


class Postings(dict[Key, "array[int]"]):
    """Key -> its rows in increasing order; a key without rows is not there."""

    def insert(self, key: Key, row: int) -> bool:
        """Whether the row was new."""
        rows = self.get(key)
        if rows is None:
            self[key] = array("I", (row,))
        elif rows[-1] < row:
            rows.append(row)
        else:
            place = bisect_left(rows, row)
            if rows[place] == row:
                return False
            rows.insert(place, row)
        return True

    def remove(self, key: Key, row: int) -> bool:
        """Whether the row was there."""
        rows = self.get(key)
        place = bisect_left(rows, row) if rows is not None else 0
        if rows is None or place == len(rows) or rows[place] != row:
            return False
        del rows[place]
        if not rows:
            del self[key]
        return True

    def rows(self, key: Key) -> NDArray[np.uint32]:
        found = self.get(key)
        return np.array(found, dtype=np.uint32) if found is not None else np.zeros(0, dtype=np.uint32)


class Lookup:
    """Where a memory is found. `put` and `drop` keep it exact for the newest version of every memory.

    `created` gives the time of creation of a row: of several entities with one name the oldest is found.
    """

    def __init__(self, created: Callable[[int], int]) -> None:
        self.rows: dict[str, int] = {}
        self._created = created
        # 8 bytes of the digest as a number: a third of the size of a bytes key. The reader compares the rest.
        # Nearly always one row has a content, and one entity a name; the others are kept apart.
        self._digests: dict[int, int] = {}
        self._same_digest: dict[int, list[int]] = {}
        self._names: dict[str, str] = {}
        self._same_name: dict[str, list[str]] = {}
        # Names that are no key of a live entity's: of those that are deleted or merged, and without a letter or digit.
        self._aside: dict[str, list[str]] = {}
        self._entities: Postings[str] = Postings()
        self._labels: Postings[tuple[str, str]] = Postings()
        self._slots: Postings[tuple[str, str]] = Postings()
        # By the memory that they were read from.
        self._readings: Postings[str] = Postings()
        self._postings = 0

    @property
    def nbytes(self) -> int:
        entries = len(self.rows) + len(self._digests) + len(self._names) + len(self._entities) + len(self._labels)
        return (
            (entries + len(self._slots) + len(self._readings)) * _DICT_ENTRY + len(self.rows) * 40 + self._postings * 5
        )

    def put(self, row: int, memory: Memory) -> None:
        self.rows[memory.id] = row
        entities, labels = _keys(memory)
        self._postings += sum(self._entities.insert(entity, row) for entity in entities)
        self._postings += sum(self._labels.insert(label, row) for label in labels)
        if (slot := slot_of(memory)) is not None:
            self._postings += self._slots.insert((slot.subject, slot.family), row)
        self._postings += sum(self._readings.insert(source, row) for source in sources_of(memory))
        for name in _aside(memory):
            self._aside.setdefault(name, []).append(memory.id)
        if memory.state is State.DELETED:
            return
        if memory.digest:
            short = _short(memory.digest)
            if self._digests.setdefault(short, row) != row:
                self._same_digest.setdefault(short, []).append(row)
        for name in named_keys(memory):
            first = self._names.setdefault(name, memory.id)
            if first != memory.id:
                self._same_name.setdefault(name, [first]).append(memory.id)
                self._choose(name)

    def drop(self, row: int, memory: Memory) -> None:
        """Take out what `put` entered for this version."""
        if memory.digest:
            self._drop_digest(_short(memory.digest), row)
        if isinstance(memory.body, Entity):
            for name in entity_keys(memory.body):
                self._drop_name(name, memory.id)
        for name in _aside(memory):
            self._drop_aside(name, memory.id)
        if self.rows.get(memory.id) == row:
            del self.rows[memory.id]
        entities, labels = _keys(memory)
        self._postings -= sum(self._entities.remove(entity, row) for entity in entities)
        self._postings -= sum(self._labels.remove(label, row) for label in labels)
        if (slot := slot_of(memory)) is not None:
            self._postings -= self._slots.remove((slot.subject, slot.family), row)
        self._postings -= sum(self._readings.remove(source, row) for source in sources_of(memory))

    def _drop_digest(self, short: int, row: int) -> None:
        others = self._same_digest.get(short)
        if others is None:
            if self._digests.get(short) == row:
                del self._digests[short]
            return
        if self._digests[short] == row:
            self._digests[short] = others.pop()
        elif row in others:
            others.remove(row)
        if not others:
            del self._same_digest[short]

    def _drop_name(self, name: str, memory_id: str) -> None:
        sharing = self._same_name.get(name)
        if sharing is None:
            if self._names.get(name) == memory_id:
                del self._names[name]
        elif memory_id in sharing:
            sharing.remove(memory_id)
            self._choose(name)
            if len(sharing) == 1:
                del self._same_name[name]

    def _drop_aside(self, name: str, memory_id: str) -> None:
        having = self._aside.get(name)
        if having is not None and memory_id in having:
            having.remove(memory_id)
            if not having:
                del self._aside[name]

    def _choose(self, name: str) -> None:
        self._names[name] = min(self._same_name[name], key=lambda i: (self._created(self.rows[i]), i))

    def by_digest(self, digest: bytes) -> list[int]:
        """Rows that may have that content."""
        short = _short(digest)
        first = self._digests.get(short)
        return [] if first is None else [first, *self._same_digest.get(short, ())]

    def by_name(self, key: str) -> str | None:
        return self._names.get(key)

    def sharing(self, key: str) -> Iterable[str]:
        """All entities with that name."""
        first = self._names.get(key)
        return () if first is None else self._same_name.get(key, (first,))

    def called(self, key: str) -> Iterable[str]:
        """All entities, of every state, with a name of that value key."""
        live = (self.sharing(f"{article}{key}") for article in ("", "a ", "an ", "the "))
        return dict.fromkeys(i for ids in (*live, self._aside.get(key, ())) for i in ids)

    def names(self) -> Mapping[str, str]:
        """Entity key -> entity id."""
        return self._names

    def about(self, entity_id: str) -> NDArray[np.uint32]:
        """Rows that mention, or are about, an entity, in increasing order."""
        return self._entities.rows(entity_id)

    def about_count(self, entity_id: str) -> int:
        """How many rows `about` gives."""
        return len(self._entities.get(entity_id, ()))

    def labelled(self, key: str, value: str) -> NDArray[np.uint32]:
        return self._labels.rows((key, value))

    def in_slot(self, subject: str, family: str) -> NDArray[np.uint32]:
        """Rows of that slot's family, whatever their state, in increasing order."""
        return self._slots.rows((subject, family))

    def read_from(self, memory_id: str) -> list[int]:
        """Rows of the facts and preferences that were read from a memory, whatever their state, in increasing order."""
        return list(self._readings.get(memory_id, ()))

    def slots_by_memory(self) -> Mapping[str, tuple[str, str]]:
        """Memory id -> (subject, family) of its slot; looks at all memories."""
        ids = {row: memory_id for memory_id, row in self.rows.items()}
        return {ids[row]: slot for slot, rows in self._slots.items() for row in rows if row in ids}

    def dump(self) -> Mapping[str, NDArray[np.generic]]:
        """Everything, as arrays: made again from the records it would take a decoding of each."""
        same_digest = [(short, row) for short, rows in self._same_digest.items() for row in rows]
        aside = [part for name, ids in self._aside.items() for i in ids for part in (name, i)]
        same_name = [part for name, ids in self._same_name.items() for i in ids for part in (name, i)]
        entity_sizes, entity_rows = pack_rows([*self._entities.values()])
        label_sizes, label_rows = pack_rows([*self._labels.values()])
        slot_sizes, slot_rows = pack_rows([*self._slots.values()])
        reading_sizes, reading_rows = pack_rows([*self._readings.values()])
        return {
            "ids": pack_strings(self.rows),
            "rows": np.fromiter(self.rows.values(), dtype=np.int32, count=len(self.rows)),
            "digests": np.fromiter(self._digests, dtype=np.int64, count=len(self._digests)),
            "digest_rows": np.fromiter(self._digests.values(), dtype=np.int32, count=len(self._digests)),
            "same_digest": np.array(same_digest, dtype=np.int64).reshape(-1, 2),
            "names": pack_strings(self._names),
            "named": pack_strings(self._names.values()),
            "same_name": pack_strings(same_name),
            "aside": pack_strings(aside),
            "entities": pack_strings(self._entities),
            "entity_sizes": entity_sizes,
            "entity_rows": entity_rows,
            "labels": pack_strings(part for label in self._labels for part in label),
            "label_sizes": label_sizes,
            "label_rows": label_rows,
            "slots": pack_strings(part for slot in self._slots for part in slot),
            "slot_sizes": slot_sizes,
            "slot_rows": slot_rows,
            "readings": pack_strings(self._readings),
            "reading_sizes": reading_sizes,
            "reading_rows": reading_rows,
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[np.generic]], created: Callable[[int], int]) -> Lookup:
        """What `dump` wrote."""
        lookup = cls(created)
        lookup.rows = dict(zip(unpack_strings(arrays["ids"]), arrays["rows"].tolist(), strict=True))
        lookup._digests = dict(zip(arrays["digests"].tolist(), arrays["digest_rows"].tolist(), strict=True))
        for short, row in arrays["same_digest"].tolist():
            lookup._same_digest.setdefault(short, []).append(row)
        lookup._names = dict(zip(unpack_strings(arrays["names"]), unpack_strings(arrays["named"]), strict=True))
        same = unpack_strings(arrays["same_name"])
        for name, memory_id in zip(same[::2], same[1::2], strict=True):
            lookup._same_name.setdefault(name, []).append(memory_id)
        aside = unpack_strings(arrays["aside"])
        for name, memory_id in zip(aside[::2], aside[1::2], strict=True):
            lookup._aside.setdefault(name, []).append(memory_id)
        about = unpack_rows(arrays["entity_sizes"], arrays["entity_rows"])
        lookup._entities.update(zip(unpack_strings(arrays["entities"]), about, strict=True))
        labels = unpack_strings(arrays["labels"])
        labelled = unpack_rows(arrays["label_sizes"], arrays["label_rows"])
        lookup._labels.update(zip(zip(labels[::2], labels[1::2], strict=True), labelled, strict=True))
        slots = unpack_strings(arrays["slots"])
        slotted = unpack_rows(arrays["slot_sizes"], arrays["slot_rows"])
        lookup._slots.update(zip(zip(slots[::2], slots[1::2], strict=True), slotted, strict=True))
        readings = unpack_rows(arrays["reading_sizes"], arrays["reading_rows"])
        lookup._readings.update(zip(unpack_strings(arrays["readings"]), readings, strict=True))
        lookup._postings = sum(len(arrays[f"{name}_rows"]) for name in ("entity", "label", "slot", "reading"))
        return lookup


def _keys(memory: Memory) -> tuple[Iterable[str], Iterable[tuple[str, str]]]:
    """The entities that a memory is found by, each once, and its labels."""
    relations = (Relation.MENTIONS, Relation.ABOUT)
    return dict.fromkeys(e.target for e in edges_of(memory) if e.relation in relations), memory.labels.items()


def _aside(memory: Memory) -> Iterable[str]:
    """The value keys of an entity's names that its live names do not lead to."""
    if not isinstance(memory.body, Entity):
        return ()
    keys = called_keys(memory.body)
    return [key for key in keys if not entity_key(key)] if named_keys(memory) else keys


def _short(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "little", signed=True)
