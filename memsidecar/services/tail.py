"""The newest changes of a partition, in memory, for all who watch it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import islice
from typing import Any

from memsidecar.domain.events import NO_VECTORS, ConflictRecorded, Entry, MemoryPurged, MemoryRecorded, VectorsRecorded
from memsidecar.domain.memory import Memory

# What is held of each watched partition, whoever reads it and however slowly: entries, and bytes of their texts.
MOST_ENTRIES = 512
MOST_BYTES = 256 * 1024
# Entries given to one watcher at once: it may keep them for as long as it does not read.
AT_ONCE = 64
# What an entry takes beside its texts, roughly.
_ENTRY_BYTES = 1024
# What each memory of a conflict adds.
_PART_BYTES = 160


class Reader:
    """One watcher's place: `page` is what it looks at next, `woken` is set at every commit.

    What is purged while it waits in the page is erased there, as it is in the ledger.
    """

    __slots__ = ("_gone", "_is_reading", "page", "woken")

    def __init__(self) -> None:
        self.page: deque[Entry] = deque()
        self.woken = asyncio.Event()
        self._is_reading = False
        self._gone: dict[str, int] = {}

    def begin(self) -> None:
        """A page is being read: what is purged until it is turned to is not in it."""
        self._is_reading = True

    def turn_to(self, entries: Iterable[Entry]) -> None:
        self.page = deque(entries)
        self._erase(self._gone)
        self._is_reading = False
        self._gone = {}

    def purge(self, gone: Mapping[str, int]) -> None:
        """Erase entries of these memories before the revisions of their purges."""
        if self._is_reading:
            self._gone.update(gone)
        self._erase(gone)

    def _erase(self, gone: Mapping[str, int]) -> None:
        for place, entry in enumerate(self.page):
            if entry.revision < gone.get(entry.subject, 0):
                self.page[place] = replace(entry, event=None)


class Tail:
    """A listener of Changes. `newest` is the newest revision that is known to be there, `dropped` the newest one that
    there was no room for any more."""

    def __init__(self) -> None:
        self.newest = 0
        self.dropped = 0
        self._held: deque[tuple[Entry, int]] = deque()
        self._nbytes = 0
        self._readers: set[Reader] = set()

    @property
    def nbytes(self) -> int:
        return self._nbytes

    def __call__(self, entries: Sequence[Entry]) -> None:
        """Hold what has been committed, without its vectors, and wake who waits."""
        if self._held and entries[0].revision != self._held[-1][0].revision + 1:
            self._held.clear()
            self._nbytes = 0
        for entry in entries[-MOST_ENTRIES:]:  # of more, the first would be dropped at once
            bare = _without_vectors(entry)
            size = size_of(bare)
            self._held.append((bare, size))
            self._nbytes += size
        if len(entries) > MOST_ENTRIES:
            self.dropped = entries[-MOST_ENTRIES].revision - 1
        while self._held and (len(self._held) > MOST_ENTRIES or self._nbytes > MOST_BYTES):
            self._drop()
        if gone := {e.subject: e.revision for e in entries if isinstance(e.event, MemoryPurged)}:
            self._purge(gone)
        self.newest = max(self.newest, entries[-1].revision)
        self.wake()

    def after(self, revision: int) -> Sequence[Entry] | None:
        """What follows a revision, without a gap, or the beginning of it; None when it is not held."""
        if revision >= self.newest:
            return ()
        if not self._held or not self._held[0][0].revision <= revision + 1 <= self._held[-1][0].revision:
            return None
        skipped = revision + 1 - self._held[0][0].revision
        return [entry for entry, _ in islice(self._held, skipped, skipped + AT_ONCE)]

    def join(self) -> Reader:
        """A place of its own for one watcher, until `part`."""
        reader = Reader()
        self._readers.add(reader)
        return reader

    def part(self, reader: Reader) -> bool:
        """Whether nobody is left."""
        self._readers.discard(reader)
        return not self._readers

    def wake(self) -> None:
        for reader in self._readers:
            reader.woken.set()

    def _drop(self) -> None:
        entry, size = self._held.popleft()
        self._nbytes -= size
        self.dropped = entry.revision

    def _purge(self, gone: Mapping[str, int]) -> None:
        for place, (entry, size) in enumerate(self._held):
            if entry.revision < gone.get(entry.subject, 0):
                self._held[place] = (replace(entry, event=None), _ENTRY_BYTES)
                self._nbytes += _ENTRY_BYTES - size
        for reader in self._readers:
            reader.purge(gone)


def size_of(entry: Entry) -> int:
    """Bytes that an entry without vectors takes in memory, roughly."""
    match entry.event:
        case MemoryRecorded(memory=memory):
            return _ENTRY_BYTES + _chars(memory)
        case ConflictRecorded(conflict=conflict):
            parts = len(conflict.memories) + len(conflict.losers) + len(conflict.before) + len(conflict.evidence)
            return _ENTRY_BYTES + _PART_BYTES * parts + len(conflict.reason)
        case _:
            return _ENTRY_BYTES


def _without_vectors(entry: Entry) -> Entry:
    match entry.event:
        case MemoryRecorded(vectors=vectors) as recorded if vectors is not None:
            return replace(entry, event=replace(recorded, vectors=None))
        case VectorsRecorded(memory_id=memory_id):
            return replace(entry, event=VectorsRecorded(memory_id, NO_VECTORS))
        case _:
            return entry


def _chars(memory: Memory) -> int:
    parts = [memory.body, *memory.provenance]
    labels = sum(len(key) + len(value) for key, value in memory.labels.items())
    return labels + len(memory.attributes) + sum(_length(getattr(p, f.name)) for p in parts for f in fields(p))


def _length(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(len, value)) if isinstance(value, tuple) else 0
