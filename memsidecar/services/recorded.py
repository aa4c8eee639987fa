"""What a write was answered, kept with it in the ledger: whoever sends it again gets it again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from memsidecar.domain.conflict import Conflict
from memsidecar.domain.draft import Action, Declined, Outcome
from memsidecar.domain.errors import ConflictRejected, InvalidField, SidecarError
from memsidecar.domain.events import ConflictRecorded, Event, MemoryRecorded
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition
from memsidecar.ports.ledger import Ledger

Result: TypeAlias = Outcome | Conflict | int | SidecarError | None
"""What a command did: to one memory, an outcome, or None when it is gone; to a conflict; to so many memories; or the
error of that item alone."""

_Stored: TypeAlias = dict[str, Any]
_Places: TypeAlias = Mapping[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class Answer:
    """Results in the order of the command's items, and the revision that shows them."""

    results: tuple[Result, ...]
    revision: int


def encode(results: Sequence[Result], events: Sequence[Event], start: int, revision: int) -> bytes:
    """An answer whose events come after the revision `start`. It refers to memories and conflicts by the place in the
    ledger, so that what is purged is purged from it."""
    # A request may touch one memory more than once: each result has the version that it was given.
    places = {}
    for place, event in enumerate(events, start + 1):
        match event:
            case MemoryRecorded(memory=memory):
                places[memory.id, memory.version] = place
            case ConflictRecorded(conflict=conflict):
                places[conflict.id, conflict.version] = place
            case _:
                pass
    stored = [_encode(result, places, start) for result in results]
    return json.dumps({"results": stored, "revision": revision}, ensure_ascii=False).encode()


def _encode(result: Result | Declined, places: _Places, start: int) -> _Stored:
    match result:
        case InvalidField(violations=[(path, problem), *_]):
            return {"field": path, "problem": problem}
        case ConflictRejected(metadata=metadata):
            return {"rejected": metadata["memories"]}
        case Conflict():
            return {"conflict": result.id, "at": places.get((result.id, result.version), start)}
        case Declined():
            # What it said is in its source, and goes with it.
            return {"declined": result.explanation}
        case int():
            return {"count": result}
        case Outcome(memory=memory):
            stored: _Stored = {
                "id": memory.id,
                "at": places.get((memory.id, memory.version), start),
                "action": int(result.action),
                "why": result.explanation,
                "due": result.embedding_pending,
            }
            more = {
                "superseded": list(result.superseded),
                "conflicts": list(result.conflicts),
                "extracted": [_encode(each, places, start) for each in result.extracted],
            }
            return stored | {name: value for name, value in more.items() if value}
        case _:
            return {"id": ""}


class Recorded:
    """Answers read back from a partition's ledger."""

    def __init__(self, ledger: Ledger, partition: Partition) -> None:
        self._ledger, self._partition = ledger, partition

    async def answer(self, stored: bytes) -> Answer:
        """What `encode` wrote. A memory purged since is None. Raises LedgerDamaged, StoreUnavailable."""
        parsed = json.loads(stored)
        return Answer(tuple([await self._result(each) for each in parsed["results"]]), parsed["revision"])

    async def _result(self, stored: _Stored) -> Result:
        if "field" in stored:
            return InvalidField(stored["field"], stored["problem"])
        if "rejected" in stored:
            return ConflictRejected(stored["rejected"].split(","))
        if "count" in stored:
            return int(stored["count"])
        if "conflict" in stored:
            return await self._conflict(stored["conflict"], stored["at"])
        return await self._outcome(stored)

    async def _outcome(self, stored: _Stored) -> Outcome | None:
        memory = await self._memory(stored["id"], stored["at"]) if stored["id"] else None
        if memory is None:
            return None
        return Outcome(
            Action(stored["action"]),
            memory,
            stored["why"],
            stored["due"],
            tuple(stored.get("superseded", ())),
            tuple(stored.get("conflicts", ())),
            tuple([each async for each in self._extracted(stored.get("extracted", ()))]),
        )

    async def _extracted(self, stored: Iterable[_Stored]) -> AsyncIterator[Outcome | Declined]:
        """Without what has been purged since."""
        for each in stored:
            if "declined" in each:
                yield Declined("", each["declined"])
            elif (outcome := await self._outcome(each)) is not None:
                yield outcome

    async def _memory(self, memory_id: str, at: int) -> Memory | None:
        for entry in await self._ledger.history(self._partition, memory_id, at + 1, 8):
            if isinstance(entry.event, MemoryRecorded):
                return entry.event.memory
        return None

    async def _conflict(self, conflict_id: str, at: int) -> Conflict | None:
        for entry in await self._ledger.history(self._partition, conflict_id, at + 1, 1):
            if isinstance(entry.event, ConflictRecorded):
                return entry.event.conflict
        return None
