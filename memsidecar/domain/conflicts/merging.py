"""Which memory of a slot a draft says again, and in which time that one holds then."""

from __future__ import annotations

from dataclasses import replace

from memsidecar.domain.claims import Manner
from memsidecar.domain.conflicts.chain import (
    end_of,
    holds_at,
    never_true,
    order_of,
    said_again_after,
    said_of,
    start_of,
)
from memsidecar.domain.conflicts.hindsight import gives_way, placed
from memsidecar.domain.conflicts.peers import Neighbourhood
from memsidecar.domain.memory import Memory, State, text_of
from memsidecar.domain.slots import same_value, slot_of
from memsidecar.domain.text import normalise
from memsidecar.domain.view import PartitionView


def said_again(new: Memory, slot: Neighbourhood) -> Memory | None:
    """The memory that says what a new one says, of a time that joins on to its own: nothing that contradicts it lies
    between. None when there is none, or when merging would lose words of it."""
    new = placed(new, slot)
    homes = [m for m in slot.alike(start_of(new)) if _keeps_text(m, new) and _joins(m, new, slot)]
    if homes and slot.stance.slot.quantity is not None:
        # A number may come twice by chance: what is surely of the same thing, with another number, goes before.
        against = (p for p in slot.against(start_of(new), None) if p.memory.state is State.ACTIVE)
        surest = max((slot.sure(p.stance.slot) for p in against), default=0.0)
        homes = [m for m in homes if (theirs := slot_of(m)) is not None and slot.sure(theirs) >= surest]
    return min(homes, key=lambda m: (not holds_at(m, start_of(new)), order_of(m)), default=None)


def echoed(new: Memory, slot: Neighbourhood, manner: Manner) -> Memory | None:
    """The quantity that a text tells again after another one took its place, the newest of several: without a word that
    it is so once more, or with the value that it had before in the same words, it is the old news. None for what a
    caller states by himself."""
    own = slot.stance.slot
    if own.quantity is None or not any(source.derived_from for source in new.provenance):
        return None
    found = []
    for other in slot.of_the_value():
        theirs = slot_of(other)
        if theirs is None or theirs.quantity is None or other.state is not State.SUPERSEDED:
            continue
        before = theirs.quantity.before
        again = before is not None and before == own.quantity.before
        if same_value(theirs, own) and other.scope.agent == new.scope.agent and (manner is Manner.STATED or again):
            found.append(other)
    return max(found, key=order_of, default=None)


def lost_again(view: PartitionView, new: Memory) -> Memory | None:
    """The memory of the same content that has lost before, as a new one has lost now; the first of several."""
    if not never_true(new):
        return None
    same = (view.memory(memory_id) for memory_id in view.holders(new.digest) if memory_id != new.id)
    return min((m for m in same if m is not None and never_true(m)), key=lambda m: (m.created_at, m.id), default=None)


def back_again(known: Memory, new: Memory, slot: Neighbourhood) -> Memory:
    """What is known, as if nothing had ended it, when that was only stated and gives way to the new one."""
    if known.state is State.SUPERSEDED and start_of(new) <= start_of(known) and _ended_by_less(known, new, slot):
        return replace(known, state=State.ACTIVE, valid_to=None, superseded_at=None)
    return known


def joined(known: Memory, new: Memory) -> Memory:
    """The known one with the time of both: from the earlier start to the later end, if it is not history."""
    if never_true(known):
        return known
    start = known.valid_from
    if (known.valid_from is None) != (new.valid_from is None):
        first = min(start_of(known), start_of(new))
        start = first if known.valid_from is not None or first < start_of(known) else None
    elif known.valid_from is not None:
        start = min(known.valid_from, start_of(new))
    return replace(known, valid_from=start, valid_to=_joined_end(known, new))


def _joined_end(known: Memory, new: Memory) -> int | None:
    if known.state is State.SUPERSEDED:
        return known.valid_to
    if known.valid_to is None:
        # An end that is learned of what was open ends it, unless it is that of an earlier time.
        return new.valid_to if new.valid_to is not None and new.valid_to > start_of(known) else None
    return None if new.valid_to is None else max(known.valid_to, new.valid_to)


def _keeps_text(known: Memory, new: Memory) -> bool:
    """Whether nothing that was written is lost: the words are the same, or what they were read from is kept."""
    if any(source.derived_from for source in new.provenance):
        return True
    return normalise(text_of(new.body)) in normalise(text_of(known.body))


def _joins(known: Memory, new: Memory, slot: Neighbourhood) -> bool:
    if never_true(known):
        return False
    start, first, last = start_of(new), start_of(known), end_of(known)
    if holds_at(known, start):
        # Who has moved there at a time was somewhere else before, if that was said and gives way now.
        return known.state is not State.SUPERSEDED or start == first or not _ended_by_less(known, new, slot)
    if known.state is State.SUPERSEDED and start > first:
        return False
    touching = new.valid_to is None or new.valid_to >= first if start < first else last is not None and start <= last
    if not touching and known.digest != new.digest:
        return False
    if start < first:
        between = (other for other in _true_in(slot, start, first) if not gives_way(other, new))
        return not any(_stands_between(other, start, first, said_of(new)) for other in between)
    return last is not None and not any(last <= start_of(other) <= start for other in _true_in(slot, last, start))


def _ended_by_less(known: Memory, new: Memory, slot: Neighbourhood) -> bool:
    """Whether what has ended a memory gives way to a new one that says the same."""
    end = end_of(known)
    return end is not None and any(start_of(m) == end and gives_way(m, new) for m in _true_in(slot, end, end))


def _true_in(slot: Neighbourhood, since: int, until: int) -> list[Memory]:
    return [peer.memory for peer in slot.against(since, until) if not never_true(peer.memory)]


def _stands_between(other: Memory, start: int, first: int, said: int) -> bool:
    """Whether it began, or was said again later than `said`, after `start` and until `first`."""
    if start < start_of(other) <= first:
        return True
    again = said_again_after(other, max(start, said)) if holds_at(other, start) else None
    return again is not None and again <= first
