"""From ranked candidates of one or more partitions to the hits of an answer: folded, varied, enough, and in pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memsidecar.domain.diversity import enough, fold, fold_key, vary
from memsidecar.domain.events import Matrix
from memsidecar.domain.recall import Component, Hit
from memsidecar.domain.scope import Partition
from memsidecar.services.linking import Group, Linking, Placed, standings_of
from memsidecar.services.search import Candidate, Search

# Candidates looked at beyond those that are wanted: near duplicates take places, and variety needs something to choose.
_SPARE = 10
_VARIED_FROM = 4
# Hits that are chosen for variety: choosing compares each with all, about 3 ms, and the event loop waits.
_VARIED = 30


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of the first `depth` hits `most` after the first `skip`: what they are depends on the depth alone, so that pages
    of one depth agree. `diversity` is 0 to 1. `breadth` is None for as many as there are, else 0 (narrow) to 1 (open):
    then the scores decide how many. No hit scores more than `ceiling`: the last of those before."""

    skip: int
    most: int
    depth: int
    diversity: float
    breadth: float | None
    ceiling: float = 1.0


@dataclass(frozen=True, slots=True)
class Page:
    """The hits, whether there are more, and which search the best candidate is from (-1: none). `starved`: so many
    candidates say the same that others may have been crowded out."""

    hits: list[Hit]
    more: bool
    first: int
    starved: bool = False


@dataclass(frozen=True, slots=True)
class Before:
    """What pages before have shown: all that their hits stand for, and the score of the last of them."""

    told: frozenset[tuple[Partition, str]]
    lowest: float
    starved: bool = False


def answer(searches: Sequence[Search], wanted: Wanted) -> Page:
    """The page of an answer. Near duplicates take no places: as many more candidates are looked at as it takes."""
    found = _found(searches, wanted)
    page = found.placed[wanted.skip : min(wanted.skip + wanted.most, wanted.depth)]
    if wanted.breadth is not None:
        page = page[: enough([one.score for one in page], wanted.breadth, wanted.most)]
    hits = [_hit(searches, found.ranked, one, found.best, wanted.ceiling) for one in page]
    more = wanted.breadth is None and len(found.placed) > wanted.skip + len(page)
    return Page(hits, more, found.first, found.starved)


def passed(searches: Sequence[Search], wanted: Wanted) -> Before:
    """What the hits of `answer` stand for, without the hits."""
    found = _found(searches, wanted)
    shown = found.placed[wanted.skip : min(wanted.skip + wanted.most, wanted.depth)]
    told = frozenset(name for one in shown for name in _names(searches, found.ranked, one))
    lowest = min((one.score for one in shown), default=wanted.ceiling)
    return Before(told, min(lowest, wanted.ceiling), found.starved)


@dataclass(frozen=True, slots=True)
class _Found:
    ranked: list[Candidate]
    placed: list[Placed]
    starved: bool

    @property
    def first(self) -> int:
        return self.ranked[0].place if self.ranked else -1

    @property
    def best(self) -> float:
        return self.ranked[0].score


def _found(searches: Sequence[Search], wanted: Wanted) -> _Found:
    """The first `depth` places, and one more if there is one."""
    depth = wanted.depth
    had = [search.had() for search in searches]
    looked_at = depth + _SPARE
    if wanted.diversity > 0:
        looked_at = max(looked_at, _VARIED_FROM * min(depth, _VARIED))
    looked_at += sum(map(len, had))
    while True:
        found = [item for index, search in enumerate(searches) for item in search.best(index, looked_at + 1)]
        ranked = sorted(found)[: looked_at + 1] if len(searches) > 1 else found
        if not ranked:
            return _Found([], [], False)
        folded = _folded(searches, ranked)
        groups = _new(folded, ranked, had) if any(had) else folded
        # Many near duplicates must not take the places of what else there is.
        if len(groups) > depth or len(ranked) <= looked_at:
            break
        looked_at *= _VARIED_FROM
    starved = len(folded) <= depth and len(folded) < len(ranked) and any(search.full for search in searches)
    if wanted.diversity > 0:
        groups = _varied(searches, ranked, groups, depth + 1, wanted.diversity)
    told = {(place, name) for place, search in enumerate(searches) for name in search.told()}
    return _Found(ranked, Linking(searches, ranked, groups, told).first(depth + 1), starved)


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
    searches: Sequence[Search], ranked: Sequence[Candidate], groups: list[Group], count: int, diversity: float
) -> list[Group]:
    """The first `_VARIED` by variety, the others after them as they are."""
    count = min(count, _VARIED)
    pool = groups[: _VARIED_FROM * count]
    firsts = [ranked[group.best] for group in pool]
    scores = np.array([one.score for one in firsts], dtype=np.float32)
    chosen = vary(scores, _vectors(searches, firsts), count, diversity).tolist()
    taken = set(chosen)
    return [groups[place] for place in (*chosen, *(p for p in range(len(groups)) if p not in taken))]


def _vectors(searches: Sequence[Search], candidates: Sequence[Candidate]) -> Matrix:
    """The first vector of each, zeros without one."""
    found: list[Matrix] = [np.empty(0, dtype=np.float32)] * len(candidates)
    for place, search in enumerate(searches):
        mine = [number for number, one in enumerate(candidates) if one.place == place]
        for number, vector in zip(mine, search.vectors([candidates[number].number for number in mine]), strict=True):
            found[number] = vector
    return np.stack(found)


def _names(searches: Sequence[Search], ranked: Sequence[Candidate], placed: Placed) -> Iterator[tuple[Partition, str]]:
    """All that a place stands for."""
    if placed.brought is not None:
        yield placed.brought.scope.partition, placed.brought.id
    if placed.group is not None:
        if placed.group.source is not None:
            yield placed.group.source.scope.partition, placed.group.source.id
        for one in (ranked[place] for place in placed.group.members):
            yield searches[one.place].name(one.number)


def _hit(searches: Sequence[Search], ranked: Sequence[Candidate], placed: Placed, best: float, ceiling: float) -> Hit:
    hit = _uncapped(searches, ranked, placed, best)
    if hit.score <= ceiling:
        return hit
    over = ceiling - hit.score
    components = (*hit.components, Component("cap", 1.0, over, over)) if hit.components else ()
    return replace(hit, score=ceiling, components=components)


def _uncapped(searches: Sequence[Search], ranked: Sequence[Candidate], placed: Placed, best: float) -> Hit:
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
