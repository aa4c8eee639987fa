"""One question over one resident partition: candidates from every source, their signals, their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from memsidecar.domain.confidence import grounds, hit_confidence
from memsidecar.domain.conflicts.chain import true_at
from memsidecar.domain.cues import asks_for_history, is_polar
from memsidecar.domain.events import Matrix
from memsidecar.domain.grounds import NO_GROUNDS, Grounds
from memsidecar.domain.meeting import meets
from memsidecar.domain.memory import Entity, Memory, State
from memsidecar.domain.newer_first import LINKED
from memsidecar.domain.profile import Profile
from memsidecar.domain.question import Analysis
from memsidecar.domain.ranking import Scored, Signals, order, rank
from memsidecar.domain.reading import HARDLY_MORE, sources_of
from memsidecar.domain.recall import Component, Hit, HitStanding, Question, Tier, TierReport
from memsidecar.domain.scope import Partition
from memsidecar.domain.slots import BEARS, bears_on, slot_of
from memsidecar.domain.tokens import share_of_pairs, token_counts, tokens
from memsidecar.domain.traits import Trait
from memsidecar.services.associations import Associations
from memsidecar.services.resident import Resident
from memsidecar.services.resident.filtering import matching
from memsidecar.services.signals import gather, with_neighbours
from memsidecar.services.sources import SOURCES, Ask, Found, RowNumbers, Source, ask_all
from memsidecar.services.statements import Statements

# Candidates that each source brings for every hit asked for, and at least this many: the sum may lift a row that is
# second in both sources over the first of either.
PER_HIT = 6
AT_LEAST = 64
# When only one source has something to look for, its own order is nearly the final one; and text that says something is
# close to what it brings to mind in every source.
ALONE_PER_HIT = 2
# Beyond so many hits each brings as few more candidates: who wants hundreds gets the weak ones, too.
MANY = 20
ALONE_AT_LEAST = 24
# The newest rows are candidates for a profile in which freshness weighs this much.
FRESH = 0.05
# Candidates read without a break: about a millisecond.
READ_AT_ONCE = 40
_SUSPICIOUS = int(Trait.SUSPICIOUS)
# A statement that the question is about is nearly as close to it as the whole turn that states it, and so is what
# contradicts it: at least this share of the turn's cosine. Measured on BEAM: below it are turns that are asked about
# for something else that they say.
BEARING = 0.6


def _is_counted(memory: Memory) -> bool:
    """Whether it says how many or how much, which no question that yes answers is after."""
    slot = slot_of(memory)
    return slot is not None and slot.quantity is not None


class Candidate(NamedTuple):
    """Sorts into the order of the answer: best score first, equal ones newest first (`age` is minus the
    time at which it was said). `number` is that of the candidate in its search, `place` that of its search among those
    of the question; `fold` is equal for candidates that may say the same. `derived` was read from another memory."""

    behind: float
    age: int
    place: int
    birth: int
    number: int
    fold: int
    derived: bool = False

    @property
    def score(self) -> float:
        return -self.behind


class Search:
    def __init__(
        self,
        resident: Resident,
        question: Question,
        analysis: Analysis,
        profile: Profile,
        now: int,
        monotonic: Callable[[], float],
        sources: Sequence[Source] = SOURCES,
        known: int | None = None,
    ) -> None:
        """`known` is when the partition is read, default `now`, when the question is asked."""
        self._resident, self._question, self._analysis = resident, question, analysis
        self._known = now if known is None else known
        self._statements = Statements(resident, now, self._known, question.filter.valid_at)
        self._profile, self._now, self._monotonic, self._sources = profile, now, monotonic, sources
        # How each source did; one that had nothing to look for is not in it.
        self.reports: dict[Tier, TierReport] = {}
        # A source may have more than it was asked for.
        self.full = False
        self._rows: RowNumbers = np.zeros(0, dtype=np.int64)
        self._scored: Scored | None = None
        self._signals: Signals | None = None
        self._entities: tuple[str, ...] = ()
        self._read: dict[int, tuple[Memory, Tier, bool]] = {}
        self._found: Mapping[Tier, Found] = {}
        self._vector: Matrix | None = None
        self._over_graph = False
        self._over: tuple[str, ...] = ()
        self._pairs = share_of_pairs(analysis.terms)

    def run(self, tiers: frozenset[Tier], vector: Matrix | None, deadline: float | None = None, wider: int = 1) -> None:
        """Ask every source and rank. `wider` times as many candidates as usual."""
        self.look(tiers, vector, deadline, wider)
        self.rank()

    def look(self, tiers: frozenset[Tier], vector: Matrix | None, deadline: float | None, wider: int = 1) -> None:
        """The first half of `run`: candidates. Nothing may be written to the partition before the second."""
        resident, question, analysis = self._resident, self._question, self._analysis
        mask = matching(resident, question.scope, question.filter, self._now, self._known)
        known = (e for e in question.entities if e in resident.lookup.rows)
        self._entities = tuple(dict.fromkeys((*known, *analysis.entities)))
        alone = not analysis.terms and not self._entities
        few = alone or not question.asks
        per_hit, at_least = (ALONE_PER_HIT, ALONE_AT_LEAST) if few else (PER_HIT, AT_LEAST)
        hits = question.skip + question.max_hits
        wanted = max(at_least, per_hit * min(hits, MANY) + ALONE_PER_HIT * max(0, hits - MANY)) * wider
        newest = self._profile.freshness >= FRESH or analysis.cues.recent
        ask = Ask(resident, analysis, self._entities, vector, mask, wanted, newest)
        # A vector alone asks for what is near it, not for what is connected.
        asked = tiers - {Tier.GRAPH} if alone else tiers
        found, self.reports = ask_all(self._sources, ask, asked, self._monotonic, deadline)
        parts = [brought.rows for brought in found.values()]
        self.full = any(len(rows) >= wanted for rows in parts)
        if not parts:
            return
        self._rows = with_neighbours(np.concatenate(parts), resident, mask)
        self._found, self._vector, self._over_graph = found, vector, Tier.GRAPH in asked

    def rank(self) -> None:
        """The second half of `run`."""
        if not len(self._rows):
            return
        resident, analysis = self._resident, self._analysis
        self._signals = gather(resident, self._rows, analysis, self._entities, self._found, self._vector)
        associations = Associations(resident, self._rows) if self._over_graph else None
        self._scored = rank(
            self._signals,
            self._profile,
            self._now,
            broad=analysis.cues.broad,
            associate=associations.share if associations is not None and associations.possible else None,
        )
        self._over = associations.over if associations is not None else ()

    def best(self, place: int, limit: int) -> list[Candidate]:
        """The best candidates of this partition, for a merge with those of others."""
        if self._scored is None:
            return []
        scores = self._scored.scores
        columns = self._resident.columns
        births: Any = columns["birth"][self._rows]
        said: Any = columns["said"][self._rows]
        chosen = order(scores, said, births, limit)
        lowest = self._question.min_score
        rows = self._rows[chosen]
        found = zip(
            scores[chosen].tolist(),
            said[chosen].tolist(),
            births[chosen].tolist(),
            chosen.tolist(),
            columns["fold"][rows].tolist(),
            columns["derived"][rows].tolist(),
            strict=True,
        )
        return [
            Candidate(-score, -when, place, birth, index, fold, derived)
            for score, when, birth, index, fold, derived in found
            if score >= lowest
        ]

    def row(self, candidate: int) -> int:
        return int(self._rows[candidate])

    def source(self, candidate: int) -> tuple[int, Memory] | None:
        """The memory that a candidate was read from, with its row, if the question allows it; of several the newest."""
        allowed = (self.wanted(source) for source in sources_of(self.memory(candidate)))
        found = [memory for memory in allowed if memory is not None]
        newest = max(found, key=lambda memory: (memory.said_at, memory.id), default=None)
        return None if newest is None else (self._resident.lookup.rows[newest.id], newest)

    def had(self) -> frozenset[int]:
        """The candidates that whoever asks has already."""
        names = self.told()
        if not names:
            return frozenset()
        known = self._resident.lookup.rows
        rows = [row for name in names if (row := known.get(name)) is not None]
        return frozenset(np.flatnonzero(np.isin(self._rows, rows)).tolist())

    def told(self) -> frozenset[str]:
        """The memories of this partition that whoever asks has already, candidates or not."""
        # By name: a partition's hash is made anew each time.
        user = self._resident.partition.user
        return frozenset(name for partition, name in self._question.without if partition.user == user)

    @property
    def links(self) -> bool:
        """Whether there may be memories here that supersede or contradict others."""
        return self._statements.possible

    def standings(self, memory: Memory) -> tuple[HitStanding, ...]:
        return self._statements.standings(memory)

    def wanted(self, memory_id: str) -> Memory | None:
        """A memory that was not looked for, if the question allows it as a hit."""
        question, memory = self._question, self._statements.memory(memory_id)
        if memory is None or not meets(memory, question.scope, question.filter, self._now, self._known):
            return None
        return None if (self._resident.partition, memory_id) in question.without else memory

    def bears(self, own: Memory, standing: HitStanding, other_id: str) -> bool:
        """Whether the question is about what a hit states and another memory says otherwise, so that the other belongs
        beside it. A turn says many things; a question after one of them must not be answered with what has
        become of the others. One that says nothing else is there for what it states.

        What holds instead of a statement need not be like the question: "I moved to Berlin" is hardly like "Where do I
        live?"."""
        other = self._statements.memory(other_id) if other_id else None
        at = self._question.filter.valid_at
        if other is None or (at is not None and not true_at(other, at)):
            return False
        if own.id == standing.memory_id:
            return True
        text = self._question.text
        polar = is_polar(text)
        if asks_for_history(text) and not (polar and standing.state is State.DISPUTED):
            return False
        if polar and standing.state is State.SUPERSEDED and _is_counted(other):
            return False
        if len(own.text) <= HARDLY_MORE * len(standing.text):
            return True
        rows = [self._resident.lookup.rows[each] for each in (own.id, standing.memory_id, other_id)]
        if self._vector is None or not all(map(self._resident.has_vectors, (own.id, standing.memory_id, other_id))):
            return self._shares_words(standing.text, other.text)
        whole, said, otherwise = self._resident.vectors.score(self._vector, np.array(rows, dtype=np.int32)).tolist()
        closeness = said if standing.state is State.SUPERSEDED else min(said, otherwise)
        return bool(closeness >= BEARING * whole) or self._names_slot(other)

    def _names_slot(self, memory: Memory) -> bool:
        """Whether the question has most of the words that tell the memory's slot from others."""
        slot = slot_of(memory)
        if slot is None or slot.quantity is None:
            return False
        return bears_on(slot, frozenset(tokens(self._question.text))) >= BEARS

    def _shares_words(self, *texts: str) -> bool:
        asked = set(self._analysis.terms)
        return any(not asked.isdisjoint(token_counts(text)) for text in texts)

    def brought(self, memory: Memory, score: float, best: float) -> Hit:
        """A memory that was not looked for, as a hit beside one with that score."""
        return Hit(
            self._resident.partition,
            self._seen(memory),
            score,
            Tier.GRAPH,
            (Component(LINKED, score, 1.0, score),) if self._question.explain else (),
            confidence=hit_confidence(score, best, self._pairs),
            suspicious=self._is_suspicious(self._resident.lookup.rows[memory.id]),
            standings=self._statements.standings(memory),
        )

    def standing_for(self, source: Memory, hit: Hit) -> Hit:
        """The memory that a hit was read from, in its place."""
        suspicious = self._is_suspicious(self._resident.lookup.rows[source.id])
        return replace(hit, memory=self._seen(source), suspicious=suspicious)

    def hit(self, candidate: int, best: float, at_least: float = 0.0) -> Hit:
        """A candidate as a hit; `best` is the best score of the answer. With less than `at_least` it stands beside a
        hit that has as much, for the sake of which it was moved there."""
        if self._scored is None:
            raise IndexError(candidate)
        memory, tier, suspicious = self._read.get(candidate) or self._reading(candidate, self._scored)
        own = float(self._scored.scores[candidate])
        score = max(own, at_least)
        hit = Hit(
            self._resident.partition,
            memory,
            score,
            tier,
            confidence=hit_confidence(score, best, self._pairs),
            suspicious=suspicious,
        )
        if not self._question.explain:
            return hit
        components = self._scored.explain(candidate)
        if score > own:
            components = (*components, Component(LINKED, score - own, 1.0, score - own))
        return replace(hit, components=components, path=self._path(memory))

    def _reading(self, candidate: int, scored: Scored) -> tuple[Memory, Tier, bool]:
        """The memory with its state of now, the tier that found it, and whether it is suspicious."""
        suspicious = self._is_suspicious(self.row(candidate))
        return self._seen(self.memory(candidate)), scored.main_tier(candidate), suspicious

    def _seen(self, memory: Memory) -> Memory:
        state = self._statements.state(memory)
        return memory if state is memory.state else replace(memory, state=state)

    def _is_suspicious(self, row: int) -> bool:
        return bool(int(self._resident.columns["traits"][row]) & _SUSPICIOUS)

    def reading(self, limit: int) -> Iterator[None]:
        """Read the best candidates in short steps. When others have written in between, the search is of no use."""
        for done, candidate in enumerate(self.best(0, limit), 1):
            if self._scored is None:
                return
            try:
                self._read[candidate.number] = self._reading(candidate.number, self._scored)
            except KeyError:
                return  # gone meanwhile
            if not done % READ_AT_ONCE:
                yield

    def memory(self, candidate: int) -> Memory:
        return self._resident.records.get(int(self._rows[candidate]))

    def name(self, candidate: int) -> tuple[Partition, str]:
        read = self._read.get(candidate)
        return self._resident.partition, (self.memory(candidate) if read is None else read[0]).id

    def vectors(self, candidates: Sequence[int]) -> Matrix:
        """The first vector of each candidate; zeros without one."""
        return self._resident.vectors.take(self._rows[list(candidates)].astype(np.int32))

    @property
    def grounds(self) -> Grounds:
        """What an answer from this partition rests on."""
        if self._scored is None or self._signals is None:
            return NO_GROUNDS
        derived: Any = self._resident.columns["derived"][self._rows]
        counted = ~derived
        if self._signals.echo is not None:
            counted = counted & (self._signals.echo == 0)
        return grounds(self._signals, self._scored.own, counted)

    def _path(self, memory: Memory) -> tuple[str, ...]:
        """Names of the entities that led to a memory: those of the question, else those of the best hits."""
        mentioned = {*memory.mentions, memory.id}
        led = [e for e in self._entities if e in mentioned] or [e for e in self._over if e in mentioned]
        known = (self._resident.memory(entity) for entity in led)
        return tuple(k.body.display_name for k in known if k is not None and isinstance(k.body, Entity))
