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
    """`superseded`: the turns of hits above which the product has put what holds instead of something that they say.
    A turn says many things: that one of them no longer holds makes it out of date for the questions after that one,
    and for those only the newer one is put there. `conflicts`: pairs of turns that a standing or a counterpart
    links; a turn with itself when two things that it says contradict each other."""
    superseded: dict[str, None] = {}
    pairs: dict[tuple[str, str], None] = {}
    overtaken: dict[str, set[str]] = {}

    def link(one: Sequence[str], other: Sequence[str], itself: bool = False) -> None:
        pairs.update((((a, b) if a < b else (b, a)), None) for a in one for b in other if itself or a != b)

    for hit in hits:
        own = turns.get(hit.memory, ())
        if hit.counterpart_of:
            link(own, turns.get(hit.counterpart_of, ()))
            overtaken.setdefault(hit.counterpart_of, set()).update(own)
        for standing in hit.standings:
            stated = [turn for turn in own if turn in turns.get(standing.memory, own)]
            newer = {*turns.get(standing.newer, ())} - {*own}
            if standing.superseded and newer & overtaken.get(hit.memory, set()):
                superseded.update(dict.fromkeys(stated))
            for other in standing.others:
                link(stated, turns.get(other, ()), itself=not standing.superseded)
    return {"superseded": list(superseded), "conflicts": [list(pair) for pair in pairs]}
