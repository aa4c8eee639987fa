"""Two clocks of a question about the past: what the store knew then, and what was true then."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AsOf:
    """Microseconds since 1970-01-01 UTC. `valid_at` is a time in the world, `known_at` one of recording; None is now,
    for `valid_at` whatever the times that a memory gives."""

    valid_at: int | None = None
    known_at: int | None = None


NOW = AsOf()
