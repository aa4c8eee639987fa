"""Random histories of one slot, against what a reader would say who knows nothing of chains and conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memsidecar.domain.claims import Manner
from memsidecar.domain.conflict import ConflictState, Policy
from memsidecar.domain.conflicts.history import slot_history
from memsidecar.domain.conflicts.resolving import Dismiss, Keep
from memsidecar.domain.errors import SidecarError
from memsidecar.domain.memory import Memory, State
from memsidecar.domain.slots import Slot, slot_of
from tests.domain.conflicts.knowledge import Knowledge, is_fact, said, value_of
from tests.doubles.naive_partition import NaivePartition

VALUES = ["A", "B", "C", "D"]
TIMES = range(40)
END = 60


@dataclass(frozen=True)
class Statement:
    """Said when it became true."""

    value: str
    time: int

    def to(self, known: Knowledge, **more: Any) -> None:
        known.says(self.value, self.time, source=said(self.time), **more)


_statements = st.lists(
    st.builds(Statement, st.sampled_from(VALUES), st.sampled_from(TIMES)),
    min_size=1,
    max_size=9,
    unique_by=lambda s: s.time,
)
_plain = st.sampled_from([None, Policy.AUTO, Policy.SUPERSEDE])


def _true_at(statements: list[Statement], time: int) -> list[str]:
    """The newest of what had been said by then."""
    by_then = [s for s in statements if s.time <= time]
    return [max(by_then, key=lambda s: s.time).value] if by_then else []


@settings(max_examples=100, deadline=None)
@given(_statements, st.data(), _plain)
def test_whatever_the_order_of_arrival_the_same_is_true_at_each_time(
    statements: list[Statement], data: st.DataObject, policy: Policy | None
) -> None:
    known = Knowledge()
    arrived: list[Statement] = []
    for statement in data.draw(st.permutations(statements)):
        statement.to(known, policy=policy)
        arrived.append(statement)
        for time in range(END):
            assert known.at(time) == _true_at(arrived, time)
        assert known.current() == _true_at(arrived, END)
    held = slot_history(known.state, attribute="lives_in")
    assert [h.memory.valid_from for h in held] == sorted(h.memory.valid_from for h in held)  # type: ignore[type-var]
    for one, other in pairwise(held):
        assert one.end == other.memory.valid_from
        assert one.ended_by
    said_at = sorted(s.time or 0 for h in held for s in h.memory.provenance)
    assert set(said_at) == {s.time for s in statements}, "every source is still there"
    assert known.conflicts(ConflictState.OPEN) == []


@settings(max_examples=60, deadline=None)
@given(_statements, st.data())
def test_what_lies_ahead_waits_for_its_time(statements: list[Statement], data: st.DataObject) -> None:
    known = Knowledge()
    for statement in data.draw(st.permutations(statements)):
        Statement(statement.value, statement.time + 990).to(known)
    there = [m for m in known.state.memories.values() if is_fact(m)]
    for now in range(known.now, 1_060):
        seen = [m for m in there if m.state_at(now) is State.ACTIVE and (m.valid_from or 0) <= now]
        assert [value_of(m) for m in seen] == _true_at(statements, now - 990)


@dataclass(frozen=True)
class Step:
    kind: str
    value: str
    time: int | None
    policy: Policy | None
    number: int
    """Chooses among what is there."""


_KINDS = "say say say say deny change correct visit resolve undo dismiss delete undelete purge update".split()
_steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(_KINDS),
        st.sampled_from(VALUES),
        st.none() | st.sampled_from([*TIMES, 1_500]),
        st.none() | st.sampled_from(Policy),
        st.integers(0, 20),
    ),
    min_size=1,
    max_size=10,
)


def _take(known: Knowledge, step: Step) -> None:
    """Do it; what is refused changes nothing."""
    slots = ((m.id, slot_of(m)) for m in known.state.memories.values())
    memories = [i for i, slot in slots if slot == Slot("", "lives_in")]
    conflicts = list(known.state.conflicts)
    memory_id = memories[step.number % len(memories)] if memories else "none"
    conflict_id = conflicts[step.number % len(conflicts)] if conflicts else "none"
    try:
        match step.kind:
            case "say":
                known.says(step.value, step.time, policy=step.policy)
            case "deny":
                known.says(step.value, step.time, policy=step.policy, negated=True)
            case "change" | "correct":
                manner = Manner.CHANGED if step.kind == "change" else Manner.CORRECTED
                known.says(step.value, step.time, policy=step.policy, manner=manner)
            case "visit":
                start = step.time or 0
                known.says(step.value, start, policy=step.policy, valid_to=start + 1 + step.number)
            case "resolve":
                members = known.state.conflicts[conflict_id].memories if conflicts else ("none",)
                chosen = members[step.number % len(members)] if members else "none"
                known.resolve(conflict_id, Keep(chosen, correction=step.number % 3 == 0))
            case "undo":
                known.undo(conflict_id)
            case "dismiss":
                known.resolve(conflict_id, Dismiss())
            case "update":
                known.update(memory_id, object_text=step.value)
            case _:
                getattr(known, step.kind)(memory_id)
    except SidecarError:
        assert known.events == []


@settings(max_examples=100, deadline=None)
@given(_steps)
def test_whatever_happens_the_records_agree_with_the_memories(steps: list[Step]) -> None:
    known = Knowledge()
    bystander = known.says("X", 5, "employer").memory
    other = known.says("A", 5, subject=known.entity("Ada")).memory
    there: set[str] = set()
    for step in steps:
        _take(known, step)
        memories = known.state.memories
        if step.kind != "purge":
            assert there <= memories.keys(), "nothing is ever lost"
        there = set(memories)
        assert known.memory(other) == other, "nothing outside of the slot changes"
        assert known.memory(bystander) == bystander
        _check_records(known)
    replayed = NaivePartition()
    for event in known.log:
        replayed.apply(event)
        replayed.apply(event)
    assert replayed.memories == known.state.memories
    assert replayed.conflicts == known.state.conflicts


def _check_records(known: Knowledge) -> None:
    disputed = {m.id for m in known.state.memories.values() if m.state is State.DISPUTED}
    open_ones = known.conflicts(ConflictState.OPEN)
    assert disputed <= {i for c in open_ones for i in c.memories}, "what is disputed is so in an open conflict"
    for conflict in open_ones:
        assert len(disputed & set(conflict.memories)) >= 2
    for memory in known.state.memories.values():
        assert memory.valid_to is None or memory.valid_from is None or memory.valid_from <= memory.valid_to
        if memory.state is State.SUPERSEDED:
            assert memory.superseded_at is not None
            assert memory.valid_to is not None
    for conflict in known.conflicts():
        gone = set(conflict.memories) - known.state.memories.keys()
        assert not gone, "no record names what is purged"
        if conflict.state is ConflictState.RESOLVED and conflict.winner:
            assert conflict.winner in conflict.memories
            assert set(conflict.losers) <= set(conflict.memories)


_decided = st.lists(
    st.builds(
        Step,
        st.sampled_from(["say", "say", "say", "correct", "deny", "visit", "change"]),
        st.sampled_from(VALUES),
        st.sampled_from(TIMES),
        st.sampled_from([Policy.AUTO, Policy.SUPERSEDE]),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=100, deadline=None)
@given(_decided)
def test_one_value_is_true_at_a_time(steps: list[Step]) -> None:
    known = Knowledge()
    for step in steps:
        _take(known, step)
    for time in (*range(END), 10_000):
        values = [value for value in known.at(time) if not value.startswith("not ")]
        assert len(values) <= 1
        assert not {f"not {value}" for value in values} & set(known.at(time))


@settings(max_examples=100, deadline=None)
@given(_steps, _steps)
def test_undoing_everything_in_reverse_gives_what_was_before(first: list[Step], then: list[Step]) -> None:
    known = Knowledge()
    for step in first:
        _take(known, step)
    before = {i: _times(m) for i, m in known.state.memories.items()}
    conflicts = set(known.state.conflicts)
    for step in then:
        if step.kind in ("say", "change", "correct", "deny", "visit") and step.policy is not Policy.REJECT:
            _take(known, Step(step.kind, f"new {step.value} {len(known.state.memories)}", step.time, step.policy, 0))
    made = sorted(known.state.conflicts.keys() - conflicts, key=lambda i: (known.state.conflicts[i].updated_at, i))
    joined = [c for c in known.conflicts() if c.id in conflicts and any(i not in before for i in c.memories)]
    assume(not joined)
    for conflict_id in reversed(made):
        if known.state.conflicts[conflict_id].state is not ConflictState.OPEN:
            known.undo(conflict_id)
        if known.state.conflicts[conflict_id].state is ConflictState.OPEN:
            known.resolve(conflict_id, Dismiss())
    disputed_since = {i for c in known.conflicts() if c.state is ConflictState.DISMISSED for i in c.memories}
    for memory_id, times in before.items():
        now = _times(known.memory(memory_id))
        assert now[:4] == times[:4]
        assert now == times or memory_id in disputed_since


def _times(memory: Memory) -> tuple[Any, ...]:
    return memory.state, memory.valid_from, memory.valid_to, memory.superseded_at, memory.updated_at
