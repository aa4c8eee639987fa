"""The best rows out of scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memsidecar.ports.vectors import Rows, Scores


def nothing() -> tuple[Rows, Scores]:
    return np.empty(0, np.int32), np.empty(0, np.float32)


def best_rows(rows: Rows, scores: Scores, k: int, distinct: bool) -> tuple[Rows, Scores]:
    """The k best rows, best first, equal scores by row; a row that comes several times counts with its best score.

    `distinct` says that no row comes twice. Every score equal to the last one is looked at before the cut, so ties
    are broken by row and not by position.
    """
    if k < 1:
        return nothing()
    wanted = k if distinct else 2 * k
    while True:
        found = _at_least_nth(scores, wanted)
        order = found[np.lexsort((rows[found], -scores[found]))]
        if not distinct:
            order = order[np.sort(np.unique(rows[order], return_index=True)[1])]
        if len(order) >= k or wanted >= len(scores):
            order = order[:k]
            return rows[order], scores[order]
        wanted *= 2


def _at_least_nth(scores: Scores, n: int) -> NDArray[np.intp]:
    """Positions of all scores that are not below the n-th best."""
    cut = len(scores) - n
    return np.flatnonzero(scores >= np.partition(scores, cut)[cut]) if cut > 0 else np.arange(len(scores))
