"""From when until when a memory is true, and how one takes another one's place.

The memories of a slot make a chain: each holds from its start until the next one's. All but the first of a chain have
an explicit start, so that a time belongs to one of them; the first may be true since ever.
"""

from __future__ import annotations

from dataclasses import replace

from memsidecar.domain.conflict import Before
from memsidecar.domain.memory import Episode, Memory, State

AS_OF_STATES = frozenset((State.ACTIVE, State.SUPERSEDED, State.DISPUTED, State.DORMANT))
"""The states in which a memory can have been true at some time."""


def start_of(memory: Memory) -> int:
    """When it became true: its `valid_from`, else when it was first said, else when it was stored; of what was over by
    then, the last moment before its end."""
    if memory.valid_from is not None:
        return memory.valid_from
    said = min((source.time for source in memory.provenance if source.time is not None), default=memory.created_at)
    return said if memory.valid_to is None else min(said, memory.valid_to - 1)


def said_of(memory: Memory) -> int:
    """When it was said last: what it says takes into account what had happened by then."""
    said = max((source.time for source in memory.provenance if source.time is not None), default=None)
    return memory.created_at if said is None else said


def said_again_after(memory: Memory, time: int) -> int | None:
    """When, first after `time`, somebody said once more what a memory says, while it held; None when nobody did."""
    start, end = max(time, start_of(memory)), end_of(memory)
    times = sorted(source.time for source in memory.provenance if source.time is not None)
    again = times if is_only_stated(memory) else times[1:]
    return min((t for t in again if t > start and (end is None or t < end)), default=None)


def is_only_stated(memory: Memory) -> bool:
    """Whether nobody has said when it began: its start is a time at which it was said, or nothing but the last moment
    before what took its place (`over_by`)."""
    times = [source.time for source in memory.provenance if source.time is not None]
    return memory.valid_from is None or memory.valid_from in times or is_moment(memory)


def is_moment(memory: Memory) -> bool:
    """Whether it was over before it was said, and nobody knows since when it had been true."""
    return memory.state is State.SUPERSEDED and memory.valid_to is not None and start_of(memory) == memory.valid_to - 1


def end_of(memory: Memory) -> int | None:
    """When it stopped being true, None while it has not. Half-open: at that time it is true no longer."""
    if memory.valid_to is None and memory.state is State.SUPERSEDED:
        return memory.superseded_at
    return memory.valid_to


def never_true(memory: Memory) -> bool:
    """Whether it was corrected: there is no time at which it holds."""
    return memory.valid_from is not None and memory.valid_to is not None and memory.valid_to <= memory.valid_from


def holds_at(memory: Memory, time: int) -> bool:
    """Whether `time` lies between its start and its end."""
    end = end_of(memory)
    return start_of(memory) <= time and (end is None or time < end)


def true_at(memory: Memory, valid_time: int) -> bool:
    """Whether a memory was true in the world at a time, as far as this version of it says.

    What was superseded was true until then; what was corrected never was, because its interval is empty; an unset start
    means since ever. A memory that is deleted is true at no time.
    """
    return memory.state in AS_OF_STATES and covers(memory, valid_time)


def covers(memory: Memory, valid_time: int) -> bool:
    """The same whatever its state. What was said or done at a time is nothing that there was before."""
    end = end_of(memory)
    if not has_begun(memory, valid_time):
        return False
    return end is None or valid_time < end


def has_begun(memory: Memory, valid_time: int) -> bool:
    """Whether it is true by then, as far as it says, or has been true and is no longer."""
    if isinstance(memory.body, Episode) and valid_time < memory.said_at:
        return False
    return memory.valid_from is None or memory.valid_from <= valid_time


def dated(memory: Memory) -> Memory:
    """With an explicit start: something else was true before."""
    return memory if memory.valid_from is not None else replace(memory, valid_from=start_of(memory))


def ended(memory: Memory, at: int, now: int) -> Memory:
    """True until `at`, never when it began later; history from then on, or from now on when that has passed."""
    start = start_of(memory)
    if at <= start:
        return never(memory, now)
    return replace(memory, valid_to=at, state=State.SUPERSEDED, superseded_at=_since(memory, max(now, at)))


def over_by(memory: Memory, at: int, now: int, last: int | None = None) -> Memory:
    """Was over at `at`, since when it was true nobody knows: since ever, or, after something else, from `last` on,
    usually the last moment before. So it is never without any time, and no two values are true at once."""
    since = _since(memory, max(now, at))
    return replace(memory, valid_from=last, valid_to=at, state=State.SUPERSEDED, superseded_at=since)


def never(memory: Memory, now: int) -> Memory:
    """Was not true at any time: an empty interval."""
    start = start_of(memory)
    since = _since(memory, now)
    return replace(memory, valid_from=start, valid_to=start, state=State.SUPERSEDED, superseded_at=since)


def _since(memory: Memory, time: int) -> int:
    """What is history already became so when it did."""
    known = memory.superseded_at if memory.state is State.SUPERSEDED else None
    return time if known is None else min(known, time)


def before_of(memory: Memory) -> Before:
    return Before(memory.id, memory.state, memory.updated_at, memory.valid_from, memory.valid_to, memory.superseded_at)


def rebased(before: Before, memory: Memory) -> Before:
    """What was before a dispute, with the validity of now: it may have been dated while it was disputed."""
    return replace(before, valid_from=memory.valid_from, valid_to=memory.valid_to, superseded_at=memory.superseded_at)


def order_of(memory: Memory) -> tuple[int, int, str]:
    """Memories of a slot by when they became true; of one time by when they were stored."""
    return start_of(memory), memory.created_at, memory.id
