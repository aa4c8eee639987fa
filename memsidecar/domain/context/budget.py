"""Divides tokens among sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Need:
    """What a section could use (`most`), what it should get first (`least`), and its weight for the rest."""

    most: int
    least: int = 0
    weight: float = 1.0


def allocate(budget: int, needs: Sequence[Need]) -> list[int]:
    """Tokens for each need, in order: never more than it could use, together never more than the budget.

    Minima come first; when they are too many for the budget they share it evenly. The rest goes by weight, and what one
    cannot use flows on to the others, by their weights. A weight of 0 gets no more than its minimum.
    """
    budget = max(0, budget)
    minima = [max(0, min(need.least, need.most)) for need in needs]
    if sum(minima) >= budget:
        return _pour(budget, minima, [1.0] * len(needs))
    room = [max(0, need.most - least) for need, least in zip(needs, minima, strict=True)]
    more = _pour(budget - sum(minima), room, [max(0.0, need.weight) for need in needs])
    return [least + extra for least, extra in zip(minima, more, strict=True)]


def _pour(amount: int, room: Sequence[int], weights: Sequence[float]) -> list[int]:
    """Fill rooms in proportion to their weights until they or the amount are used up."""
    given = [0] * len(room)
    while amount > 0:
        open_ = [at for at, space in enumerate(room) if given[at] < space and weights[at] > 0]
        if not open_:
            break
        total = sum(weights[at] for at in open_)
        poured = 0
        for at in open_:
            portion = min(int(amount * (weights[at] / total)), room[at] - given[at], amount - poured)
            given[at] += portion
            poured += portion
        if not poured:
            # Less than one each: the heaviest first, equal ones in order.
            for at in sorted(open_, key=lambda place: -weights[place])[:amount]:
                given[at] += 1
                poured += 1
        amount -= poured
    return given
