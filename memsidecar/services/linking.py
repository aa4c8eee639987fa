"""The order of an answer where memories of one slot meet: the newer one above what it supersedes, a disputed one with
its counterpart. Nothing else moves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memsidecar.domain.memory import Memory, State
from memsidecar.domain.recall import HitStanding
from memsidecar.services.search import Candidate, Search


@dataclass(frozen=True, slots=True)
class Placed:
    """What stands at one place of an answer: candidates that say the same, or a memory that was not among them.

    `score` is that of its place: of one that was brought up, the score of the hit it belongs to. `place` is that of its
    search among those of the question.
    """

    score: float
    place: int
    group: Sequence[int] = ()
    brought: Memory | None = None
    counterpart_of: str = ""


@dataclass(slots=True)
class Linking:
    """`ranked` are the candidates of all searches, `groups` places among them, best first."""

    searches: Sequence[Search]
    ranked: Sequence[Candidate]
    groups: Sequence[Sequence[int]]
    _placed: list[Placed] = field(default_factory=list)
    _done: set[tuple[int, str]] = field(default_factory=set)
    _group_of: dict[tuple[int, str], int] = field(default_factory=dict)

    def first(self, count: int) -> list[Placed]:
        """The first so many places. They do not depend on the count, so that pages agree."""
        if not any(search.links for search in self.searches):
            firsts = ((self.ranked[group[0]], group) for group in self.groups[:count])
            return [Placed(first.score, first.place, group) for first, group in firsts]
        for index, group in enumerate(self.groups):
            if len(self._placed) >= count:
                break
            if self._is_done(index):
                continue
            first = self.ranked[group[0]]
            search = self.searches[first.place]
            standings = self._standings(group) if search.links else ()
            if not standings:
                self._put(Placed(first.score, first.place, group))
                continue
            names = [self._name(each) for each in group]
            own = {memory_id for _, memory_id in names}
            for standing in standings:
                if standing.state is State.SUPERSEDED and search.bears(standing):
                    self._bring(standing.newer, own, first, "")
            self._put(Placed(first.score, first.place, group))
            for standing in standings:
                if standing.state is State.DISPUTED:
                    self._bring(standing.counterparts, own, first, names[0][1])
        return self._placed[:count]

    def _bring(self, wanted: Sequence[str], own: set[str], beside: Candidate, counterpart_of: str) -> None:
        """Put one of the wanted memories here, unless one of them stands above already or here itself."""
        place = beside.place
        if not wanted or any(each in own or (place, each) in self._done for each in wanted):
            return
        groups = self._groups()
        there = [groups[place, each] for each in wanted if (place, each) in groups]
        if there:
            self._put(Placed(beside.score, place, self.groups[min(there)], None, counterpart_of))
            return
        kind = self.searches[place].memory(beside.number).kind
        found = [memory for each in wanted if (memory := self.searches[place].wanted(each)) is not None]
        if found:
            # What is like the hit says most beside it: a turn beside a turn, a fact beside a fact.
            brought = next((memory for memory in found if memory.kind is kind), found[0])
            self._put(Placed(beside.score, place, (), brought, counterpart_of))

    def _put(self, placed: Placed) -> None:
        self._placed.append(placed)
        if placed.brought is not None:
            self._done.add((placed.place, placed.brought.id))
        else:
            self._done.update(map(self._name, placed.group))

    def _is_done(self, index: int) -> bool:
        return any(self._name(each) in self._done for each in self.groups[index])

    def _standings(self, group: Sequence[int]) -> tuple[HitStanding, ...]:
        return standings_of(self.searches, (self.ranked[each] for each in group))

    def _name(self, place: int) -> tuple[int, str]:
        one = self.ranked[place]
        return one.place, self.searches[one.place].memory(one.number).id

    def _groups(self) -> dict[tuple[int, str], int]:
        """Where each candidate stands; made when something is looked for."""
        if not self._group_of:
            for index, group in enumerate(self.groups):
                self._group_of.update((self._name(each), index) for each in group)
        return self._group_of


def standings_of(searches: Sequence[Search], group: Iterable[Candidate]) -> tuple[HitStanding, ...]:
    """What is stated by candidates that say the same, of the partition of the first."""
    found: dict[HitStanding, None] = {}
    place = None
    for one in group:
        place = one.place if place is None else place
        if one.place == place:
            found.update(dict.fromkeys(searches[place].standings(one.number)))
    return tuple(found)
