"""Random histories of one slot, against what a reader would say who knows nothing of chains and conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memsidecar.domain.conflict import ConflictState, Policy
from memsidecar.domain.conflicts.history import slot_history
from memsidecar.domain.memory import State
from tests.domain.conflicts.knowledge import Knowledge, is_fact, said, value_of

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


@settings(max_examples=300, deadline=None)
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


@settings(max_examples=200, deadline=None)
@given(_statements, st.data())
def test_what_lies_ahead_waits_for_its_time(statements: list[Statement], data: st.DataObject) -> None:
    known = Knowledge()
    for statement in data.draw(st.permutations(statements)):
        Statement(statement.value, statement.time + 990).to(known)
    there = [m for m in known.state.memories.values() if is_fact(m)]
    for now in range(known.now, 1_060):
        seen = [m for m in there if m.state_at(now) is State.ACTIVE and (m.valid_from or 0) <= now]
        assert [value_of(m) for m in seen] == _true_at(statements, now - 990)
