"""Timing side by side, and what a result looks like."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Durations in seconds, in the order in which they were taken."""

    seconds: NDArray[np.float64]

    def at(self, percentile: float) -> float:
        return float(np.percentile(self.seconds, percentile))

    @property
    def p50(self) -> float:
        return self.at(50)

    def numbers(self) -> dict[str, float]:
        """In milliseconds."""
        return {"count": len(self.seconds), **{f"p{q}_ms": round(1000 * self.at(q), 4) for q in (50, 95, 99)}}

    def __str__(self) -> str:
        p50, p95, p99 = (1000 * self.at(q) for q in (50, 95, 99))
        return f"p50 {p50:.3f}  p95 {p95:.3f}  p99 {p99:.3f} ms  n={len(self.seconds)}"


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table. `target` is None for a number that is only told; `at_least` is its direction."""

    name: str
    measured: float
    unit: str
    target: float | None = None
    at_least: bool = False
    how: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        if self.target is None:
            return ""
        met = self.measured >= self.target if self.at_least else self.measured <= self.target
        return "PASS" if met else "FAIL"


def side_by_side(
    calls: Mapping[str, Callable[[], object]], rounds: int, warm_up: int | None = None
) -> dict[str, Samples]:
    """A B A B ...: every call once a round, so that whatever disturbs the machine disturbs them alike.

    The order turns from round to round: who comes after whom must not matter. This process's own collector waits.
    """
    names = list(calls)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(max(20, rounds // 10) if warm_up is None else warm_up):
        for name in names:
            calls[name]()
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                started = time.perf_counter()
                calls[name]()
                taken[name].append(time.perf_counter() - started)
    finally:
        gc.enable()
    return {name: samples(values) for name, values in taken.items()}


def repeated(call: Callable[[], object], seconds: float) -> Samples:
    """One call after the other for so long."""
    taken = []
    gc.collect()
    gc.disable()
    try:
        until = time.perf_counter() + seconds
        while (started := time.perf_counter()) < until:
            call()
            taken.append(time.perf_counter() - started)
    finally:
        gc.enable()
    return samples(taken)


def samples(values: Sequence[float]) -> Samples:
    return Samples(np.array(values, dtype=np.float64))
