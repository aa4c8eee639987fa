"""The README's targets as ratios, each measured side by side with its yardstick, in one run on the real process."""

from __future__ import annotations

import argparse
import json
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.benchmarks import ingest, load, recall, remember, scale
from tests.benchmarks.compare.comparison import comparison
from tests.benchmarks.compare.systems import SYSTEMS
from tests.benchmarks.generation import lasting, latency
from tests.benchmarks.machine import describe
from tests.benchmarks.measuring import Result
from tests.benchmarks.plan import Plan

# In this order: the batch fills the process that the others ask, and is measured on an empty one.
BENCHMARKS: Mapping[str, Callable[[Plan], Iterator[Result]]] = {
    "batch": ingest.batch,
    "recall": recall.against_echo,
    "growth": recall.growth,
    "under-writes": recall.under_writes,
    "load": load.under_load,
    "remember": remember.against_commit,
    "extraction": remember.with_extraction,
    "writers": remember.by_many,
    "start": ingest.start,
    "compare": comparison,
    "scale-users": scale.many_users,
    "scale-shared": scale.one_partition,
    "stream-hit": latency.against_ping_pong,
    "stream-crowd": latency.crowd,
    "stream-recall": latency.first_of_recall,
    "stream-unread": lasting.unread,
    "stream-ends": lasting.ended,
    "stream-drain": lasting.drained,
}
STREAMS = frozenset(name for name in BENCHMARKS if name.startswith("stream-"))
# Only when asked for: the others take an hour each, and `compare` installs other people's packages.
ASKED_FOR = frozenset({"compare", "scale-users", "scale-shared"}) | STREAMS


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", choices=BENCHMARKS, default=sorted(BENCHMARKS.keys() - ASKED_FOR)
    )
    parser.add_argument("--quick", action="store_true", help="small partitions and few samples: does it run at all?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there, too")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--dir", type=Path, help="where the data directories go: the disk that is measured")
    parser.add_argument(
        "--systems", nargs="+", metavar="NAME", choices=[s.name for s in SYSTEMS], default=[], help="compare these only"
    )
    parser.add_argument("--cache", type=Path, help="where the compared systems' environments are kept")
    parser.add_argument("--budget", type=float, default=0.0, metavar="SECONDS", help="for each to store a scenario")
    parser.add_argument("--memories", type=int, default=0, metavar="N", help="how many to store for the scale-* ones")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where what scale-* store is kept, to go on with")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="memsidecar-bench-", dir=arguments.dir) as name:
        folder = Path(name)
        machine = describe(folder)
        for key, value in machine.items():
            print(f"{key}: {value}")
        print()
        results = []
        plan = _plan(folder, arguments)
        try:
            for benchmark in BENCHMARKS:
                if benchmark in arguments.only:
                    for result in BENCHMARKS[benchmark](plan):
                        results.append(result)
                        _print(result)
        finally:
            plan.close()
    if arguments.json is not None:
        report = {"machine": machine, "quick": arguments.quick, "results": [_as_json(r) for r in results]}
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    missed = sum(result.verdict == "FAIL" for result in results)
    print(f"\n{len(results)} numbers, {missed} targets missed")
    return 1 if arguments.check and missed else 0


def _plan(folder: Path, arguments: argparse.Namespace) -> Plan:
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    given = (arguments.systems, arguments.cache, arguments.memories, arguments.keep, arguments.budget)
    return Plan(folder, arguments.quick, *given)


def _print(result: Result) -> None:
    target = "" if result.target is None else f"{'>=' if result.at_least else '<='} {result.target:,g}"
    measured = f"{result.measured:,.0f}" if result.measured >= 1000 else f"{result.measured:.2f}"
    print(f"{result.name:<52} {measured:>9} {result.unit:<13} {target:<9} {result.verdict}", flush=True)
    if result.how:
        print(textwrap.indent(result.how, "    "), flush=True)


def _as_json(result: Result) -> dict[str, object]:
    return {
        "name": result.name,
        "measured": result.measured,
        "unit": result.unit,
        "target": result.target,
        "at_least": result.at_least,
        "verdict": result.verdict,
        "how": result.how,
        "numbers": dict(result.numbers),
    }


if __name__ == "__main__":
    raise SystemExit(main())
