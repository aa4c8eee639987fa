"""The order of an answer where memories of one slot meet: the newer one above what it supersedes, a disputed one with
its counterpart. Nothing else moves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memsidecar.domain.memory import Memory, State
from memsidecar.domain.reading import sources_of
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
    _group_of: dict[tuple[int, str], Sequence[int]] = field(default_factory=dict)

    def first(self, count: int) -> list[Placed]:
        """The first so many places. They do not depend on the count, so that pages agree."""
        if not any(search.links for search in self.searches):
            return [self._of(group) for group in self.groups[:count]]
        for group in self.groups:
            if len(self._placed) >= count:
                break
            if self._name(group[0]) in self._done:
                continue
            here = self._of(group)
            search = self.searches[here.place]
            standings = standings_of(self.searches, (self.ranked[each] for each in group)) if search.links else ()
            names = [self._name(each) for each in group] if standings else []
            for standing in standings:
                if standing.state is State.SUPERSEDED and search.bears(standing):
                    self._bring(standing.newer, names, here, "")
            self._put(here)
            for standing in standings:
                if standing.state is State.DISPUTED:
                    self._bring(standing.counterparts, names, here, names[0][1])
        return self._placed[:count]

    def _of(self, group: Sequence[int]) -> Placed:
        return Placed(self.ranked[min(group)].score, self.ranked[group[0]].place, group)

    def _bring(self, others: Sequence[str], own: Sequence[tuple[int, str]], here: Placed, counterpart_of: str) -> None:
        """Put one of the others here, unless one of them stands above already or here itself."""
        place = here.place
        if any((place, each) in own or (place, each) in self._done for each in others):
            return
        search = self.searches[place]
        found = [memory for each in others if (memory := search.wanted(each)) is not None]
        if not found:
            return
        # What is like the hit says most beside it, a turn beside a turn, a fact beside a fact; of several the newest.
        kind = search.memory(self.ranked[here.group[0]].number).kind
        chosen = max(found, key=lambda memory: (memory.kind is kind, memory.said_at, memory.id))
        group = self._group(place, chosen.id)
        self._put(Placed(here.score, place, group, None if group else chosen, counterpart_of))
        # Facts that it states need no place of their own.
        self._done.update((place, each.id) for each in found if chosen.id in sources_of(each))

    def _put(self, placed: Placed) -> None:
        self._placed.append(placed)
        if placed.brought is not None:
            self._done.add((placed.place, placed.brought.id))
        else:
            self._done.update(map(self._name, placed.group))

    def _name(self, place: int) -> tuple[int, str]:
        one = self.ranked[place]
        return one.place, self.searches[one.place].memory(one.number).id

    def _group(self, place: int, memory_id: str) -> Sequence[int]:
        """The candidates among which a memory is; empty when it is not one."""
        if not self._group_of:
            for group in self.groups:
                self._group_of.update((self._name(each), group) for each in group)
        return self._group_of.get((place, memory_id), ())


def standings_of(searches: Sequence[Search], group: Iterable[Candidate]) -> tuple[HitStanding, ...]:
    """What is stated by candidates that say the same, of the partition of the first."""
    found: dict[HitStanding, None] = {}
    place = None
    for one in group:
        place = one.place if place is None else place
        if one.place == place:
            found.update(dict.fromkeys(searches[place].standings(one.number)))
    return tuple(found)
