"""What the product itself says of the turns of an answer: which are no longer current, which contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stated:
    """A standing of a hit, in names of memories: that which is `superseded`, or disputed; `newer` is what holds
    instead, `others` what says otherwise."""

    memory: str
    superseded: bool
    newer: str
    others: Sequence[str]


@dataclass(frozen=True)
class Shown:
    """A hit, in names of memories."""

    memory: str
    standings: Sequence[Stated] = ()
    counterpart_of: str = ""


def marks(hits: Iterable[Shown], turns: Mapping[str, Sequence[str]]) -> dict[str, list[object]]:
    """`superseded`: the turns of hits that say of themselves, or of what was read from them, that another memory holds
    instead, unless they say that, too. `conflicts`: pairs of turns that a standing or a counterpart links."""
    superseded: dict[str, None] = {}
    pairs: dict[tuple[str, str], None] = {}

    def link(one: Sequence[str], other: Sequence[str]) -> None:
        pairs.update((((a, b) if a < b else (b, a)), None) for a in one for b in other if a != b)

    for hit in hits:
        own = turns.get(hit.memory, ())
        if hit.counterpart_of:
            link(own, turns.get(hit.counterpart_of, ()))
        for standing in hit.standings:
            stated = set(own) & set(turns.get(standing.memory, own))
            if standing.superseded and not set(turns.get(standing.newer, ())) & set(own):
                superseded.update(dict.fromkeys(stated))
            for other in standing.others:
                link(tuple(stated), turns.get(other, ()))
    return {"superseded": list(superseded), "conflicts": [list(pair) for pair in pairs]}
