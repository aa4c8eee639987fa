"""What was read from what: facts and preferences, and the memories that state them."""

from __future__ import annotations

from memsidecar.domain.memory import Fact, Memory, Preference


def sources_of(memory: Memory) -> tuple[str, ...]:
    """Ids of the memories that a fact or a preference was read from, the first source first; empty for other kinds."""
    if not isinstance(memory.body, Fact | Preference):
        return ()
    found = (source for each in memory.provenance for source in each.derived_from if source != memory.id)
    return tuple(dict.fromkeys(found))
