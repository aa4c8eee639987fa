"""From ranked candidates of one or more partitions to the hits of an answer: folded, varied, enough, and in pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from memsidecar.domain import limits
from memsidecar.domain.diversity import enough, fold, fold_key, vary
from memsidecar.domain.events import Matrix
from memsidecar.domain.recall import Hit
from memsidecar.services.linking import Group, Linking, Placed, standings_of
from memsidecar.services.search import Candidate, Search

# Candidates looked at beyond those that are wanted: near duplicates take places, and variety needs something to choose.
_SPARE = 10
_VARIED_FROM = 4
# Hits that are chosen for variety: choosing compares each with all, and the event loop waits.
_VARIED = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """`skip` hits were on earlier pages, `most` are wanted now. `diversity` is 0 to 1. `breadth` is None for as many as
    there are, else 0 (narrow) to 1 (open): then the scores decide how many."""

    skip: int
    most: int
    diversity: float
    breadth: float | None


@dataclass(frozen=True, slots=True)
class Page:
    """The hits, whether there are more, and which search the best candidate is from (-1: none). `starved`: so many
    candidates say the same that others may have been crowded out."""

    hits: list[Hit]
    more: bool
    first: int
    starved: bool = False


def answer(searches: Sequence[Search], wanted: Wanted) -> Page:
    """The page of an answer. Near duplicates take no places: as many more candidates are looked at as it takes."""
    depth = min(wanted.skip + wanted.most, limits.MAX_DEPTH_OF_PAGES)
    had = [search.had() for search in searches]
    looked_at = depth * _VARIED_FROM if wanted.diversity > 0 else depth + _SPARE
    looked_at += sum(map(len, had))
    while True:
        found = [item for index, search in enumerate(searches) for item in search.best(index, looked_at + 1)]
        ranked = sorted(found)[: looked_at + 1] if len(searches) > 1 else found
        if not ranked:
            return Page([], False, -1)
        folded = _folded(searches, ranked)
        groups = _new(folded, ranked, had) if any(had) else folded
        # Many near duplicates must not take the places of what else there is.
        if len(groups) > depth or len(ranked) <= looked_at:
            break
        looked_at *= _VARIED_FROM
    starved = len(folded) <= depth and len(folded) < len(ranked) and any(search.full for search in searches)
    if wanted.diversity > 0:
        groups = _varied(searches, ranked, groups, depth + 1, wanted)
    best = ranked[0].score
    placed = Linking(searches, ranked, groups).first(depth + 1)
    page = placed[wanted.skip : depth]
    if wanted.breadth is not None:
        page = page[: enough([one.score for one in page], wanted.breadth, wanted.most)]
    hits = [_hit(searches, ranked, one, best) for one in page]
    more = wanted.breadth is None and len(placed) > depth and depth < limits.MAX_DEPTH_OF_PAGES
    return Page(hits, more, ranked[0].place, starved)


def _folded(searches: Sequence[Search], ranked: Sequence[Candidate]) -> list[Group]:
    """Near duplicates together, and what was read from a memory with it. Equal numbers hardly ever belong to different
    texts: then they stay apart."""
    groups = [Group(members) for members in _alike(searches, ranked)]
    return _with_sources(searches, ranked, groups) if any(one.derived for one in ranked) else groups


def _alike(searches: Sequence[Search], ranked: Sequence[Candidate]) -> list[list[int]]:
    numbers = [candidate.fold for candidate in ranked]
    if len(set(numbers)) == len(numbers):
        return [[place] for place in range(len(ranked))]
    groups = []
    for group in fold(numbers):
        if len(group) == 1:
            groups.append(group)
            continue
        keys: dict[str, list[int]] = {}
        for place in group:
            one = ranked[place]
            keys.setdefault(fold_key(searches[one.place].memory(one.number)), []).append(place)
        groups += keys.values()
    return sorted(groups)


def _with_sources(searches: Sequence[Search], ranked: Sequence[Candidate], groups: list[Group]) -> list[Group]:
    """One hit for one statement: facts join the memory that they were read from, where the best of them stands. Whether
    that is a candidate itself makes no difference, so that pages agree."""

    def row_of(place: int) -> tuple[int, int]:
        return ranked[place].place, searches[ranked[place].place].row(ranked[place].number)

    group_of = {row_of(place): group for group in groups for place in group.members}
    joined: list[Group] = []
    for group in groups:
        one = ranked[group.members[0]]
        source = searches[one.place].source(one.number) if one.derived else None
        if source is None:
            joined.append(group)
            continue
        row, memory = source
        known = group_of.get((one.place, row))
        if known is None:
            group.source = memory
            group_of[one.place, row] = group
            joined.append(group)
        elif known is not group:
            known.members += group.members
    return sorted(joined, key=lambda group: group.best)


def _new(groups: Sequence[Group], ranked: Sequence[Candidate], had: Sequence[frozenset[int]]) -> list[Group]:
    """Those of which whoever asks has nothing."""
    return [
        group for group in groups if not any(ranked[each].number in had[ranked[each].place] for each in group.members)
    ]


def _varied(
    searches: Sequence[Search], ranked: Sequence[Candidate], groups: list[Group], count: int, wanted: Wanted
) -> list[Group]:
    """The first `_VARIED` by variety, the others after them as they are."""
    # Each page chooses from as many more, so that the pages before it stay as they were.
    opens = np.array([group.best // (_VARIED_FROM * wanted.most) * wanted.most for group in groups], dtype=np.intp)
    pool = groups[: int(np.searchsorted(opens, _VARIED, side="right"))]
    firsts = [ranked[group.best] for group in pool]
    scores = np.array([one.score for one in firsts], dtype=np.float32)
    vectors: Matrix = np.stack([searches[one.place].vector(one.number) for one in firsts])
    chosen = vary(scores, vectors, min(count, _VARIED), wanted.diversity, opens[: len(pool)]).tolist()
    taken = set(chosen)
    return [groups[place] for place in (*chosen, *(p for p in range(len(groups)) if p not in taken))]


def _hit(searches: Sequence[Search], ranked: Sequence[Candidate], placed: Placed, best: float) -> Hit:
    search, group = searches[placed.place], placed.group
    if group is None:
        assert placed.brought is not None
        return replace(search.brought(placed.brought, placed.score, best), counterpart_of=placed.counterpart_of)
    members = [ranked[place] for place in group.members]
    if group.source is None:
        hit = search.hit(members[0].number, best, placed.score)
        others = members[1:]
    else:
        hit = search.standing_for(group.source, search.hit(ranked[group.best].number, best, placed.score))
        others = members
    if search.links:
        standings = standings_of(searches, ranked, group)
        hit = replace(hit, standings=standings, counterpart_of=placed.counterpart_of)
    if not others:
        return hit
    return replace(hit, duplicates=tuple(searches[one.place].name(one.number) for one in others))
