"""What each source and each step of the ranking is worth: everything on, then one thing off at a time.

    python -m tests.quality.ablation FILE... [--cache embeddings.db] [--out tests/quality/ABLATION.md]

Runs the real services in this process and writes a table.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from memsidecar.domain.profile import PROFILES, Profile
from memsidecar.domain.recall import Tier
from tests.quality.inprocess import InProcess, auroc, ndcg_at_10, recall_at, turns_of

OUT = Path(__file__).parent / "ABLATION.md"
MULTI_HOP = "multi-hop"


@dataclass(frozen=True, slots=True)
class Run:
    """One row of the table: what is off, and the profile and tiers that this leaves."""

    name: str
    profile: Profile
    tiers: frozenset[Tier] = frozenset()


def runs() -> list[Run]:
    usual = PROFILES["default"]
    found = [Run("everything on", usual)]
    found += [Run(f"without the source: {tier.name.lower()}", usual, frozenset(Tier) - {tier}) for tier in Tier]
    steps = (
        "entity", "association", "speaker", "assistant", "instruction", "preference", "date", "length", "neighbour",
        "second_neighbour", "session", "freshness", "importance", "confidence",
    )  # fmt: skip
    found += [Run(f"without {step}", replace(usual, **{step: 0.0})) for step in steps]
    found += [Run(f"profile {name}", profile) for name, profile in PROFILES.items() if name != "default"]
    return found


async def measure(data: Path, cache: Path, wanted: Sequence[Run]) -> tuple[list[str], list[list[float]]]:
    """Names of the columns, and a row of numbers (in percent) for each run."""
    rows = []
    async with InProcess(data, cache) as process:
        questions = process.questions
        has_hops = any(q["category"] == MULTI_HOP for q in questions)
        mixed = len({q.get("answerable", True) for q in questions}) > 1
        columns = [
            "R@5",
            "R@10",
            "nDCG@10",
            *([f"{MULTI_HOP} R@10"] if has_hops else []),
            *(["AUROC"] if mixed else []),
        ]
        for run in tqdm(wanted, desc=f"{data.stem} runs", unit="run", disable=None):
            scores: dict[str, list[float]] = {column: [] for column in columns}
            confidence: dict[bool, list[float]] = {True: [], False: []}
            for question in questions:
                answer = await process.ask(question, run.profile, run.tiers)
                answerable = question.get("answerable", True)
                confidence[answerable].append(answer.confidence)
                gold, ranked = question["evidence"], turns_of(answer)
                if not gold or not answerable:
                    continue
                scores["R@5"].append(recall_at(ranked, gold, 5))
                scores["R@10"].append(recall_at(ranked, gold, 10))
                scores["nDCG@10"].append(ndcg_at_10(ranked, gold))
                if question["category"] == MULTI_HOP:
                    scores[f"{MULTI_HOP} R@10"].append(recall_at(ranked, gold, 10))
            if mixed:
                scores["AUROC"] = [auroc(confidence[True], confidence[False])]
            rows.append([100 * sum(values) / len(values) for values in scores.values()])
    return columns, rows


async def table(files: Sequence[Path], cache: Path) -> str:
    wanted = runs()
    names: list[str] = []
    lines: list[list[float]] = [[] for _ in wanted]
    for file in files:
        columns, rows = await measure(file, cache, wanted)
        names += [f"{file.stem.split('.')[0]} {column}" for column in columns]
        for line, row in zip(lines, rows, strict=True):
            line += row
    text = [f"| | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for number, (run, line) in enumerate(zip(wanted, lines, strict=True)):
        cells = [f"{value:.1f}" if not number else f"{value:.1f} ({value - lines[0][place]:+.1f})"
                 for place, value in enumerate(line)]  # fmt: skip
        text.append(f"| {run.name} | {' | '.join(cells)} |")
    return "\n".join(text)


INTRODUCTION = """# What each source and step is worth

Written by `make quality-ablation DATA="FILE..."`: the default settings, and the same with one thing off at a time (in
brackets: the difference). In percent; no language model; in process, so without the API's own effects (there are none
on the order). Weights are those of `memsidecar/domain/profile.py`.

"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.quality.ablation", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--cache", type=Path, default=Path("results/embeddings.db"))
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    arguments.cache.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(
        INTRODUCTION + asyncio.run(table(arguments.data, arguments.cache)) + "\n", encoding="utf-8"
    )
    print(arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
