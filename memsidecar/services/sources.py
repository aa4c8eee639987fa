"""Where candidates come from: each source looks in its own way, and may fail or run out of time alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.events import Matrix
from memsidecar.domain.question import Analysis
from memsidecar.domain.recall import Tier, TierOutcome, TierReport
from memsidecar.services.resident import Resident

_log = logging.getLogger(__name__)

# Rows about the question's entities, and best rows of each source, whose entities are looked at; entities that are
# followed from there, and rows (the newest) that they lead to.
HOP_ROWS = 16
HOP_BEST = 4
HOP_ENTITIES = 8
HOP_FURTHER = 24
# An entity that more rows mention than this, and more than a twentieth of all, leads nowhere.
MANY_ROWS = 30
MANY_SHARE = 0.05

RowNumbers = NDArray[np.int64]
NO_ROWS: RowNumbers = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """What every source is asked: the question as analysed, the rows that count, how many are wanted, and whether what
    is new is asked for."""

    resident: Resident
    analysis: Analysis
    entities: tuple[str, ...]
    vector: Matrix | None
    mask: NDArray[np.bool_]
    wanted: int
    newest: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Rows that a source brings, with their values, or (`everywhere`) the values of all rows of the partition."""

    rows: RowNumbers
    values: NDArray[np.float32] | None = None
    everywhere: bool = False

    def best(self, count: int) -> RowNumbers:
        """The rows with the highest values."""
        if self.values is None or len(self.rows) <= count:
            return self.rows
        values = self.values[self.rows] if self.everywhere else self.values
        return self.rows[np.argpartition(-values, count - 1)[:count]]


class Source(Protocol):
    """One way to find candidates."""

    @property
    def tier(self) -> Tier: ...

    def find(self, ask: Ask, so_far: Sequence[Found]) -> Found | None:
        """Candidates that the mask allows, each once, at most about `ask.wanted`; None when the question gives the
        source nothing to look for. `so_far` is what the sources before have found. Runs on the event loop: well under a
        millisecond."""
        ...


class KeywordSource:
    tier = Tier.KEYWORD

    def find(self, ask: Ask, so_far: Sequence[Found]) -> Found | None:
        if not ask.analysis.terms:
            return None
        scores = ask.resident.keywords.scores(ask.analysis.terms, ask.resident.rows)
        scores *= ask.mask
        return Found(_best_positive(scores, ask.wanted), scores, everywhere=True)


class VectorSource:
    """The nearest rows. Most masks allow nearly all: then asking without one is cheaper."""

    tier = Tier.VECTOR

    def find(self, ask: Ask, so_far: Sequence[Found]) -> Found | None:
        if ask.vector is None:
            return None
        index = ask.resident.vectors
        rows, cosines = index.search(ask.vector, ask.wanted)
        allowed = ask.mask[rows]
        if not allowed.all():
            if len(rows) < ask.wanted:
                rows, cosines = rows[allowed], cosines[allowed]
            else:
                rows, cosines = index.search(ask.vector, ask.wanted, ask.mask)
        return Found(rows.astype(np.int64), cosines)


class GraphSource:
    """Rows about the question's entities, and rows that mention what the best rows mention: one hop and two.

    The best rows are those about the question's entities and the first that the other sources found.
    """

    tier = Tier.GRAPH

    def find(self, ask: Ask, so_far: Sequence[Found]) -> Found | None:
        named = self._about(ask, ask.entities) if ask.entities else NO_ROWS
        seeds = [newest(ask.resident, named, HOP_ROWS), *(found.best(HOP_BEST) for found in so_far)]
        further = self._about(ask, self._beside(ask, np.concatenate(seeds)))
        if not ask.entities and not len(further):
            return None
        return Found(np.union1d(named, newest(ask.resident, further, HOP_FURTHER)) if len(further) else named)

    def _about(self, ask: Ask, entities: Sequence[str]) -> RowNumbers:
        """The newest rows about entities, and the entities' own rows."""
        if not entities:
            return NO_ROWS
        lookup = ask.resident.lookup
        own = np.array([lookup.rows[e] for e in entities if e in lookup.rows], dtype=np.int64)
        rows = np.concatenate([own, *(lookup.about(e).astype(np.int64) for e in entities)])
        return newest(ask.resident, each_once(rows[ask.mask[rows]]), ask.wanted)

    def _beside(self, ask: Ask, rows: RowNumbers) -> list[str]:
        """The entities that the rows mention besides, those with the fewest rows first: they say most."""
        mentions = ask.resident.columns["mentions"]
        known = {*ask.entities, *ask.resident.speaking()}
        records, lookup = ask.resident.records, ask.resident.lookup
        mentioning = [row for row in rows.tolist() if mentions[row]]
        found = dict.fromkeys(e for row in mentioning for e in records.get(row).mentions if e not in known)
        most = many_rows(ask.resident)
        counted = sorted((count, e) for e in found if 2 <= (count := lookup.about_count(e)) <= most)
        return [entity for _, entity in counted[:HOP_ENTITIES]]


class RecencySource:
    """The newest rows, for questions after what is new and for profiles in which that weighs."""

    tier = Tier.RECENCY

    def find(self, ask: Ask, so_far: Sequence[Found]) -> Found | None:
        return Found(newest(ask.resident, np.flatnonzero(ask.mask), ask.wanted)) if ask.newest else None


# The graph goes on from what the others have found.
SOURCES: tuple[Source, ...] = (KeywordSource(), VectorSource(), GraphSource(), RecencySource())


def ask_all(
    sources: Sequence[Source],
    ask: Ask,
    tiers: frozenset[Tier],
    monotonic: Callable[[], float],
    deadline: float | None,
) -> tuple[dict[Tier, Found], dict[Tier, TierReport]]:
    """What each source found, and how each did that had something to look for.

    After `deadline` (a value of `monotonic`) no further source is asked, once one has answered. A source that fails is
    logged and reported; the others answer.
    """
    found: dict[Tier, Found] = {}
    reports: dict[Tier, TierReport] = {}
    before = monotonic()
    for source in sources:
        tier = source.tier
        if tier not in tiers:
            continue
        if found and deadline is not None and before >= deadline:
            reports[tier] = TierReport(tier, TierOutcome.TIMED_OUT, 0, 0.0, "the others took all of the time")
            continue
        try:
            brought = source.find(ask, tuple(found.values()))
        except Exception:  # whatever it is, the other sources can answer, and the answer says so
            _log.exception("a source of candidates failed", extra={"tier": tier.name})
            reports[tier] = TierReport(tier, TierOutcome.UNAVAILABLE, 0, 0.0, "failed; see the log")
            continue
        after = monotonic()
        if brought is not None:
            found[tier] = brought
            reports[tier] = TierReport(tier, TierOutcome.OK, len(brought.rows), after - before)
        before = after
    return found, reports


def many_rows(resident: Resident) -> int:
    """The most rows that an entity may have to lead on to others."""
    return max(MANY_ROWS, int(resident.memories * MANY_SHARE))


def newest(resident: Resident, rows: RowNumbers, count: int) -> RowNumbers:
    """The `count` youngest of sorted rows, sorted. By birth: what was changed has another row until a restart."""
    if len(rows) <= count:
        return rows
    births: Any = resident.columns["birth"][rows]
    return rows[np.sort(np.argpartition(births, len(rows) - count)[-count:])] if count else rows[:0]


def each_once(rows: RowNumbers) -> RowNumbers:
    """Sorted, without repeats. numpy's own `unique` hashes, which takes five times as long for a few hundred."""
    rows = np.sort(rows)
    return rows[np.append(True, rows[1:] != rows[:-1])] if len(rows) else rows


def _best_positive(values: NDArray[np.float32], count: int) -> RowNumbers:
    """Indices of the `count` highest values above 0, in index order."""
    positive = np.flatnonzero(values > 0)
    if len(positive) > count:
        positive = positive[np.argpartition(-values[positive], count - 1)[:count]]
    return positive
