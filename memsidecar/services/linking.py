"""The order of an answer where memories of one slot meet: the newer one above what it supersedes, a disputed one with
its counterpart. Nothing else moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memsidecar.domain.memory import Memory, State
from memsidecar.domain.reading import sources_of
from memsidecar.domain.recall import HitStanding
from memsidecar.services.search import Candidate, Search


@dataclass(slots=True)
class Group:
    """Candidates that say the same, by their places among the ranked ones; the first one is shown. `source`, when it is
    not a candidate itself, is shown instead: they were read from it."""

    members: list[int]
    source: Memory | None = None

    @property
    def best(self) -> int:
        return min(self.members)


@dataclass(slots=True)
class Placed:
    """What stands at one place of an answer: candidates that say the same, or a memory that was not among them.

    `score` is that of its place: of one that was brought up, the score of the hit it belongs to. `place` is that of its
    search among those of the question.
    """

    score: float
    place: int
    group: Group | None = None
    brought: Memory | None = None
    counterpart_of: str = ""


@dataclass(slots=True)
class Linking:
    """`ranked` are the candidates of all searches, `groups` places among them, best first. What is `done` stands
    somewhere already: nothing is brought up in its stead."""

    searches: Sequence[Search]
    ranked: Sequence[Candidate]
    groups: Sequence[Group]
    done: set[tuple[int, str]]
    _placed: list[Placed] = field(default_factory=list)
    _group_of: dict[tuple[int, str], Group] = field(default_factory=dict)

    def first(self, count: int) -> list[Placed]:
        """The first so many places. They do not depend on the count, so that pages agree."""
        if not any(search.links for search in self.searches):
            return [self._of(group) for group in self.groups[:count]]
        for group in self.groups:
            if len(self._placed) >= count:
                break
            if self._names(group)[0] in self.done:
                continue
            here, name = self._of(group), self._names(group)[0][1]
            standings = standings_of(self.searches, self.ranked, group)
            for standing in standings:
                if standing.state is State.SUPERSEDED and self._bears(here.place, group, standing, standing.newer):
                    self._bring(standing.newer, group, here, name)
            self._put(here)
            for standing in standings:
                others = standing.counterparts
                if standing.state is State.DISPUTED and self._bears(here.place, group, standing, others):
                    self._bring(others, group, here, name)
        return self._placed[:count]

    def _of(self, group: Group) -> Placed:
        best = self.ranked[group.best]
        return Placed(best.score, best.place, group)

    def _bears(self, place: int, group: Group, standing: HitStanding, others: Sequence[str]) -> bool:
        shown = group.source or self.searches[place].memory(self.ranked[group.members[0]].number)
        return bool(others) and self.searches[place].bears(shown, standing, others[0])

    def _bring(self, others: Sequence[str], group: Group, here: Placed, counterpart_of: str) -> None:
        """Put one of the others here, unless one of them stands above already or here itself."""
        place, own = here.place, self._names(group)
        if any((place, each) in own or (place, each) in self.done for each in others):
            return
        search = self.searches[place]
        found = [memory for each in others if (memory := search.wanted(each)) is not None]
        if not found:
            return
        # What is like the hit says most beside it, a turn beside a turn, a fact beside a fact; of several the newest.
        kind = (group.source or search.memory(self.ranked[group.members[0]].number)).kind
        chosen = max(found, key=lambda memory: (memory.kind is kind, memory.said_at, memory.id))
        known = self._group(place, chosen.id)
        self._put(Placed(here.score, place, known, None if known else chosen, counterpart_of))
        # Facts that it states need no place of their own.
        self.done.update((place, each.id) for each in found if chosen.id in sources_of(each))

    def _put(self, placed: Placed) -> None:
        self._placed.append(placed)
        if placed.group is not None:
            self.done.update(self._names(placed.group))
        elif placed.brought is not None:
            self.done.add((placed.place, placed.brought.id))

    def _names(self, group: Group) -> list[tuple[int, str]]:
        """Of all that it stands for, what is shown first."""
        members = (self.ranked[each] for each in group.members)
        names = [(one.place, self.searches[one.place].memory(one.number).id) for one in members]
        return names if group.source is None else [(names[0][0], group.source.id), *names]

    def _group(self, place: int, memory_id: str) -> Group | None:
        """The candidates among which a memory is."""
        if not self._group_of:
            for group in self.groups:
                self._group_of.update((name, group) for name in self._names(group))
        return self._group_of.get((place, memory_id))


def standings_of(searches: Sequence[Search], ranked: Sequence[Candidate], group: Group) -> tuple[HitStanding, ...]:
    """What is stated by candidates that say the same, of the partition of the first."""
    members = [ranked[each] for each in group.members]
    search = searches[members[0].place]
    if not search.links:
        return ()
    found = dict.fromkeys(() if group.source is None else search.standings(group.source))
    for one in members:
        if one.place == members[0].place:
            found.update(dict.fromkeys(search.standings(search.memory(one.number))))
    return tuple(found)
