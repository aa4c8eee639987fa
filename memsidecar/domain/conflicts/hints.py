"""What the conflicts of a slot have taught about an attribute that nobody has listed: one value at a time, or many."""

from __future__ import annotations

from collections.abc import Iterable

from memsidecar.domain.conflict import Conflict, ConflictState, Resolution
from memsidecar.domain.memory import Memory
from memsidecar.domain.view import PartitionView

# So many settlements say more than chance, and so much more often than the contrary.
_LEAST, _TIMES = 2, 2
_ONE_HOLDS = frozenset((Resolution.CHANGED, Resolution.CORRECTED, Resolution.REPLACED))


def learned_single(view: PartitionView, family: str, memories: Iterable[Memory]) -> bool | None:
    """Whether the slot of these memories has one value at a time, by what became of their conflicts; None when they do
    not say. One was kept at least twice, and twice as often as all were: it has. All were kept more often: it has not.

    Looks at this slot only, so that it costs what finding its memories costs.
    """
    kept = others = 0
    for conflict in _conflicts(view, family, memories):
        if conflict.state is ConflictState.RESOLVED and conflict.resolution in _ONE_HOLDS:
            kept += 1
        elif conflict.state is not ConflictState.OPEN:
            others += 1
    if kept >= _LEAST and kept >= _TIMES * others:
        return True
    return False if others > kept else None


def _conflicts(view: PartitionView, family: str, memories: Iterable[Memory]) -> Iterable[Conflict]:
    ids = dict.fromkeys(conflict_id for m in memories for conflict_id in view.conflicts_of(m.id))
    found = map(view.conflict, ids)
    return (conflict for conflict in found if conflict is not None and conflict.attribute == family)
