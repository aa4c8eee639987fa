"""The comparison's rows: one number of each system, and whether memsidecar's is the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.benchmarks.compare.contest import Standing, Terms
from tests.benchmarks.compare.systems import OURS, Mode
from tests.benchmarks.compare.workload import Scenario


@dataclass(frozen=True, slots=True)
class Cell:
    """`value` is None where there is no number, and `text` says why; `ours`: it is memsidecar that is compared."""

    label: str
    ours: bool
    value: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    scenario: str
    what: str
    searching: bool
    more_is_better: bool
    cells: Sequence[Cell]

    @property
    def own(self) -> float | None:
        return next((cell.value for cell in self.cells if cell.ours), None)

    @property
    def lead(self) -> float | None:
        """How many times better ours is than the best of the others; below 1 it is behind. None: nobody to compare."""
        own = self.own
        others = [cell.value for cell in self.cells if not cell.ours and cell.value is not None]
        if not own or not others:
            return None
        best = max(others) if self.more_is_better else min(others)
        return own / best if self.more_is_better else best / own

    @property
    def ahead_of_us(self) -> list[str]:
        own = self.own
        if own is None:
            return []
        sign = 1 if self.more_is_better else -1
        return [
            cell.label
            for cell in self.cells
            if not cell.ours and cell.value is not None and sign * cell.value > sign * own
        ]


def rows(scenario: Scenario, standings: Sequence[Standing], terms: Terms) -> Iterator[Row]:
    """The rows of a scenario; memsidecar's search by words too is told and not compared: no other does that."""
    for what, percentile in (("search p50, ms", 50), ("search p99, ms", 99)):
        cells = [_search_cell(standing, mode, percentile, terms) for standing, mode in _modes(standings)]
        yield Row(str(scenario), what, True, False, cells)
    found = [_found_cell(standing, mode) for standing, mode in _modes(standings)]
    yield Row(str(scenario), "found of 10", False, True, found)
    yield Row(str(scenario), "ingest, memories/s", False, True, [_ingest_cell(standing) for standing in standings])
    yield Row(str(scenario), "peak memory, MiB", False, False, [_peak_cell(standing) for standing in standings])
    yield Row(str(scenario), "first answer, s", False, False, [_restart_cell(standing) for standing in standings])


def render(table: Sequence[Row]) -> str:
    """One table: a column for each way to search; a star is a system that is ahead of memsidecar."""
    labels = list(dict.fromkeys(cell.label for row in table for cell in row.cells))
    head = ["", *labels, "not ahead of"]
    lines = [head]
    previous = ""
    for row in table:
        if row.scenario != previous:
            lines.append([row.scenario, *[""] * (len(labels) + 1)])
            previous = row.scenario
        texts = {cell.label: cell.text + ("*" if cell.label in row.ahead_of_us else "") for cell in row.cells}
        lines.append(["  " + row.what, *(texts.get(label, "") for label in labels), ", ".join(row.ahead_of_us)])
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column in (0, len(head) - 1) else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _modes(standings: Sequence[Standing]) -> Iterator[tuple[Standing, Mode]]:
    return ((standing, mode) for standing in standings for mode in standing.system.modes)


def _search_cell(standing: Standing, mode: Mode, percentile: float, terms: Terms) -> Cell:
    taken = standing.searches.get(mode.name)
    ours = standing.system is OURS and mode.meaning
    if taken is None:
        return Cell(mode.label, ours, None, standing.gave_up)
    value = 1000 * taken.at(percentile)
    # Ours by words, too, is no rival of ours.
    compared = value if ours or standing.system is not OURS else None
    short = "" if len(taken.seconds) == terms.questions else f" (n={len(taken.seconds)})"
    return Cell(mode.label, ours, compared, f"{value:.2f}{short}")


def _found_cell(standing: Standing, mode: Mode) -> Cell:
    found = standing.found.get(mode.name) if mode.meaning else None  # by words, too, another answer is the right one
    return Cell(mode.label, standing.system is OURS, found, "" if found is None else f"{10 * found:.2f}")


def _ingest_cell(standing: Standing) -> Cell:
    text = f"{standing.rate:,.0f}" + (f" {standing.gave_up}" if standing.gave_up else "")
    return Cell(_label(standing), standing.system is OURS, standing.rate or None, text)


def _peak_cell(standing: Standing) -> Cell:
    peak = standing.peak_bytes / (1 << 20)
    return Cell(_label(standing), standing.system is OURS, peak or None, f"{peak:,.0f}" if peak else "")


def _restart_cell(standing: Standing) -> Cell:
    taken = sorted(standing.first_answers)
    value = taken[len(taken) // 2] if taken else None
    text = "keeps nothing" if not standing.system.keeps else standing.gave_up if value is None else f"{value:.2f}"
    return Cell(_label(standing), standing.system is OURS, value, text)


def _label(standing: Standing) -> str:
    return standing.system.modes[0].label
