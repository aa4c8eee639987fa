"""One question over one resident partition: candidates from every tier, their signals, their scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.events import Matrix
from memsidecar.domain.memory import Entity, Memory
from memsidecar.domain.question import Analysis
from memsidecar.domain.ranking import Profile, Signals, explain, main_tiers, order, score
from memsidecar.domain.recall import Hit, Question, Tier
from memsidecar.services.resident import Resident
from memsidecar.services.resident.columns import NO_ROW
from memsidecar.services.resident.filtering import matching

# Candidates that each tier brings for every hit asked for, and at least this many: the sum may lift a row that is
# second in both tiers over the first of either.
PER_HIT = 6
AT_LEAST = 64
# When only one tier has something to look for, its own order is nearly the final one.
ALONE_PER_HIT = 2
ALONE_AT_LEAST = 24

RowNumbers = NDArray[np.int64]
Ranked = tuple[float, int, int, int]
"""(-score, partition's place, birth, candidate): sorts into the order of the answer."""


class Search:
    def __init__(self, resident: Resident, question: Question, analysis: Analysis, profile: Profile, now: int) -> None:
        self._resident, self._question, self._analysis = resident, question, analysis
        self._profile, self._now = profile, now
        # Candidates by tier; a tier that had nothing to look for is not in it.
        self.found: dict[Tier, int] = {}
        self._rows: RowNumbers = np.zeros(0, dtype=np.int64)
        self._scores: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        self._signals: Signals | None = None
        self._tiers: list[Tier] = []
        self._entities: tuple[str, ...] = ()

    def run(self, tiers: frozenset[Tier], vector: Matrix | None) -> None:
        resident, question = self._resident, self._question
        if not resident.rows:
            self._note_empty(tiers, vector)
            return
        mask = matching(resident, question.scope, question.filter, self._now)
        alone = not self._analysis.terms and not self._analysis.entities and not question.entities
        per_hit, at_least = (ALONE_PER_HIT, ALONE_AT_LEAST) if alone else (PER_HIT, AT_LEAST)
        wanted = max(at_least, per_hit * question.max_hits)
        parts: list[RowNumbers] = []
        keyword: NDArray[np.float32] | None = None
        if Tier.KEYWORD in tiers and self._analysis.terms:
            keyword = resident.keywords.scores(self._analysis.terms, resident.rows)
            keyword *= mask
            parts.append(self._note(Tier.KEYWORD, _best_positive(keyword, wanted)))
        if Tier.GRAPH in tiers:
            self._entities = tuple(dict.fromkeys((*self._known(question.entities), *self._analysis.entities)))
            if self._entities:
                parts.append(self._note(Tier.GRAPH, self._about(mask, wanted)))
        cosines: tuple[RowNumbers, NDArray[np.float32]] | None = None
        if vector is not None and Tier.VECTOR in tiers:
            cosines = self._nearest(vector, wanted, mask)
            parts.append(self._note(Tier.VECTOR, cosines[0]))
        if not parts:
            return
        rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
        self._rows = self._with_neighbours(np.unique(rows), mask)
        if len(self._rows):
            self._signals = self._gather(keyword, cosines, vector)
            self._scores = score(self._signals, self._profile, self._now)
            self._tiers = main_tiers(self._signals, self._profile)

    def best(self, place: int) -> list[Ranked]:
        """The best candidates of this partition, for a merge with those of others."""
        if not len(self._rows):
            return []
        births: Any = self._resident.columns["birth"][self._rows]
        chosen = order(self._scores, births, self._question.max_hits)
        lowest = self._question.min_score
        return [(-float(self._scores[c]), place, int(births[c]), int(c)) for c in chosen if self._scores[c] >= lowest]

    def hit(self, candidate: int) -> Hit:
        signals = self._signals
        if signals is None:
            raise IndexError(candidate)
        memory = self._resident.records.get(int(self._rows[candidate]))
        total = float(self._scores[candidate])
        state = memory.state_at(self._now)
        hit = Hit(
            self._resident.partition,
            memory if state is memory.state else replace(memory, state=state),
            total,
            self._tiers[candidate],
        )
        if not self._question.explain:
            return hit
        components = explain(signals, candidate, self._profile, self._now, total)
        return replace(hit, components=components, path=self._path(memory))

    def said_by_named(self, candidate: int) -> bool:
        return self._signals is not None and bool(self._signals.speaker[candidate] > 0)

    def _note(self, tier: Tier, rows: RowNumbers) -> RowNumbers:
        self.found[tier] = len(rows)
        return rows

    def _note_empty(self, tiers: frozenset[Tier], vector: Matrix | None) -> None:
        if Tier.KEYWORD in tiers and self._analysis.terms:
            self.found[Tier.KEYWORD] = 0
        if Tier.VECTOR in tiers and vector is not None:
            self.found[Tier.VECTOR] = 0

    def _known(self, entities: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(e for e in entities if e in self._resident.lookup.rows)

    def _about(self, mask: NDArray[np.bool_], wanted: int) -> RowNumbers:
        """The newest rows about the question's entities, and the entities' own rows."""
        lookup = self._resident.lookup
        own = np.array([lookup.rows[e] for e in self._entities], dtype=np.int64)
        rows = np.concatenate([own, *(lookup.about(e).astype(np.int64) for e in self._entities)])
        return np.unique(rows[mask[rows]])[-wanted:]

    def _nearest(self, vector: Matrix, wanted: int, mask: NDArray[np.bool_]) -> tuple[RowNumbers, NDArray[np.float32]]:
        """The nearest rows that the mask allows. Most masks allow nearly all: then asking without one is cheaper."""
        index = self._resident.vectors
        rows, cosines = index.search(vector, wanted)
        allowed = mask[rows]
        if not allowed.all():
            if len(rows) < wanted:
                rows, cosines = rows[allowed], cosines[allowed]
            else:
                rows, cosines = index.search(vector, wanted, mask)
        return rows.astype(np.int64), cosines

    def _with_neighbours(self, rows: RowNumbers, mask: NDArray[np.bool_]) -> RowNumbers:
        """The candidates and the episodes before and after them, which share their relevance."""
        columns = self._resident.columns
        around: Any = np.concatenate([columns["previous"][rows], columns["following"][rows]]).astype(np.int64)
        around = around[around != NO_ROW]
        if not len(around):
            return rows
        around = around[mask[around]]
        return np.union1d(rows, around)

    def _gather(
        self,
        keyword: NDArray[np.float32] | None,
        cosines: tuple[RowNumbers, NDArray[np.float32]] | None,
        vector: Matrix | None,
    ) -> Signals:
        rows, columns = self._rows, self._resident.columns
        count = len(rows)
        cosine = np.zeros(count, dtype=np.float32)
        if cosines is not None and vector is not None:
            known = np.zeros(count, dtype=np.bool_)
            places = np.searchsorted(rows, cosines[0])
            cosine[places], known[places] = cosines[1], True
            if not known.all():
                cosine[~known] = self._resident.vectors.score(vector, rows[~known].astype(np.int32))
        said: Any = columns["said"][rows]
        importance: Any = columns["importance"][rows]
        confidence: Any = columns["confidence"][rows]
        usefulness: Any = columns["usefulness"][rows]
        accesses: Any = columns["accesses"][rows]
        return Signals(
            keyword=keyword[rows] if keyword is not None else np.zeros(count, dtype=np.float32),
            cosine=cosine,
            entity=self._entity_signal(),
            speaker=self._speaker_signal(),
            before=self._place(columns["previous"][rows]),
            after=self._place(columns["following"][rows]),
            said=said,
            importance=importance,
            confidence=confidence,
            usefulness=usefulness,
            accesses=accesses,
        )

    def _place(self, neighbours: Any) -> NDArray[np.intp]:
        """Where a neighbour stands among the candidates, -1 when it is not one."""
        places = np.searchsorted(self._rows, neighbours)
        places[places == len(self._rows)] = 0
        places[self._rows[places] != neighbours] = -1
        return np.asarray(places, dtype=np.intp)

    def _entity_signal(self) -> NDArray[np.float32]:
        """The share of the question's entities that a row mentions."""
        share = np.zeros(len(self._rows), dtype=np.float32)
        for entity in self._entities:
            about = self._resident.lookup.about(entity).astype(np.int64)
            share += np.isin(self._rows, about)
            own = self._resident.lookup.rows.get(entity)
            share += self._rows == (own if own is not None else NO_ROW)
        return np.minimum(share / max(1, len(self._entities)), np.float32(1.0))

    def _speaker_signal(self) -> NDArray[np.float32]:
        if len(self._analysis.people) != 1:
            return np.zeros(len(self._rows), dtype=np.float32)
        number = self._resident.columns.speakers.find(self._analysis.people[0])
        spoken: Any = self._resident.columns["speaker"][self._rows] == number
        return np.asarray(spoken, dtype=np.float32)

    def _path(self, memory: Memory) -> tuple[str, ...]:
        mentioned = {*memory.mentions, memory.id}
        names = []
        for entity in self._entities:
            if entity in mentioned:
                known = self._resident.memory(entity)
                if known is not None and isinstance(known.body, Entity):
                    names.append(known.body.display_name)
        return tuple(names)


def _best_positive(values: NDArray[np.float32], count: int) -> RowNumbers:
    """Indices of the `count` highest values above 0, in index order."""
    positive = np.flatnonzero(values > 0)
    if len(positive) > count:
        positive = positive[np.argpartition(-values[positive], count - 1)[:count]]
    return positive
