"""What supersedes a hit's statement stays above the hit, whoever has put the hits in another order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memsidecar.domain.memory import State
from memsidecar.domain.recall import Component, Hit

LINKED = "linked"
"""The component of a score that a memory has for what it states, supersedes or contradicts."""


def newer_first(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits in their order, but each that is there for what it supersedes (`Hit.counterpart_of`) directly above that
    hit, with at least its score, unless it stands above it already."""
    ordered = list(hits)
    for newer in hits:
        if not newer.counterpart_of:
            continue
        place = next((at for at, hit in enumerate(ordered) if _is_superseded(hit, newer)), None)
        own = ordered.index(newer)
        if place is not None and place < own:
            ordered.insert(place, _lifted(ordered.pop(own), ordered[place].score))
    return tuple(ordered)


def _is_superseded(hit: Hit, newer: Hit) -> bool:
    return (
        hit.memory.id == newer.counterpart_of
        and hit.partition == newer.partition
        and any(each.state is State.SUPERSEDED and newer.memory.id in each.newer for each in hit.standings)
    )


def _lifted(hit: Hit, score: float) -> Hit:
    change = score - hit.score
    if change <= 0:
        return hit
    components = (*hit.components, Component(LINKED, change, 1.0, change)) if hit.components else ()
    return replace(hit, score=score, components=components)
