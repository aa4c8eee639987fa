"""One scenario: everybody stores, then all are asked in turn, then each is started again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tqdm import tqdm

from tests.benchmarks.compare.contestant import Contestant, GaveUp
from tests.benchmarks.compare.systems import Mode, System
from tests.benchmarks.compare.workload import Workload
from tests.benchmarks.measuring import Samples, samples

_AT_ONCE = 20
"""Questions in a row to one system before it is the next one's turn."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The same for all. Budgets are seconds for one system and one scenario; searches have theirs for each mode."""

    questions: int
    checked: int
    ingest_budget: float
    search_budget: float
    restarts: int


@dataclass(slots=True, eq=False)
class Standing:
    """What was measured of one system. `gave_up` says why there is no more."""

    system: System
    versions: Mapping[str, str] = field(default_factory=dict)
    stored: int = 0
    ingest_seconds: float = 0.0
    settling_seconds: float = 0.0
    searches: dict[str, Samples] = field(default_factory=dict)
    found: dict[str, float] = field(default_factory=dict)
    peak_bytes: int = 0
    first_answers: list[float] = field(default_factory=list)
    gave_up: str = ""

    @property
    def rate(self) -> float:
        """Memories a second, as far as it came."""
        return self.stored / self.ingest_seconds if self.ingest_seconds else 0.0


def compete(workload: Workload, pythons: Mapping[System, Path], folder: Path, terms: Terms) -> list[Standing]:
    """Standings in the order of `pythons`."""
    standings = {system: Standing(system) for system in pythons}
    with ExitStack() as stack:
        contestants = {}
        for system in tqdm(list(pythons), desc=f"storing {workload.scenario}", leave=False, disable=None):
            contestant = Contestant(system, pythons[system], folder / system.name, workload.folder)
            stack.enter_context(closing(contestant))
            contestants[system] = contestant
            _store(contestant, standings[system], workload.scenario.memories, terms)
        running = [contestants[system] for system, standing in standings.items() if not standing.gave_up]
        _ask_all(running, standings, terms, str(workload.scenario))
        _check_all(running, standings, workload, terms)
        for contestant in running:
            if not standings[contestant.system].gave_up:
                standings[contestant.system].peak_bytes = contestant.peak_bytes()
    for _ in range(terms.restarts):
        for system, standing in standings.items():
            if system.keeps and not standing.gave_up:
                with closing(Contestant(system, pythons[system], folder / system.name, workload.folder)) as contestant:
                    _start_again(contestant, standing, terms)
    return list(standings.values())


def _start_again(contestant: Contestant, standing: Standing, terms: Terms) -> None:
    try:
        standing.first_answers.append(contestant.first_answer(contestant.system.modes[0].name, terms.ingest_budget))
    except GaveUp as reason:
        standing.gave_up = str(reason)


def _store(contestant: Contestant, standing: Standing, memories: int, terms: Terms) -> None:
    try:
        standing.versions = contestant.open()
        report = contestant.ingest(terms.ingest_budget)
    except GaveUp as reason:
        standing.gave_up = str(reason)
        return
    standing.stored, standing.ingest_seconds = int(report["stored"]), report["seconds"]
    standing.settling_seconds = report["settling"]
    if standing.stored < memories:
        standing.gave_up = f"> {report['seconds']:.0f} s ({standing.stored:,} stored)"


def _ask_all(running: Sequence[Contestant], standings: Mapping[System, Standing], terms: Terms, scenario: str) -> None:
    """The same questions for all, some at a time and in turn, so that what disturbs the machine disturbs them alike.

    A system whose budget is used up is asked no more: it has fewer samples, and none is reported as too slow.
    """
    taken: dict[tuple[Contestant, Mode], list[float]] = {(c, m): [] for c, m in _modes(running, standings)}
    for contestant, mode in taken:
        _search(contestant, mode, range(_AT_ONCE), terms.search_budget / 4, standings)
    pairs = list(taken)
    rounds = [range(first, min(first + _AT_ONCE, terms.questions)) for first in range(0, terms.questions, _AT_ONCE)]
    for number, questions in enumerate(tqdm(rounds, desc=f"asking {scenario}", leave=False, disable=None)):
        turn = number % len(pairs) if pairs else 0
        for contestant, mode in pairs[turn:] + pairs[:turn]:
            left = terms.search_budget - sum(taken[contestant, mode])
            if left > 0:
                taken[contestant, mode] += _search(contestant, mode, questions, left, standings)
    for (contestant, mode), seconds in taken.items():
        if seconds:
            standings[contestant.system].searches[mode.name] = samples(seconds)


def _search(
    contestant: Contestant,
    mode: Mode,
    questions: Sequence[int],
    budget: float,
    standings: Mapping[System, Standing],
) -> list[float]:
    """Seconds of each; none from one that has given up, or does so now."""
    standing = standings[contestant.system]
    if standing.gave_up:
        return []
    try:
        return contestant.search(mode.name, questions, budget)
    except GaveUp as reason:
        standing.gave_up = str(reason)
        return []


def _check_all(
    running: Sequence[Contestant], standings: Mapping[System, Standing], workload: Workload, terms: Terms
) -> None:
    """How many of the true nearest each finds: speed must not be bought with misses."""
    truth = {own: workload.exact(terms.checked, own) for own in (True, False)}
    for contestant, mode in _modes(running, standings):
        try:
            hits = contestant.hits(mode.name, range(terms.checked), terms.search_budget)
        except GaveUp as reason:
            standings[contestant.system].gave_up = str(reason)
            continue
        shares = [len(wanted & set(texts)) / len(wanted) for wanted, texts in zip(truth[mode.own], hits, strict=True)]
        standings[contestant.system].found[mode.name] = float(np.mean(shares))


def _modes(running: Sequence[Contestant], standings: Mapping[System, Standing]) -> Iterator[tuple[Contestant, Mode]]:
    for contestant in running:
        if not standings[contestant.system].gave_up:
            for mode in contestant.system.modes:
                yield contestant, mode
