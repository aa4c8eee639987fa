"""What was read from what: facts and preferences, and the memories that state them."""

from __future__ import annotations

from collections.abc import Iterable

from memsidecar.domain.memory import Fact, Memory, Preference


def sources_of(memory: Memory) -> tuple[str, ...]:
    """Ids of the memories that a fact or a preference was read from, the first source first; empty for other kinds."""
    if not isinstance(memory.body, Fact | Preference):
        return ()
    found = (source for each in memory.provenance for source in each.derived_from if source != memory.id)
    return tuple(dict.fromkeys(found))


HARDLY_MORE = 1.5
"""A text is hardly more than what it states when it is at most so many times as long."""


def hardly_more(memory: Memory, statements: Iterable[Memory]) -> bool:
    """Whether a text says hardly more than these statements, which were read from it."""
    return len(memory.text) <= HARDLY_MORE * sum(len(each.text) for each in statements)
