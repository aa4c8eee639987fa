"""What a slot held, in the order in which it became true."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from memsidecar.domain.conflict import Conflict, ConflictState
from memsidecar.domain.conflicts.chain import end_of, never_true, order_of
from memsidecar.domain.conflicts.peers import SlotView, in_slot, same_slot
from memsidecar.domain.memory import Fact, Memory, Preference, State
from memsidecar.domain.scope import Scope
from memsidecar.domain.slots import PREFERENCE, Slot, slot_of


class HistoryView(SlotView, Protocol):
    """What a history asks of a partition, as `PartitionView` says."""

    def conflict(self, conflict_id: str) -> Conflict | None: ...

    def conflicts_of(self, memory_id: str) -> Iterable[str]: ...


@dataclass(frozen=True, slots=True)
class Held:
    """A memory of a slot, when it ended (None: it has not) and the conflict that ended it, empty when none did."""

    memory: Memory
    end: int | None
    ended_by: str = ""


def slot_history(view: HistoryView, subject: str = "", attribute: str = "", memory: Memory | None = None) -> list[Held]:
    """The memories of a slot by when they became true, of one time by when they were stored; deleted ones left out.

    The slot is that of `memory`, when it is given, else what `attribute` means in any of its spellings for `subject`
    (an entity id, empty for the user).
    """
    if memory is not None:
        slot = slot_of(memory)
        others = [] if slot is None else [memory, *in_slot(view, memory, slot)]
    else:
        slot = slot_named(subject, attribute)
        others = [] if slot is None else _all_in(view, slot)
    found = sorted((m for m in others if m.state is not State.DELETED), key=order_of)
    return [Held(m, end_of(m), _ended_by(view, m)) for m in found]


def slot_named(subject: str, attribute: str) -> Slot | None:
    """The slot that an attribute means, in any of its spellings, for an entity id, or for the user (empty)."""
    scope = Scope("", "")
    for body in (Fact("", subject=subject, predicate=attribute), Preference("", topic=attribute, subject=subject)):
        slot = slot_of(Memory("", scope, body, 0, 0))
        if slot is not None and not slot.family.startswith(f"{PREFERENCE}:"):
            return slot
    return None


def _all_in(view: HistoryView, slot: Slot) -> list[Memory]:
    """All of a slot; of a whole family when the slot does not say of what."""
    there = (view.memory(memory_id) for memory_id in view.in_slot(slot.subject, slot.family))
    found = []
    for memory in there:
        theirs = slot_of(memory) if memory is not None else None
        if (
            memory is not None
            and theirs is not None
            and (not slot.qualifier or same_slot(slot, theirs, rarity=view.rarity))
        ):
            found.append(memory)
    return found


def _ended_by(view: HistoryView, memory: Memory) -> str:
    """The newest resolved conflict that the memory has lost."""
    lost: list[Conflict] = []
    if not never_true(memory) and memory.state is not State.SUPERSEDED:
        return ""
    for conflict_id in view.conflicts_of(memory.id):
        conflict = view.conflict(conflict_id)
        if conflict is not None and conflict.state is ConflictState.RESOLVED and memory.id in conflict.losers:
            lost.append(conflict)
    return max(lost, key=lambda c: c.resolved_at or 0).id if lost else ""
