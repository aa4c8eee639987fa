"""Record columns as growing numpy arrays, one element a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.conflicts.chain import end_of
from memsidecar.domain.diversity import fold_number
from memsidecar.domain.feedback import Feedback
from memsidecar.domain.meeting import USUAL_STATES
from memsidecar.domain.memory import Entity, Episode, Memory, State
from memsidecar.domain.reading import sources_of
from memsidecar.domain.slot_places import Sought, place_of
from memsidecar.domain.slots import slot_of
from memsidecar.domain.traits import traits
from memsidecar.domain.usage import Access, Usage
from memsidecar.services.resident.packing import pack_strings, unpack_strings

NEVER = np.iinfo(np.int64).max
NO_ROW = -1
MOST_ACCESSES = 2**31

# Name -> type. Times are microseconds; `agent`, `session` and `speaker` are interned strings (0 is the empty one);
# `previous` and `following` are the rows of the neighbouring episodes of the session; `traits` is a Trait;
# `mentions` counts the entities that a row mentions, `chunks` its vectors (0: none yet), each up to the type's most.
# `usefulness` follows from the three counts of verdicts before it; `accesses` and `accessed` are how often and when
# last a memory was recalled. `superseded` is when another memory takes or took its place; `derived` marks what was
# read from another memory. `begins`, `value`, `words` and `negated` are where it stands in its slot's family
# (`domain/slot_places.py`). `fold` is equal for memories that may say the same (`domain/diversity.py`).
_TYPES: Mapping[str, type[np.generic]] = {
    "created": np.int64,
    "said": np.int64,
    "expires": np.int64,
    "superseded": np.int64,
    "valid_from": np.int64,
    "valid_to": np.int64,
    "begins": np.int64,
    "value": np.int64,
    "words": np.int64,
    "negated": np.bool_,
    "fold": np.uint64,
    "birth": np.int64,
    "importance": np.float32,
    "confidence": np.float32,
    "kind": np.uint8,
    "state": np.uint8,
    "agent": np.int32,
    "session": np.int32,
    "speaker": np.int32,
    "previous": np.int32,
    "following": np.int32,
    "chunks": np.uint16,
    "traits": np.uint8,
    "mentions": np.uint8,
    "live": np.bool_,
    "discovered": np.bool_,
    "derived": np.bool_,
    "recallable": np.bool_,
    "used": np.uint32,
    "ignored": np.uint32,
    "wrong": np.uint32,
    "usefulness": np.float32,
    "accesses": np.uint32,
    "accessed": np.int64,
}
_FILL: Mapping[str, int] = {
    "previous": NO_ROW,
    "following": NO_ROW,
    "expires": NEVER,
    "superseded": -NEVER,
    "valid_from": -NEVER,
    "valid_to": NEVER,
}
# What belongs to a memory and not to one version of it.
_CARRIED = ("used", "ignored", "wrong", "usefulness", "accesses", "accessed")
# Not a matter of the ledger: kept by the access store, and never in a snapshot.
_ELSEWHERE = frozenset({"accesses", "accessed"})
# States that a recall returns unless asked otherwise.
RECALLABLE_STATES = USUAL_STATES


class Strings:
    """Strings as small numbers; the empty one is 0."""

    def __init__(self, known: list[str] | None = None) -> None:
        self._known = known or [""]
        self._numbers = {text: number for number, text in enumerate(self._known) if text or not number}

    def number(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._known)
            self._known.append(text)
        return found

    def find(self, text: str) -> int | None:
        return self._numbers.get(text)

    def __len__(self) -> int:
        return len(self._known)

    def used(self, numbers: NDArray[np.generic]) -> list[str]:
        """All strings in the order of their numbers, empty where the number does not occur."""
        occurs = np.zeros(len(self._known), dtype=np.bool_)
        occurs[numbers.astype(np.intp)] = True
        return [text if known else "" for text, known in zip(self._known, occurs.tolist(), strict=True)]


class Columns:
    """The columns of a partition. `row(n)` writes; the attributes are views of the rows so far."""

    def __init__(self) -> None:
        self.rows = 0
        self._arrays: dict[str, NDArray[np.generic]] = {n: np.zeros(0, dtype=t) for n, t in _TYPES.items()}
        self.agents, self.sessions, self.speakers = Strings(), Strings(), Strings()
        self.first_expiry: int = NEVER
        self.last_superseding: int = -NEVER

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        return self._arrays[name][: self.rows]

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in self._arrays.values())

    def append(self, memory: Memory, birth: int) -> int:
        """A new row for a memory; its number."""
        row = self.rows
        capacity = len(self._arrays["live"])
        if row == capacity:
            grown = max(64, capacity + capacity // 2)
            for name, old in self._arrays.items():
                new = np.full(grown, _FILL.get(name, 0), dtype=_TYPES[name])
                new[:row] = old[:row]
                self._arrays[name] = new
        self.rows = row + 1
        self._arrays["birth"][row] = birth
        self._arrays["live"][row] = True
        self.write(row, memory)
        return row

    def write(self, row: int, memory: Memory) -> None:
        """Bring a row up to date with a version of its memory."""
        a = self._arrays
        entity = isinstance(memory.body, Entity)
        discovered = isinstance(memory.body, Entity) and memory.body.discovered
        a["created"][row] = memory.created_at
        a["said"][row] = memory.said_at
        a["expires"][row] = NEVER if memory.expires_at is None else memory.expires_at
        superseded_at = memory.superseded_at if memory.state is State.SUPERSEDED else None
        a["superseded"][row] = -NEVER if superseded_at is None else superseded_at
        a["valid_from"][row] = -NEVER if memory.valid_from is None else memory.valid_from
        ends = end_of(memory)
        a["valid_to"][row] = NEVER if ends is None else ends
        a["fold"][row] = fold_number(memory)
        if (slot := slot_of(memory)) is not None:
            place = place_of(memory, slot)
            a["begins"][row], a["value"][row] = place.begins, place.value
            a["words"][row], a["negated"][row] = place.words, place.negated
        a["importance"][row] = memory.importance
        a["confidence"][row] = memory.confidence
        a["kind"][row] = memory.kind
        a["state"][row] = memory.state
        a["agent"][row] = self.agents.number(memory.scope.agent)
        a["session"][row] = self.sessions.number(memory.scope.session)
        a["discovered"][row] = entity and discovered
        a["recallable"][row] = memory.state in RECALLABLE_STATES and not discovered
        a["derived"][row] = bool(sources_of(memory))
        a["traits"][row] = traits(memory.body)
        a["mentions"][row] = min(len(memory.mentions), 255)
        if isinstance(memory.body, Episode):
            a["speaker"][row] = self.speakers.number(memory.body.speaker)
        if memory.expires_at is not None:
            self.first_expiry = min(self.first_expiry, memory.expires_at)
        if superseded_at is not None:
            self.last_superseding = max(self.last_superseding, superseded_at)

    def fitting(self, rows: NDArray[np.uint32], sought: Sought) -> NDArray[np.uint32]:
        """Those of the rows of one slot's family that are sought."""
        if not len(rows):
            return rows
        a: Mapping[str, NDArray[Any]] = self._arrays
        fits = np.ones(len(rows), dtype=np.bool_)
        if sought.values is not None:
            values = a["value"][rows]
            fits &= np.logical_or.reduce([values == value for value in sought.values])
        if sought.words:
            fits &= (a["words"][rows] & np.int64(sought.words)) != 0
        if sought.negated is not None:
            fits &= a["negated"][rows] == sought.negated
        if sought.superseded is not None:
            fits &= (a["state"][rows] == int(State.SUPERSEDED)) == sought.superseded
        if sought.until is not None:
            fits &= a["begins"][rows] <= sought.until
        if sought.since is not None:
            fits &= a["valid_to"][rows] >= sought.since
        return rows[fits]

    def move(self, old: int, row: int) -> None:
        """The memory of `old` lives in `row` from now on: its neighbours follow it, `old` is erased."""
        previous, following = int(self._arrays["previous"][old]), int(self._arrays["following"][old])
        if previous != NO_ROW:
            self.follow(row, previous)
        if following != NO_ROW:
            self.follow(following, row)
        for name in _CARRIED:
            self._arrays[name][row] = self._arrays[name][old]
        self.erase(old)

    def erase(self, row: int) -> None:
        """The row's memory has moved or is purged: nothing that it held stays, and no neighbour points at it."""
        a = self._arrays
        previous, following = int(a["previous"][row]), int(a["following"][row])
        if previous != NO_ROW and a["following"][previous] == row:
            a["following"][previous] = NO_ROW
        if following != NO_ROW and a["previous"][following] == row:
            a["previous"][following] = NO_ROW
        for name, array in a.items():
            array[row] = _FILL.get(name, 0)

    def feedback(self, row: int) -> Feedback:
        a = self._arrays
        return Feedback(int(a["used"][row]), int(a["ignored"][row]), int(a["wrong"][row]))

    def judge(self, row: int, feedback: Feedback) -> None:
        """Set the verdicts on a row's memory."""
        a = self._arrays
        a["used"][row], a["ignored"][row], a["wrong"][row] = feedback.used, feedback.ignored, feedback.wrong
        a["usefulness"][row] = feedback.usefulness

    def touch(self, rows: Sequence[int], now: int) -> None:
        """Count a recall of each of these rows, no row twice."""
        places, counts = np.array(rows, dtype=np.intp), self._arrays["accesses"]
        counts[places] = np.add(counts[places], 1, dtype=np.uint32)
        self._arrays["accessed"][places] = now

    def set_accesses(self, accesses: Mapping[int, Access]) -> None:
        """Replace the counts of all rows; a row that is left out was never recalled."""
        counts, times = self._arrays["accesses"], self._arrays["accessed"]
        counts[:], times[:] = 0, 0
        for row, access in accesses.items():
            counts[row], times[row] = min(access.times, MOST_ACCESSES), access.last

    def usage(self, row: int) -> Usage:
        a = self._arrays
        count = int(a["accesses"][row])
        return Usage(count, int(a["accessed"][row]) if count else None, float(a["usefulness"][row]))

    def set_chunks(self, row: int, count: int) -> None:
        self._arrays["chunks"][row] = min(count, 0xFFFF)

    def follow(self, row: int, previous: int) -> None:
        self._arrays["previous"][row] = previous
        self._arrays["following"][previous] = row

    def dump(self) -> dict[str, NDArray[np.generic]]:
        arrays = {name: self[name].copy() for name in _TYPES if name not in _ELSEWHERE}
        for column, strings in self._strings():
            # Those of purged memories only are left behind.
            arrays[f"{column}_strings"] = pack_strings(strings.used(self[column]))
        return arrays

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Columns:
        columns = cls()
        columns.rows = len(arrays["live"])
        known = {**arrays, **dict.fromkeys(_ELSEWHERE, np.zeros(columns.rows))}
        columns._arrays = {name: np.array(known[name], dtype=_TYPES[name]) for name in _TYPES}
        columns.agents, columns.sessions, columns.speakers = (
            Strings(unpack_strings(arrays[f"{column}_strings"])) for column, _ in columns._strings()
        )
        columns.first_expiry = int(columns["expires"].min()) if columns.rows else NEVER
        columns.last_superseding = int(columns["superseded"].max()) if columns.rows else -NEVER
        return columns

    def _strings(self) -> tuple[tuple[str, Strings], ...]:
        return ("agent", self.agents), ("session", self.sessions), ("speaker", self.speakers)
