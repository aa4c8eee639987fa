"""Where candidates come from: each source looks in its own way, and may fail or run out of time alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.events import Matrix
from memsidecar.domain.question import Analysis
from memsidecar.domain.recall import Tier, TierOutcome, TierReport
from memsidecar.services.resident import Resident

_log = logging.getLogger(__name__)

# Entities of a hop's rows that lead on to further rows, and rows whose entities are looked at.
HOP_ROWS = 16
HOP_ENTITIES = 8

RowNumbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """What every source is asked: the question as analysed, the rows that count, and how many are wanted."""

    resident: Resident
    analysis: Analysis
    entities: tuple[str, ...]
    vector: Matrix | None
    mask: NDArray[np.bool_]
    wanted: int


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Rows that a source brings, with their values, or (`everywhere`) the values of all rows of the partition."""

    rows: RowNumbers
    values: NDArray[np.float32] | None = None
    everywhere: bool = False


class Source(Protocol):
    """One way to find candidates."""

    @property
    def tier(self) -> Tier: ...

    def find(self, ask: Ask) -> Found | None:
        """Candidates that the mask allows, each once, at most about `ask.wanted`; None when the question gives the
        source nothing to look for. Runs on the event loop: well under a millisecond."""
        ...


class KeywordSource:
    tier = Tier.KEYWORD

    def find(self, ask: Ask) -> Found | None:
        if not ask.analysis.terms:
            return None
        scores = ask.resident.keywords.scores(ask.analysis.terms, ask.resident.rows)
        scores *= ask.mask
        return Found(_best_positive(scores, ask.wanted), scores, everywhere=True)


class GraphSource:
    """Rows about the question's entities, and those about the entities that these name besides: one hop and two."""

    tier = Tier.GRAPH

    def find(self, ask: Ask) -> Found | None:
        if not ask.entities:
            return None
        first = self._about(ask, ask.entities)
        further = self._beside(ask, first[-HOP_ROWS:])
        if further and len(first) < ask.wanted:
            first = np.union1d(first, self._about(ask, further)[-(ask.wanted - len(first)) :])
        return Found(first)

    def _about(self, ask: Ask, entities: Sequence[str]) -> RowNumbers:
        """The newest rows about entities, and the entities' own rows."""
        lookup = ask.resident.lookup
        own = np.array([lookup.rows[e] for e in entities if e in lookup.rows], dtype=np.int64)
        rows = np.concatenate([own, *(lookup.about(e).astype(np.int64) for e in entities)])
        return np.unique(rows[ask.mask[rows]])[-ask.wanted :]

    def _beside(self, ask: Ask, rows: RowNumbers) -> list[str]:
        """The entities that the rows mention besides, those with the fewest rows first: they say most."""
        known = {*ask.entities, *ask.resident.speaking()}
        records, lookup = ask.resident.records, ask.resident.lookup
        found = dict.fromkeys(e for row in rows.tolist() for e in records.get(row).mentions if e not in known)
        return sorted(found, key=lambda e: (lookup.about_count(e), e))[:HOP_ENTITIES]


class VectorSource:
    """The nearest rows. Most masks allow nearly all: then asking without one is cheaper."""

    tier = Tier.VECTOR

    def find(self, ask: Ask) -> Found | None:
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


SOURCES: tuple[Source, ...] = (KeywordSource(), GraphSource(), VectorSource())


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
            brought = source.find(ask)
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


def _best_positive(values: NDArray[np.float32], count: int) -> RowNumbers:
    """Indices of the `count` highest values above 0, in index order."""
    positive = np.flatnonzero(values > 0)
    if len(positive) > count:
        positive = positive[np.argpartition(-values[positive], count - 1)[:count]]
    return positive
