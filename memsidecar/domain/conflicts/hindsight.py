"""A change that is told afterwards: "I live in Munich", and then "I moved to Berlin last week".

Who says in the present tense how something is does not say when it began: at the latest when it is said. Who says from
when on something is so says that it is still so as he speaks. So what was only stated gives way to a change that is
told later, even to one that lies before the statement: it was true until the change, nobody knows since when.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memsidecar.domain.conflicts.chain import end_of, holds_at, is_moment, is_only_stated, never_true, start_of
from memsidecar.domain.conflicts.peers import Neighbourhood, Peer, reaches
from memsidecar.domain.memory import Memory, State


def told_last(memory: Memory) -> int:
    """When it was said last. What nobody dates counts as said when it became true: when an agent writes a fact down
    says nothing of the order of facts."""
    return max((source.time for source in memory.provenance if source.time is not None), default=start_of(memory))


def told_first(memory: Memory) -> int:
    """When it was said first, likewise."""
    return min((source.time for source in memory.provenance if source.time is not None), default=start_of(memory))


def is_change(memory: Memory) -> bool:
    """Whether it says from when on it holds, and not that it is over. An end that another memory has put to it is
    none of its own."""
    return not is_only_stated(memory) and (memory.valid_to is None or memory.state is State.SUPERSEDED)


def gives_way(stated: Memory, change: Memory) -> bool:
    """Whether what begins later than a change was only stated, and not after the change was told. Of what is told at
    one time the change is what is told last: what is known comes first."""
    return (
        is_change(change)
        and change.valid_to is None
        and is_only_stated(stated)
        and start_of(stated) > start_of(change)
        and told_last(stated) <= told_last(change)
    )


def again_after(stated: Memory, change: Memory) -> int | None:
    """When, first after a change was told, a memory was stated once more that would give way without that."""
    if (
        not is_change(change)
        or change.valid_to is not None
        or not is_only_stated(stated)
        or told_first(stated) > told_last(change)
    ):
        return None
    return min((s.time for s in stated.provenance if s.time is not None and s.time > told_last(change)), default=None)


def placed(memory: Memory, slot: Neighbourhood) -> Memory:
    """What is only stated, with the start that it has among the changes that are known: the last moment before those
    that were told after it and lie before it."""
    if not is_only_stated(memory) or memory.valid_to is not None:
        return memory
    start = at = start_of(memory)
    # What `meet` asks for next: mostly nothing comes after it.
    there = slot.against(at, None)
    while after := [m for m in _true_at(there, at) if _comes_after(m, memory)]:
        at = min(map(start_of, after)) - 1
        there = slot.against(at, at)
    return memory if at == start else replace(memory, valid_from=at)


def _true_at(peers: Iterable[Peer], at: int) -> list[Memory]:
    return [p.memory for p in peers if holds_at(p.memory, at) and not never_true(p.memory)]


def _comes_after(other: Memory, stated: Memory) -> bool:
    """Whether what holds when something is stated was told after it: a change, or what was stated and gave way."""
    if not reaches(other.scope.agent, stated.scope.agent):
        return False
    if is_moment(other):
        return told_last(other) > told_last(stated)
    return is_change(other) and told_first(other) > told_last(stated)


def moments(last: Peer, slot: Neighbourhood) -> tuple[Peer, ...]:
    """What gave way to one change, up to `last` of it: each has one moment, directly before the next one's."""
    run = [last]
    while True:
        at = start_of(run[0].memory) - 1
        before = [p for p in slot.against(at, at) if holds_at(p.memory, at) and is_moment(p.memory)]
        if not before:
            return tuple(run)
        run.insert(0, before[0])


def ended_by(stated: Memory, slot: Neighbourhood) -> list[Memory]:
    """What was true until something was stated that gives way now; it ends earlier then."""
    at = start_of(stated)
    there = (*slot.alike(at), *(peer.memory for peer in slot.against(at, at)))
    return [m for m in there if m.state is State.SUPERSEDED and end_of(m) == at and not never_true(m)]
