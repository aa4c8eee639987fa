"""What a memory says something about: only memories of one slot can conflict."""

from __future__ import annotations

from dataclasses import dataclass

from memsidecar.domain.memory import Fact, Memory, Preference
from memsidecar.domain.text import normalise

_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Slot:
    """Whose (`subject`: an entity id, empty for the user) and what about.

    `family` is what an index holds: an attribute's key, or what is common to attributes that nobody has listed.
    `qualifier` tells slots of one family apart: stems of the words that say of what.
    """

    subject: str
    family: str
    qualifier: frozenset[str] = _NOTHING


def slot_of(memory: Memory) -> Slot | None:
    """The slot of a fact or a preference; None for what has none."""
    match memory.body:
        case Fact(subject=subject, predicate=predicate) if predicate:
            return Slot(subject, normalise(predicate))
        case Preference(subject=subject, topic=topic) if topic:
            return Slot(subject, "preference", frozenset((normalise(topic),)))
        case _:
            return None
