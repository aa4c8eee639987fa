"""Ranking profiles: every weight of the sum, with where its number comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

from memsidecar.domain.bm25 import K1
from memsidecar.domain.errors import InvalidField

MOST = 10.0
"""No weight is above this: one signal would drown the rest."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The weights of the sum. "Measured" means: on the developer samples of LoCoMo, BEAM, PrefEval and MADial-zh, one
    weight at a time; tests/quality/ABLATION.md has the table that `make quality-ablation` writes."""

    keyword: float = 2.5
    """Of BM25 normalised by the question's own idf mass."""

    similarity: float = 2.0
    """Of the cosine, for an embedder whose cosines deviate by 0.11 within a memory; see `spread`."""

    spread: float = 0.11
    """Standard deviation of the embedder's cosines within a memory; the weight of a cosine is 0.22 / spread."""

    length: float = 0.07
    """The share of its cosine that a text loses for each e-fold of its chunks: the best of many is high by chance.
    Measured: BEAM R@5 +1.4, R@10 +0.6."""

    entity: float = 0.1
    """A row that mentions an entity of the question; small, because its words count already."""

    association: float = 0.4
    """A row that mentions an entity which the best rows mention, too (two hops in the graph): a share of their
    relevance. Measured: 1 to 2 points of R@10 on LoCoMo's multi-hop questions; not given in chats with an assistant,
    whose long answers mention everything (BEAM nDCG@10 -1.5)."""

    speaker: float = 0.8
    """Said by the one person that the question names. Measured: 0.4, 0.6, 0.8 and 1.0 give LoCoMo nDCG@10 60.0, 60.9,
    61.2 and 61.2."""

    assistant: float = 0.8
    """Taken from what an assistant said, unless the question asks for it: an assistant repeats what the user said, at
    length. Measured: BEAM R@10 +6."""

    echo: float = 1.0
    """How much of its relevance a row loses for asking the same, or for what an assistant answered then, unless the
    question asks for that: it has the words of the question, and what a model said is no evidence of it. On the
    developer samples nobody asks twice, and nothing moves."""

    instruction: float = 0.8
    """A standing instruction ("always ...", "when I ask ..."), when the question is not about the past. Less for each
    when there are many. Measured: BEAM R@10 +3.5."""

    preference: float = 0.3
    """A preference of the user, when the question is not about the past. Measured: PrefEval R@5 +9 to +12."""

    date: float = 0.4
    """Said in a time that the question names. A bonus, never a filter."""

    neighbour: float = 0.15
    """The share of the relevance of the turns on either side, between people. With an assistant or in notes it hurts
    (PrefEval R@5 -7, MADial-zh nDCG@10 -5)."""

    second_neighbour: float = 0.05
    """The share of the relevance of the turns two before and two after."""

    session: float = 0.4
    """The share of the relevance of a session's best turn, between people; none for a question after several things,
    which are in several sessions. Measured: LoCoMo R@10 +3 to +4."""

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

    diversity: float = 0.0
    """How much a hit loses for being like one above it, 0 to 1 (`domain/diversity.py`). Off: demoting what is alike
    gained nothing on the developer samples."""

    @property
    def cosine(self) -> float:
        return self.similarity * 0.11 / self.spread

    @property
    def relevance_scale(self) -> float:
        """1 / the most that a row can be relevant by itself; shares of others are left out (the sum is capped)."""
        return 1.0 / max(self.keyword * (K1 + 1.0) + self.cosine + self.entity + self.speaker, 1e-6)

    @property
    def relevance(self) -> float:
        """What is left of 1 for relevance."""
        return max(0.0, 1.0 - self.freshness - self.importance - self.confidence)


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "default": Profile(),
        # What was said in the last days comes first among what is about as relevant. Costs 2 points on LoCoMo, whose
        # questions are about all of the past.
        "recent": Profile(freshness=0.1, freshness_days=14.0),
        # The field's usual weights: 0.55 relevance, 0.20 freshness, 0.15 importance, 0.10 confidence. Costs 20 points.
        "balanced": Profile(freshness=0.2, importance=0.15, confidence=0.1),
    }
)
"""The profiles that are always there, by name."""


def with_weights(profile: Profile, weights: Mapping[str, float], path: str) -> Profile:
    """The profile with other weights. Raises InvalidField (at `path`) for an unknown name or a number that cannot be.

    `spread` belongs to the embedder and is no weight.
    """
    known = {field.name for field in fields(Profile)} - {"spread"}
    for name, value in weights.items():
        if name not in known:
            raise InvalidField(f"{path}[{name}]", f"is no weight; there are {', '.join(sorted(known))}")
        most, least = (36_500.0, 0.001) if name == "freshness_days" else (MOST, 0.0)
        if not (math.isfinite(value) and least <= value <= most):
            raise InvalidField(f"{path}[{name}]", f"must be from {least:g} to {most:g}")
    changed = replace(profile, **weights)
    if changed.freshness + changed.importance + changed.confidence > 1.0:
        raise InvalidField(path, "freshness, importance and confidence must not add up to more than 1")
    return changed
