"""Whether what was sent still holds, seen from what the memory is now."""

from __future__ import annotations

from collections.abc import Callable

from memsidecar.domain.generation.values import Changed, MemoryKey, Reason
from memsidecar.domain.memory import Episode, Fact, Memory, State
from memsidecar.domain.reading import sources_of
from memsidecar.domain.recall import Hit


def stopped_holding(
    key: MemoryKey,
    told: Memory,
    present: Memory | None,
    now: int,
    successor: Memory | None = None,
    was_valid: bool = False,
    is_seen: Callable[[Memory], bool] = lambda _: True,
) -> Changed | None:
    """What has become of a memory since it was `told`; `present` is its newest version, None when it is purged. None
    while it holds: labels, importance and the like may change. `now` is in microseconds.

    `successor` holds instead of it, if another memory has superseded it. `was_valid`: it was true in the world when it
    was told, so that it is over when its validity is. `is_seen`: the stream may see it; what it says now is not told
    to one that no longer may.
    """
    if present is None:
        return Changed(key, Reason.PURGED, None)
    state = present.state_at(now)
    if state is not told.state and (reason := _ENDS.get(state)) is not None:
        instead = successor if reason is Reason.SUPERSEDED else None
        return Changed(key, reason, present.version + 1, instead)
    if is_seen(told) and not is_seen(present):
        return Changed(key, Reason.NO_LONGER_VISIBLE, present.version + 1)
    if _said(present) != _said(told):
        return Changed(key, Reason.UPDATED, present.version, present)
    if was_valid and present.valid_to is not None and present.valid_to <= now:
        return Changed(key, Reason.EXPIRED, present.version + 1)
    return None


def stopped_stating(
    key: MemoryKey, told: Hit, loser: Memory, now: int, successor: Memory | None = None
) -> Changed | None:
    """What has become of a hit since it was `told`, given something that was read from it: None unless that has been
    superseded since, by `successor`, and the hit does not say so itself."""
    if loser.state_at(now) is not State.SUPERSEDED:
        return None
    if any(each.memory_id == loser.id and each.state is State.SUPERSEDED for each in told.standings):
        return None
    if successor is not None and key[1] in sources_of(successor):
        return None
    return Changed(key, Reason.SUPERSEDED, told.memory.version + 1, successor)


_ENDS = {State.DELETED: Reason.DELETED, State.SUPERSEDED: Reason.SUPERSEDED, State.EXPIRED: Reason.EXPIRED}


def _said(memory: Memory) -> tuple[object, ...]:
    """What a reader was told: who said what, and when it holds."""
    body = memory.body
    own: object = body if isinstance(body, Fact) else body.speaker if isinstance(body, Episode) else None
    return memory.text, own, memory.said_at, memory.valid_from, memory.valid_to
