"""memsidecar over its socket beside what agents use in their own process: one run, one machine, the same vectors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from tests.benchmarks.compare.contest import Standing, Terms, compete
from tests.benchmarks.compare.systems import SYSTEMS, System, Unavailable, default_cache, python_of
from tests.benchmarks.compare.table import Row, render, rows
from tests.benchmarks.compare.workload import Scenario, write_workload
from tests.benchmarks.measuring import Result
from tests.benchmarks.plan import Plan

FULL = Terms(questions=500, checked=50, ingest_budget=300.0, search_budget=60.0, restarts=3)
QUICK = Terms(questions=60, checked=20, ingest_budget=30.0, search_budget=10.0, restarts=1)
_SCENARIOS = (Scenario(1, 1_000), Scenario(1, 10_000), Scenario(1, 100_000), Scenario(1_000, 100))
_QUICK_SCENARIOS = (Scenario(1, 1_000), Scenario(20, 100))


def comparison(plan: Plan) -> Iterator[Result]:
    """A line for each number that is compared, and the table of all."""
    scenarios = _QUICK_SCENARIOS if plan.quick else _SCENARIOS
    chosen = [system for system in SYSTEMS if not plan.systems or system.name in plan.systems]
    terms = QUICK if plan.quick else FULL
    if plan.budget:
        terms = replace(terms, ingest_budget=plan.budget)
    yield from compare(plan, chosen, scenarios, terms)


def compare(plan: Plan, systems: Sequence[System], scenarios: Sequence[Scenario], terms: Terms) -> Iterator[Result]:
    pythons: dict[System, Path] = {}
    for system in systems:
        try:
            pythons[system] = python_of(system, plan.cache or default_cache())
        except Unavailable as reason:
            print(f"{system.name} is left out: {reason}", flush=True)
    table: list[Row] = []
    versions: dict[str, str] = {}
    for number, scenario in enumerate(scenarios):
        folder = plan.folder / f"compare-{number}"
        folder.mkdir()
        workload = write_workload(folder / "data", plan.data, scenario, terms.questions)
        standings = compete(workload, pythons, folder, terms)
        shutil.rmtree(folder)
        versions |= {s.system.name: ", ".join(f"{k} {v}" for k, v in s.versions.items()) for s in standings}
        for row in rows(scenario, standings, terms):
            table.append(row)
            yield _result(row, standings)
    searches = [row for row in table if row.searching and row.lead is not None]
    ahead = sum(not row.ahead_of_us for row in searches)
    behind = [f"{row.scenario}, {row.what}: {', '.join(row.ahead_of_us)}" for row in table if row.ahead_of_us]
    yield Result(
        "compared: search rows that memsidecar leads",
        ahead,
        f"of {len(searches)}",
        float(len(searches)) if searches else None,
        at_least=True,
        how="\n".join(
            [
                render(table),
                "",
                *(f"{name}: {text}" for name, text in versions.items()),
                "",
                *(["memsidecar is not ahead in:", *(f"  {line}" for line in behind)] if behind else []),
            ]
        ),
        numbers={"versions": versions},
    )


def _result(row: Row, standings: Sequence[Standing]) -> Result:
    lead = row.lead
    cells = "; ".join(f"{cell.label} {cell.text or '-'}" for cell in row.cells)
    behind = f"; NOT ahead of {', '.join(row.ahead_of_us)}" if row.ahead_of_us else ""
    settling = [s.settling_seconds for s in standings if s.settling_seconds]
    after = f"; memsidecar's index was complete {settling[0]:.1f} s later" if settling and "ingest" in row.what else ""
    return Result(
        f"compared: {row.scenario}, {row.what}",
        (row.own or 0.0) if lead is None else lead,
        "alone" if lead is None else "x the best",
        1.0 if row.searching and lead is not None else None,
        at_least=True,
        how=cells + behind + after,
        numbers={"cells": [asdict(cell) for cell in row.cells]},
    )
