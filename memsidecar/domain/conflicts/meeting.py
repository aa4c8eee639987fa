"""Which memories of a slot a new one meets in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memsidecar.domain.conflict import Policy, Source
from memsidecar.domain.conflicts.chain import (
    end_of,
    holds_at,
    is_moment,
    never_true,
    order_of,
    said_again_after,
    said_of,
    start_of,
)
from memsidecar.domain.conflicts.hindsight import again_after, ended_by, gives_way, moments, placed
from memsidecar.domain.conflicts.peers import Neighbourhood, Peer, alive, reaches
from memsidecar.domain.conflicts.policies import source_of
from memsidecar.domain.memory import Memory, State


def over_since_some_time(memory: Memory) -> bool:
    """Whether it is known to have ended, and not when it began: it says nothing about what else was true."""
    return memory.valid_from is None and memory.valid_to is not None and memory.valid_to <= said_of(memory)


@dataclass(frozen=True, slots=True)
class Met:
    """The peers whose time a memory shares: those that hold when it begins, and those that begin while it holds."""

    start: int
    """When it begins, beside what is known (`hindsight.placed`)."""
    earlier: tuple[Peer, ...]
    later: tuple[Peer, ...]
    contested: tuple[Peer, ...]
    """Those of both that a reader sees as true."""
    cut: tuple[Peer, ...]
    """Those of these that it would end, or make a gap in."""
    again: tuple[tuple[int, Peer], ...] = ()
    """Those that hold when it begins, and again from some time on: when."""
    late: bool = False
    """What is known is newer: it begins later, or was said again later than the memory was said."""
    resumed: int | None = None
    """When all later ones have ended, if the memory was said after that: from then on it holds again."""
    weaker: tuple[Peer, ...] = ()
    """Later ones that the policy takes for less than the memory."""
    stated: tuple[Peer, ...] = ()
    """Those that were only stated, at a time at which the memory held already, and before it was told: they hold until
    it begins."""
    back: tuple[Memory, ...] = ()
    """History that ended when the first of these was stated, and holds no longer than they leave it time."""

    @property
    def end(self) -> int | None:
        """When the first of the later ones takes its place."""
        starts = (start_of(peer.memory) for peer in self.later)
        return min((*starts, *(time for time, _ in self.again)), default=None)


def meet(memory: Memory, slot: Neighbourhood, now: int, said: int) -> Met:
    start, end = start_of(placed(memory, slot)), memory.valid_to
    agent = memory.scope.agent
    earlier: list[Peer] = []
    later: list[Peer] = []
    again: list[tuple[int, Peer]] = []
    newer: list[Peer] = []
    stated: list[Peer] = []
    for peer in sorted(slot.against(start, end), key=lambda p: order_of(p.memory)):
        if never_true(peer.memory):
            continue
        if start_of(peer.memory) > start:
            reached = reaches(agent, peer.stance.agent)
            if not later and reached and gives_way(peer.memory, memory):
                stated.append(peer)
            elif not later and peer.stance.agent == agent and (time := again_after(peer.memory, memory)) is not None:
                again.append((time, peer))
                newer.append(peer)
            elif (end is None or start_of(peer.memory) < end) and reaches(peer.stance.agent, agent):
                later.append(peer)
        elif start < start_of(memory) and holds_at(peer.memory, start) and is_moment(peer.memory):
            stated += moments(peer, slot)
        elif holds_at(peer.memory, start) and reaches(agent, peer.stance.agent):
            time = said_again_after(peer.memory, max(start, said)) if peer.stance.agent == agent else None
            if time is not None and (end is None or time < end):
                again.append((time, peer))
                newer.append(peer)
            elif end is not None and _holds_after(peer.memory, end):
                again.append((end, peer))
            else:
                earlier.append(peer)
    met = [*earlier, *(p for _, p in again), *stated, *later]
    contested = tuple(p for p in met if alive(p.memory, now))
    cut = tuple(p for p in contested if p not in later and p not in newer)
    resumed = None if newer or not later else _resumed(memory, later, slot, said)
    late = bool(newer) or (bool(later) and resumed is None)
    known = {p.memory.id for p in met}
    back = tuple(m for m in ended_by(stated[0].memory, slot) if m.id not in known) if stated else ()
    return Met(
        start, tuple(earlier), tuple(later), contested, cut, tuple(again), late, resumed, (), tuple(stated), back
    )


def _holds_after(memory: Memory, time: int) -> bool:
    end = end_of(memory)
    return end is None or end > time


def _resumed(memory: Memory, later: Sequence[Peer], slot: Neighbourhood, said: int) -> int | None:
    ends = [end_of(peer.memory) for peer in later]
    last = max((end for end in ends if end is not None), default=None)
    if None in ends or last is None or last > said or memory.state is State.SUPERSEDED:
        return None
    if any(_holds_after(other, last) and not never_true(other) for other in slot.alike()):
        return None
    return last if _holds_after(memory, last) else None


def holding_between(slot: Neighbourhood, start: int, end: int, known: Sequence[Peer]) -> list[Peer]:
    """Those that hold at some time from `start` to `end`, apart from those known."""
    return [
        peer
        for peer in slot.against(start, end)
        if peer not in known
        and not never_true(peer.memory)
        and start_of(peer.memory) < end
        and _holds_after(peer.memory, start)
    ]


def outranked(met: Met, memory: Memory, policy: Policy, said_by: Source) -> Met:
    """Later ones that are less sure, or from a worse source, do not end what is more."""
    if policy is Policy.MOST_CONFIDENT:
        weaker = [p for p in met.later if p.memory.confidence < memory.confidence]
    elif policy is Policy.SOURCE_PRIORITY:
        weaker = [p for p in met.later if source_of(p.memory) < said_by]
    else:
        return met
    return replace(met, later=tuple(p for p in met.later if p not in weaker), weaker=tuple(weaker))
