"""How far an answer, and each hit, can be relied on: logistics of a few features, not of the score alone.

A cosine says little (of LoCoMo's questions the answerable and the unanswerable ones have the same best cosine). What
tells a question that has no answer is whose turns its words lead to: asked what Ann did, words that lead to Bob's turns
are the sign of a false premise.

The constants are fitted by `python -m tests.quality.calibrate FILE...` on the developer samples; it prints them with
the AUROC of a five-fold cross-validation.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.grounds import Grounds
from memsidecar.domain.ranking import Signals, Values

# Candidates, best first by their own relevance, whose speakers count.
_BEST = 10
# Logit = bias + sum of weight x feature, in the order of `Grounds.features`.
ANSWER_BIAS = -1.5
ANSWER = (2.8, 2.4, -6.6, 3.4)
# A hit: bias, of its score as a share of what a score can be, of its lead over the best hit (0 or less).
HIT_BIAS = -2.4
HIT = (3.8, 13.7)
# The same for questions whose terms are pairs of characters. Half of the pairs of a sentence stand across two words and
# match only where both do, in this order; so the same relevance has less than half of the words' score (one-line notes
# and the same in Chinese: 0.24 for 0.56, with equal cosines), and a score that is low for words is a high one.
PAIRS_BIAS = -3.9
PAIRS = (19.0, 29.9)


def grounds(signals: Signals, own: Values, counted: NDArray[np.bool_] | None = None) -> Grounds:
    """The grounds of candidates (one or more) with their own relevance: without what a speaker's name or neighbours
    gave them. `counted` leaves out the others, unless that leaves none: what was read from a turn has nobody who says
    it, and would be taken for the words of somebody else."""
    cosine, keyword, speaker = signals.cosine, signals.keyword, signals.speaker
    if counted is not None and counted.any() and not counted.all():
        cosine, keyword, own = cosine[counted], keyword[counted], own[counted]
        speaker = speaker[counted] if speaker is not None else None
    similarity = max(0.0, float(cosine.max()))
    if speaker is None:
        return Grounds(similarity)
    named = speaker > 0
    best = np.argpartition(-own, _BEST)[:_BEST] if len(own) > _BEST else np.arange(len(own))
    total = float(own[best].sum())
    return Grounds(
        similarity,
        keyword_lead=_lead(keyword, named),
        similarity_lead=_lead(cosine, named),
        share=float(own[best][named[best]].sum()) / total - 0.5 if total > 0 else 0.0,
    )


def answer_confidence(found: Grounds) -> float:
    """0 to 1."""
    return _chance(ANSWER_BIAS + sum(weight * value for weight, value in zip(ANSWER, found.features, strict=True)))


def hit_confidence(score: float, best: float, pairs: float = 0.0) -> float:
    """0 to 1: how far one hit answers the question, given its score and that of the best hit. `pairs` is the share of
    the question's terms that are pairs of characters: equal for all hits of a question, so that their order stays."""
    words = _logit(HIT_BIAS, HIT, score, best)
    return _chance(words + pairs * (_logit(PAIRS_BIAS, PAIRS, score, best) - words) if pairs else words)


def _logit(bias: float, weights: tuple[float, float], score: float, best: float) -> float:
    return bias + weights[0] * score + weights[1] * (score - best)


def _lead(values: Values, named: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    return float(values.max(where=named, initial=0.0) - values.max(where=~named, initial=0.0))


def _chance(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit))
