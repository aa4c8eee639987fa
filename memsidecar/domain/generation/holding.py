"""Whether what was sent still holds, seen from what the memory is now."""

from __future__ import annotations

from memsidecar.domain.generation.values import Changed, MemoryKey, Reason
from memsidecar.domain.memory import Episode, Fact, Memory, State


def stopped_holding(key: MemoryKey, told: Memory, present: Memory | None, now: int) -> Changed | None:
    """What has become of a memory since it was `told`; `present` is its newest version, None when it is purged. None
    while it holds: labels, importance and the like may change. `now` is in microseconds."""
    if present is None:
        return Changed(key, Reason.PURGED, None)
    state = present.state_at(now)
    if state is not told.state and (reason := _ENDS.get(state)) is not None:
        return Changed(key, reason, present.version + 1)
    if _said(present) != _said(told):
        return Changed(key, Reason.UPDATED, present.version, present)
    return None


_ENDS = {State.DELETED: Reason.DELETED, State.SUPERSEDED: Reason.SUPERSEDED, State.EXPIRED: Reason.EXPIRED}


def _said(memory: Memory) -> tuple[object, ...]:
    """What a reader was told: who said what, and when it holds."""
    body = memory.body
    own: object = body if isinstance(body, Fact) else body.speaker if isinstance(body, Episode) else None
    return memory.text, own, memory.said_at, memory.valid_from, memory.valid_to
