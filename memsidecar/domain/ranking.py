"""How hits are ordered: one weighted sum, every term of it named.

The shape and the numbers were measured on the developer samples (DECISIONS.md, "Ranking is a sum"); the relevance of a
row is

    keyword * BM25 / (idf mass of the question) + similarity * cosine + entity * (names that it shares)
    + speaker, if the one person named in the question said it
    + neighbour * (relevance of the episodes before and after it in its session)

divided by the most that it can be, so that it lies in 0..1; freshness, importance and confidence come on top. Feedback
moves a row by a share of its own relevance, so that it changes the order among equals and never makes an irrelevant row
relevant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.keyword import K1
from memsidecar.domain.recall import Component, Tier

Values = NDArray[np.float32]

DAY = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Profile:
    """The weights of the sum."""

    keyword: float = 2.5
    """Of BM25 normalised by the question's own idf mass."""

    similarity: float = 2.0
    """2 for an embedder whose cosines deviate by 0.11 within a memory; see `spread`."""

    spread: float = 0.11
    """Standard deviation of the embedder's cosines within a memory; the weight of a cosine is 0.22 / spread."""

    entity: float = 0.1
    """A row that mentions an entity of the question; small, because its words count already."""

    speaker: float = 0.6
    """Said by the one person that the question names. 0.6 is worth 1.5 points of nDCG@10 more than 0.4 on the LoCoMo
    developer sample."""

    neighbour: float = 0.15
    """The share of the relevance of the episodes on either side."""

    freshness: float = 0.01
    """A tie-breaker. The field's usual 0.20 buries what was said months ago (DECISIONS.md, "Ranking is a sum")."""

    freshness_days: float = 30.0
    """Time in which freshness falls to 1/e."""

    importance: float = 0.02
    """A tie-breaker, as freshness."""

    confidence: float = 0.02
    """A tie-breaker, as freshness."""

    usefulness: float = 0.1
    """The share of its own relevance that a row gains when feedback calls it most useful, and loses at the other end:
    no feedback lifts a row over one that is more than 1.1 / 0.9 = 1.22 times as relevant."""

    accesses: float = 0.0
    """Of how often a row was recalled, on a logarithmic scale. Off: it would repeat what ranking did before."""

    @property
    def cosine(self) -> float:
        return self.similarity * 0.11 / self.spread

    @property
    def relevance_scale(self) -> float:
        """1 / the most that the relevance of a row can be, bonuses of neighbours left out (the sum is capped)."""
        return 1.0 / (self.keyword * (K1 + 1.0) + self.cosine + self.entity + self.speaker)

    @property
    def relevance(self) -> float:
        """What is left of 1 for relevance."""
        return 1.0 - self.freshness - self.importance - self.confidence


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """The raw signals of candidate rows, one element each. `before` and `after` index the candidates, -1 for none."""

    keyword: Values
    cosine: Values
    entity: Values
    speaker: Values
    before: NDArray[np.intp]
    after: NDArray[np.intp]
    said: NDArray[np.int64]
    importance: Values
    confidence: Values
    usefulness: Values
    accesses: NDArray[np.uint32]


def own_relevance(signals: Signals, profile: Profile) -> Values:
    """The relevance that a row has by itself, before its neighbours add theirs."""
    total = profile.keyword * signals.keyword
    total = total + profile.cosine * np.maximum(signals.cosine, 0.0)
    total += profile.entity * signals.entity
    total += profile.speaker * signals.speaker
    return np.asarray(total, dtype=np.float32)


def neighbour_share(own: Values, signals: Signals) -> Values:
    """The summed relevance of the episodes on both sides; 0 where there is none among the candidates."""
    padded = np.append(own, np.float32(0.0))
    return np.asarray(padded[signals.before] + padded[signals.after], dtype=np.float32)


def freshness(said: NDArray[np.int64], now: int, days: float) -> Values:
    """exp(-age / days): 1 for what was said now (or dates itself later), 1/e after `days`."""
    age = np.maximum(now - said, 0) / DAY
    return np.asarray(np.exp(-age / days), dtype=np.float32)


def familiarity(accesses: NDArray[np.uint32]) -> Values:
    """0 for what was never recalled, 1 for what was recalled a hundred times or more; logarithmic in between."""
    return np.asarray(np.minimum(np.log1p(accesses) / np.log1p(100.0), 1.0), dtype=np.float32)


def score(signals: Signals, profile: Profile, now: int) -> Values:
    """The score of every candidate, 0 to 1."""
    own = own_relevance(signals, profile)
    relevance = own + profile.neighbour * neighbour_share(own, signals)
    total = profile.relevance * np.minimum(relevance * profile.relevance_scale, 1.0)
    total = total * (1.0 + profile.usefulness * signals.usefulness)
    if profile.freshness:
        total = total + profile.freshness * freshness(signals.said, now, profile.freshness_days)
    if profile.accesses:
        total = total + profile.accesses * familiarity(signals.accesses)
    total = total + profile.importance * signals.importance + profile.confidence * signals.confidence
    return np.asarray(np.clip(total, 0.0, 1.0), dtype=np.float32)


def explain(signals: Signals, index: int, profile: Profile, now: int, total: float) -> tuple[Component, ...]:
    """The components of one candidate's score; contributions add up to `total`."""
    scale = profile.relevance * profile.relevance_scale
    own = own_relevance(signals, profile)
    shared = float(neighbour_share(own, signals)[index])
    relevance = min((float(own[index]) + profile.neighbour * shared) * scale, profile.relevance)
    fresh = float(freshness(signals.said[index : index + 1], now, profile.freshness_days)[0])
    parts = [
        ("keyword", float(signals.keyword[index]), profile.keyword * scale),
        ("similarity", max(0.0, float(signals.cosine[index])), profile.cosine * scale),
        ("entity", float(signals.entity[index]), profile.entity * scale),
        ("speaker", float(signals.speaker[index]), profile.speaker * scale),
        ("neighbour", shared, profile.neighbour * scale),
        ("freshness", fresh, profile.freshness),
        ("importance", float(signals.importance[index]), profile.importance),
        ("confidence", float(signals.confidence[index]), profile.confidence),
        ("usefulness", relevance * float(signals.usefulness[index]), profile.usefulness),
        ("accesses", float(familiarity(signals.accesses[index : index + 1])[0]), profile.accesses),
    ]
    components = [Component(name, raw, weight, raw * weight) for name, raw, weight in parts if raw and weight]
    capped = total - sum(c.contribution for c in components)
    if abs(capped) > 1e-4:
        components.append(Component("cap", 1.0, capped, capped))
    return tuple(components)


_TIERS = (Tier.VECTOR, Tier.GRAPH, Tier.KEYWORD)


def main_tiers(signals: Signals, profile: Profile) -> list[Tier]:
    """The tier that contributed most to each candidate; of equal ones the first of vector, graph, keyword."""
    parts = np.stack(
        [
            profile.cosine * np.maximum(signals.cosine, 0.0),
            profile.entity * signals.entity,
            profile.keyword * signals.keyword,
        ]
    )
    return [_TIERS[place] for place in np.argmax(parts, axis=0).tolist()]


def order(scores: Values, births: NDArray[np.int64], limit: int) -> NDArray[np.intp]:
    """Indices of the best `limit`, best first; equal scores oldest first, so that an answer never flickers."""
    return np.asarray(np.lexsort((births, -scores))[:limit], dtype=np.intp)


def answer_confidence(scores: Sequence[float], from_named: Sequence[bool] | None) -> float:
    """How far the whole answer can be relied on, 0 to 1: the best score, times the share of the person asked about.

    The share of the named person's turns in the first ten, weighted by score, says more than any cosine.
    `from_named` is None when the question names nobody.
    """
    if not scores or scores[0] <= 0.0:
        return 0.0
    if from_named is None:
        return min(1.0, scores[0])
    share = sum(s for s, named in zip(scores, from_named, strict=True) if named) / sum(scores)
    return min(1.0, scores[0]) * (0.25 + 0.75 * share)
