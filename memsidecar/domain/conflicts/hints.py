"""What the conflicts of a slot have taught about an attribute that nobody has listed: one value at a time, or many."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from memsidecar.domain.conflict import Conflict, ConflictState, Resolution
from memsidecar.domain.memory import State
from memsidecar.domain.slots import Slot, slot_of
from memsidecar.domain.view import PartitionView

# So many settlements say more than chance, and so much more often than the contrary.
_LEAST, _TIMES = 2, 2
# The newest of them that are looked at: a slot may have had hundreds.
_NEWEST = 64
_ONE_HOLDS = frozenset((Resolution.CHANGED, Resolution.CORRECTED, Resolution.REPLACED))


def learned_single(view: PartitionView, memory_id: str, slot: Slot) -> bool | None:
    """Whether a slot has one value at a time, by what became of its newest conflicts; None when they do not say. One
    was kept at least twice, and twice as often as all were: it has. All were kept more often: it has not.

    `memory_id` is whose slot it is: conflicts that are left with nobody else do not count.
    """
    kept = others = 0
    for conflict in _conflicts(view, memory_id, slot):
        if conflict.state is ConflictState.RESOLVED and conflict.resolution in _ONE_HOLDS:
            kept += 1
        elif conflict.state is not ConflictState.OPEN:
            others += 1
    if kept >= _LEAST and kept >= _TIMES * others:
        return True
    return False if others > kept else None


def _conflicts(view: PartitionView, memory_id: str, slot: Slot) -> Iterable[Conflict]:
    newest = islice(reversed(view.conflicts_about(slot.subject, slot.family)), _NEWEST)
    found = (view.conflict(conflict_id) for conflict_id in newest)
    return (c for c in found if c is not None and any(_is_in(view, i, slot) for i in c.memories if i != memory_id))


def _is_in(view: PartitionView, memory_id: str, slot: Slot) -> bool:
    memory = view.memory(memory_id)
    theirs = slot_of(memory) if memory is not None and memory.state is not State.DELETED else None
    return theirs is not None and (theirs.subject, theirs.family) == (slot.subject, slot.family)
