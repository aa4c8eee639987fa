"""How candidates are ordered: one weighted sum, every term of it named, built in stages.

    own         keyword * BM25 / (idf mass of the question) + similarity * (cosine, less what chance gives)
                - echo * (of that, when it only asks the same, or answers as an assistant did then)
    neighbours  + neighbour * (own of the turns before and after), between people
    session     + session * (the best of the session), between people
    bonuses     + speaker, date, entity, instruction, preference, - assistant
    graph       + association * (what the best rows give to rows that mention the same entities)

The sum is divided by the most that a row can be by itself, so that it lies in 0..1; freshness, importance and
confidence come on top. Feedback moves a row by a share of its own relevance, so that it changes the order among equals
and never makes an irrelevant row relevant. The weights and their origin are in `Profile`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.profile import Profile
from memsidecar.domain.recall import Component, Tier

Values = NDArray[np.float32]
Places = NDArray[np.intp]

DAY = 24 * 3600 * 1_000_000
# A text of MANY_CHUNKS loses all of its cosine at this `Profile.length`.
_MOST_LENGTH = 0.4
ROUNDING = np.float32(1e-6)
"""Scores that differ by no more are equal: ten times what a sum of float32 products is off by."""
_TIERS = {"similarity": Tier.VECTOR, "entity": Tier.GRAPH, "association": Tier.GRAPH, "keyword": Tier.KEYWORD}
# Rows whose entities lead on to others.
BEST = 5


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """The raw signals of candidate rows, one element each; None is a signal that no candidate has.

    `chunks` is the natural logarithm of a text's number of chunks, up to about 2. `before` and `after` index the
    candidates, -1 for none. `dialogue` says which rows belong to a talk between people, `assisted` which to one with an
    assistant, and `session` which session a row belongs to. `echo` says how far a row repeats the question, or what an
    assistant answered to it then.
    """

    keyword: Values
    cosine: Values
    said: NDArray[np.int64]
    importance: Values
    confidence: Values
    chunks: Values | None = None
    entity: Values | None = None
    speaker: Values | None = None
    assistant: Values | None = None
    instruction: Values | None = None
    preference: Values | None = None
    date: Values | None = None
    dialogue: NDArray[np.bool_] | None = None
    assisted: NDArray[np.bool_] | None = None
    echo: Values | None = None
    before: Places | None = None
    after: Places | None = None
    session: NDArray[np.int32] | None = None
    usefulness: Values | None = None
    accesses: NDArray[np.uint32] | None = None


Associate = Callable[[Places, Values], Values | None]
"""Given the best candidates and their relevance: what each candidate gets from them over shared entities."""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """One term of the sum, for every candidate: `raw` x `weight` is its part of the score."""

    name: str
    raw: Values
    weight: float


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of the candidates, 0 to 1, and the terms they are the sum of (before they are held within 0 and 1). `own`
    is the relevance that a candidate has by itself."""

    scores: Values
    own: Values
    terms: tuple[Term, ...]

    def explain(self, index: int) -> tuple[Component, ...]:
        """The components of one candidate's score; contributions add up to it."""
        found = [
            Component(t.name, raw, t.weight, raw * t.weight)
            for t in self.terms
            if t.weight and (raw := float(t.raw[index]))
        ]
        capped = float(self.scores[index]) - sum(c.contribution for c in found)
        # What single precision leaves over is less.
        if abs(capped) > 1e-6:
            found.append(Component("cap", 1.0, capped, capped))
        return tuple(found)

    def main_tier(self, index: int) -> Tier:
        """The tier that contributed most to a candidate; of equal ones the first of vector, graph, keyword."""
        tiers = self._tiers
        if len(tiers) == 1:
            return tiers[0][0]
        parts = {Tier.VECTOR: 0.0, Tier.GRAPH: 0.0, Tier.KEYWORD: 0.0}
        for tier, term in tiers:
            parts[tier] += float(term.raw[index]) * term.weight
        return max(parts, key=parts.__getitem__)

    @cached_property
    def _tiers(self) -> list[tuple[Tier, Term]]:
        return [(_TIERS[term.name], term) for term in self.terms if term.name in _TIERS]


def rank(
    signals: Signals, profile: Profile, now: int, *, broad: bool = False, associate: Associate | None = None
) -> Scored:
    """The score of every candidate. `broad`: the question is after several things."""
    terms = [Term("similarity", similarity(signals, profile), profile.cosine)]
    total = terms[0].raw * np.float32(profile.cosine)

    def add(name: str, raw: Values | None, weight: float) -> None:
        if raw is not None and weight:
            terms.append(Term(name, raw, weight))
            nonlocal total
            total = total + raw * np.float32(weight)

    add("keyword", signals.keyword if signals.keyword.any() else None, profile.keyword)
    if signals.echo is not None:
        add("echo", total * signals.echo, -profile.echo)
    own = total
    if signals.dialogue is not None:
        if profile.neighbour:
            add("neighbour", neighbour_share(total, signals, profile), profile.neighbour)
        if profile.session and not broad:
            add("session", session_best(total, signals), profile.session)
    add("speaker", signals.speaker, profile.speaker)
    add("date", signals.date, profile.date)
    add("entity", signals.entity, profile.entity)
    add("instruction", signals.instruction, profile.instruction)
    add("preference", signals.preference, profile.preference)
    add("assistant", signals.assistant, -profile.assistant)
    if associate is not None and profile.association:
        best = _best(total, BEST)
        gained = associate(best, np.maximum(total[best], np.float32(0.0)))
        if gained is not None and signals.assisted is not None:
            gained = gained * ~signals.assisted
        add("association", gained, profile.association)
    share = profile.relevance * profile.relevance_scale
    # Before the terms that are of a row by itself: they have no rounding of others in them, and tell by seconds.
    scores = evened(np.clip(total * np.float32(share), 0.0, profile.relevance))
    terms = [Term(t.name, t.raw, t.weight * share) for t in terms]
    if signals.usefulness is not None and profile.usefulness:
        terms.append(Term("usefulness", scores * signals.usefulness, profile.usefulness))
        scores = scores * (np.float32(1.0) + np.float32(profile.usefulness) * signals.usefulness)
    if signals.accesses is not None and profile.accesses:
        terms.append(Term("accesses", familiarity(signals.accesses), profile.accesses))
        scores = scores + terms[-1].raw * np.float32(profile.accesses)
    for name, weight, raw in (
        ("freshness", profile.freshness, freshness(signals.said, now, profile.freshness_days)),
        ("importance", profile.importance, signals.importance),
        ("confidence", profile.confidence, signals.confidence),
    ):
        terms.append(Term(name, raw, weight))
        scores = scores + raw * np.float32(weight)
    return Scored(np.clip(scores, 0.0, 1.0).astype(np.float32, copy=False), own, tuple(terms))


def evened(scores: Values) -> Values:
    """The scores, those that differ by rounding alone made equal to the highest of them: a product of float32 depends
    on where its rows stand, which is another place after a restart."""
    if len(scores) < 2:
        return scores
    falling = np.argsort(-scores)
    sorted_scores = scores[falling]
    first = np.append(True, sorted_scores[:-1] - sorted_scores[1:] > ROUNDING)
    even = np.empty_like(scores)
    even[falling] = sorted_scores[first][np.cumsum(first) - 1]
    return even


def similarity(signals: Signals, profile: Profile) -> Values:
    """The cosine, less the share by which the best of many chunks is higher by chance; never below 0."""
    cosine = signals.cosine
    if signals.chunks is not None and profile.length:
        cosine = cosine * (np.float32(1.0) - signals.chunks * np.float32(min(profile.length, _MOST_LENGTH)))
    return np.maximum(cosine, np.float32(0.0))


def neighbour_share(own: Values, signals: Signals, profile: Profile) -> Values | None:
    """The relevance of the turns on both sides, and, weighing less, of those beyond; 0 outside of dialogues."""
    before, after = signals.before, signals.after
    if before is None or after is None or signals.dialogue is None:
        return None
    padded = np.append(own, np.float32(0.0))
    share = padded[before] + padded[after]
    if profile.second_neighbour:
        second = padded[np.append(before, -1)[before]] + padded[np.append(after, -1)[after]]
        share += second * np.float32(profile.second_neighbour / profile.neighbour)
    share *= signals.dialogue
    return np.asarray(share, dtype=np.float32)


def session_best(relevance: Values, signals: Signals) -> Values | None:
    """The relevance of the best turn of each row's session; 0 outside of dialogues."""
    if signals.session is None or signals.dialogue is None:
        return None
    best = np.zeros(int(signals.session.max(initial=0)) + 1, dtype=np.float32)
    np.maximum.at(best, signals.session, relevance)
    return np.asarray(best[signals.session] * signals.dialogue, dtype=np.float32)


def freshness(said: NDArray[np.int64], now: int, days: float) -> Values:
    """exp(-age / days): 1 for what was said now (or dates itself later), 1/e after `days`."""
    age = np.maximum(now - said, 0) / DAY
    return np.asarray(np.exp(-age / days), dtype=np.float32)


def familiarity(accesses: NDArray[np.uint32]) -> Values:
    """0 for what was never recalled, 1 for what was recalled a hundred times or more; logarithmic in between."""
    return np.asarray(np.minimum(np.log1p(accesses) / np.log1p(100.0), 1.0), dtype=np.float32)


def order(scores: Values, said: NDArray[np.int64], births: NDArray[np.int64], limit: int) -> Places:
    """Indices of the best `limit`, best first; of equal scores what was said last comes first, of what was said at the
    same time what was stored first, so that an answer never flickers."""
    return np.asarray(np.lexsort((births, -said, -scores))[:limit], dtype=np.intp)


def _best(values: Values, count: int) -> Places:
    """Indices of the highest values; equal ones in a stable order."""
    return np.asarray(np.argsort(-values, kind="stable")[:count], dtype=np.intp)
