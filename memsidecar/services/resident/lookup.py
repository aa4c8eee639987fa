"""The dictionaries of a partition: from ids, contents, names, entities and labels to rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.fold import Relation, edges_of
from memsidecar.domain.memory import Entity, Memory, State
from memsidecar.domain.view import entity_keys
from memsidecar.services.resident.packing import pack_rows, pack_strings, unpack_rows, unpack_strings

_DICT_ENTRY = 110  # a dictionary slot with its key and value, as measured with small strings and integers


class Lookup:
    """Where a memory is found. `put` and `drop` keep it exact for the newest version of every memory."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        # 8 bytes of the digest as a number: a third of the size of a bytes key. The reader compares the rest.
        self._digests: dict[int, int] = {}
        self._names: dict[str, str] = {}
        self._entities: dict[str, array[int]] = {}
        self._labels: dict[tuple[str, str], array[int]] = {}
        self._postings = 0

    @property
    def nbytes(self) -> int:
        slots = len(self.rows) + len(self._digests) + len(self._names) + len(self._entities) + len(self._labels)
        return slots * _DICT_ENTRY + len(self.rows) * 40 + self._postings * 5

    def put(self, row: int, memory: Memory) -> None:
        self.rows[memory.id] = row
        for group, key in self._keys(memory):
            found = group.get(key)
            if found is None:
                group[key] = array("I", (row,))
            else:
                found.append(row)
            self._postings += 1
        if memory.state is State.DELETED:
            return
        if memory.digest:
            self._digests[_short(memory.digest)] = row
        if isinstance(memory.body, Entity):
            for name in entity_keys(memory.body):
                self._names.setdefault(name, memory.id)

    def drop(self, row: int, memory: Memory) -> None:
        """Take out what `put` entered for this version."""
        if self.rows.get(memory.id) == row:
            del self.rows[memory.id]
        if memory.digest and self._digests.get(_short(memory.digest)) == row:
            del self._digests[_short(memory.digest)]
        if isinstance(memory.body, Entity):
            for name in entity_keys(memory.body):
                if self._names.get(name) == memory.id:
                    del self._names[name]
        for group, key in self._keys(memory):
            found = group.get(key)
            if found is not None and row in found:
                found.remove(row)
                self._postings -= 1

    def by_digest(self, digest: bytes) -> int | None:
        return self._digests.get(_short(digest))

    def by_name(self, key: str) -> str | None:
        return self._names.get(key)

    def names(self) -> Mapping[str, str]:
        """Entity key -> entity id."""
        return self._names

    def about(self, entity_id: str) -> NDArray[np.uint32]:
        """Rows that mention, or are about, an entity, oldest first."""
        found = self._entities.get(entity_id)
        return np.array(found, dtype=np.uint32) if found is not None else np.zeros(0, dtype=np.uint32)

    def labelled(self, key: str, value: str) -> NDArray[np.uint32]:
        found = self._labels.get((key, value))
        return np.array(found, dtype=np.uint32) if found is not None else np.zeros(0, dtype=np.uint32)

    def dump(self) -> Mapping[str, NDArray[np.generic]]:
        """Everything, as arrays: made again from the records it would take a decoding of each."""
        entity_sizes, entity_rows = pack_rows([*self._entities.values()])
        label_sizes, label_rows = pack_rows([*self._labels.values()])
        return {
            "ids": pack_strings(self.rows),
            "rows": np.fromiter(self.rows.values(), dtype=np.int32, count=len(self.rows)),
            "digests": np.fromiter(self._digests, dtype=np.int64, count=len(self._digests)),
            "digest_rows": np.fromiter(self._digests.values(), dtype=np.int32, count=len(self._digests)),
            "names": pack_strings(self._names),
            "named": pack_strings(self._names.values()),
            "entities": pack_strings(self._entities),
            "entity_sizes": entity_sizes,
            "entity_rows": entity_rows,
            "labels": pack_strings(part for label in self._labels for part in label),
            "label_sizes": label_sizes,
            "label_rows": label_rows,
        }

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Lookup:
        """What `dump` wrote."""
        lookup = cls()
        lookup.rows = dict(zip(unpack_strings(arrays["ids"]), arrays["rows"].tolist(), strict=True))
        lookup._digests = dict(zip(arrays["digests"].tolist(), arrays["digest_rows"].tolist(), strict=True))
        lookup._names = dict(zip(unpack_strings(arrays["names"]), unpack_strings(arrays["named"]), strict=True))
        about = unpack_rows(arrays["entity_sizes"], arrays["entity_rows"])
        lookup._entities = dict(zip(unpack_strings(arrays["entities"]), about, strict=True))
        labels = unpack_strings(arrays["labels"])
        labelled = unpack_rows(arrays["label_sizes"], arrays["label_rows"])
        lookup._labels = dict(zip(zip(labels[::2], labels[1::2], strict=True), labelled, strict=True))
        lookup._postings = len(arrays["entity_rows"]) + len(arrays["label_rows"])
        return lookup

    def _keys(self, memory: Memory) -> Iterable[tuple[dict, object]]:  # type: ignore[type-arg]
        for edge in edges_of(memory):
            if edge.relation in (Relation.MENTIONS, Relation.ABOUT):
                yield self._entities, edge.target
        for label in memory.labels.items():
            yield self._labels, label


def _short(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "little", signed=True)
