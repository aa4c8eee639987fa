"""Somebody settles a conflict, open or settled otherwise before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from memsidecar.domain.conflict import Before, Conflict, ConflictState, Resolution
from memsidecar.domain.conflicts.answers import answered
from memsidecar.domain.conflicts.chain import before_of, dated, ended, never, order_of, rebased, start_of
from memsidecar.domain.conflicts.opening import evidence_of
from memsidecar.domain.conflicts.peers import rule_between, stance_of
from memsidecar.domain.conflicts.undoing import Taken, as_they_are, check_later, conflict_at, take_back
from memsidecar.domain.decide import create_apart
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Draft
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.events import Change, ConflictRecorded, Vectors
from memsidecar.domain.memory import Memory, State
from memsidecar.domain.mentions import Mention


@dataclass(frozen=True, slots=True)
class Keep:
    """One of them is right. The others were true until then, or never (`correction`)."""

    memory_id: str
    correction: bool = False


@dataclass(frozen=True, slots=True)
class Replace:
    """None was right; `draft` is. It is stored as `create` stores it, under `memory_id` or a new id."""

    draft: Draft
    correction: bool = False
    found: tuple[Mention, ...] = ()
    vectors: Vectors | None = None
    memory_id: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One memory's time, half-open; None: since ever, still."""

    memory_id: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """All are right, each in its own time; oldest first."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Dismiss:
    """It is no conflict."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user answered to the conflict's question; names exactly one of the values."""

    text: str
    correction: bool = False


Choice: TypeAlias = Keep | Replace | Split | Dismiss | Answer


def resolve(decision: Decision, conflict_id: str, choice: Choice, etag: str = "", reason: str = "") -> Conflict:
    """Settle an open conflict or one that was undone, or settle a resolved one otherwise: that is an undo and a
    settling in one decision.

    Raises NotFound, EtagMismatch, ConflictBlocked, InvalidField (also for one that is dismissed), and what
    `decide.create` raises for a replacement.
    """
    conflict = conflict_at(decision, conflict_id, etag)
    if conflict.state is ConflictState.DISMISSED:
        raise InvalidField("name", "is dismissed; only open, resolved and undone ones can be resolved")
    if conflict.state is not ConflictState.OPEN:
        check_later(decision, conflict)
    taken = as_they_are(decision, conflict) if conflict.state is ConflictState.UNDONE else take_back(decision, conflict)
    settling = _Settling(decision, conflict, taken)
    match choice:
        case Answer(text, correction):
            winner = answered(decision.view, text, settling.disputed(), conflict.rule)
            settling.keep(winner, correction, "answer")
        case Keep(memory_id, correction):
            settling.keep(memory_id, correction, "keep_memory")
        case Split(parts):
            settling.split(parts)
        case Replace():
            settling.replace_all(choice)
        case Dismiss():
            settling.dismiss()
    return settling.record(reason)


@dataclass(slots=True)
class _Settling:
    """Works on the memories as they would be without the conflict; records once, at the end."""

    decision: Decision
    conflict: Conflict
    taken: Taken
    replacement: Callable[[], Memory] | None = None
    state: ConflictState = ConflictState.RESOLVED
    resolution: Resolution = Resolution.NONE
    winner: str = ""
    losers: tuple[str, ...] = ()
    became: dict[str, Change] = field(default_factory=dict)
    before: tuple[Before, ...] = ()

    def __post_init__(self) -> None:
        if self.conflict.state is ConflictState.UNDONE:
            self.before = tuple(map(before_of, self.taken.memories.values()))
            return
        # What was dated while it was open stays dated when its resolution is undone.
        self.before = tuple(_rebased(before, self.taken.memories) for before in self.conflict.before)

    def disputed(self) -> list[Memory]:
        """Those of its memories that are there, in the order in which they became true."""
        there = (self.taken.memories.get(i) for i in self.conflict.memories)
        return sorted((m for m in there if m is not None and m.state is not State.DELETED), key=order_of)

    def keep(self, memory_id: str, correction: bool, where: str) -> None:
        memories = {m.id: m for m in self.disputed()}
        if memory_id not in memories:
            raise InvalidField(where, "is not one of the conflict's memories, or is deleted")
        winner = memories.pop(memory_id)
        losers = [m for m in memories.values() if self._contradict(winner, m)]
        self._beat(losers, winner, correction)
        kept = self.taken.memories[memory_id]
        if losers:
            # What never was so gives its time to the winner, which loses none of its own.
            starts = [start_of(m) for m in losers] if correction else []
            kept = replace(dated(kept), valid_from=min([start_of(kept), *starts]))
        self._change(kept, Change.RESTORED)
        self.winner, self.losers = memory_id, tuple(m.id for m in losers)

    def split(self, parts: Sequence[Part]) -> None:
        memories = {m.id: m for m in self.disputed()}
        now = self.decision.now
        _check_parts(parts, memories)
        for part in parts:
            memory = replace(memories[part.memory_id], valid_from=part.start, valid_to=part.end)
            is_last = part is parts[-1]
            if part.end is not None and not is_last:
                memory = replace(memory, state=State.SUPERSEDED, superseded_at=max(now, part.end))
            self._change(memory, Change.DATED)
        self.winner, self.losers = parts[-1].memory_id, tuple(part.memory_id for part in parts[:-1])
        self.resolution = Resolution.SPLIT

    def replace_all(self, choice: Replace) -> None:
        losers = self.disputed()
        new_id = choice.memory_id or self.decision.new_id()
        draft = choice.draft
        if choice.correction and losers:
            draft = replace(draft, valid_from=min(map(start_of, losers)))
        elif draft.valid_from is None:
            draft = replace(draft, valid_from=self.decision.now)
        start = draft.valid_from or 0
        created = create_apart(self.decision, draft, choice.found, choice.vectors, new_id)
        for loser in losers:
            now = self.decision.now
            self._change(never(loser, now) if choice.correction else ended(loser, start, now), Change.SUPERSEDED)
        self.winner, self.losers = created.id, tuple(m.id for m in losers)
        self.resolution = Resolution.REPLACED

    def dismiss(self) -> None:
        self.state = ConflictState.DISMISSED

    def record(self, reason: str) -> Conflict:
        decision = self.decision
        self.taken.record(reason, self.became)
        members = dict.fromkeys((*self.conflict.memories, *filter(None, (self.winner,))))
        there = [m for m in map(decision.view.memory, members) if m is not None]
        new = replace(
            self.conflict,
            memories=tuple(m.id for m in sorted(there, key=order_of)),
            state=self.state,
            resolution=self.resolution,
            winner=self.winner,
            losers=self.losers,
            updated_at=decision.now,
            resolved_at=decision.now,
            resolved_by=decision.request.actor,
            reason=reason,
            evidence=evidence_of(there),
            before=self.before,
            version=self.conflict.version + 1,
        )
        decision.record(ConflictRecorded(new, decision.request.actor, reason))
        return new

    def _contradict(self, one: Memory, other: Memory) -> bool:
        stances = stance_of(self.decision.view, one), stance_of(self.decision.view, other)
        if stances[0] is None or stances[1] is None:
            return True
        return rule_between(stances[0], stances[1], single=True, rarity=self.decision.view.rarity) is not None

    def _beat(self, losers: Sequence[Memory], winner: Memory, correction: bool) -> None:
        now, start = self.decision.now, start_of(winner)
        for loser in losers:
            self._change(never(loser, now) if correction else ended(loser, start, now), Change.SUPERSEDED)
        self.resolution = Resolution.CORRECTED if correction else Resolution.CHANGED

    def _change(self, memory: Memory, change: Change) -> None:
        self.taken.memories[memory.id] = memory
        self.became[memory.id] = change


def _rebased(before: Before, memories: Mapping[str, Memory]) -> Before:
    memory = memories.get(before.memory_id)
    return before if memory is None else rebased(before, memory)


def _check_parts(parts: Sequence[Part], memories: Mapping[str, Memory]) -> None:
    seen: set[str] = set()
    last: int | None = None
    for i, part in enumerate(parts):
        if part.memory_id not in memories or part.memory_id in seen:
            raise InvalidField(f"temporal_split.parts[{i}].memory", "must be each of the conflict's memories once")
        seen.add(part.memory_id)
        where = f"temporal_split.parts[{i}].interval"
        if part.start is not None and part.end is not None and part.end <= part.start:
            raise InvalidField(where, "must end after it starts")
        if i and (part.start is None or last is None or part.start < last):
            raise InvalidField(where, f"overlaps the one of parts[{i - 1}]; give the oldest first")
        last = part.end
    if missing := memories.keys() - seen:
        raise InvalidField("temporal_split.parts", f"{len(missing)} of the conflict's memories have no time")
