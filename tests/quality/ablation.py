"""What each source and each step of the ranking is worth: everything on, then one thing off at a time.

    python -m tests.quality.ablation FILE... [--cache embeddings.db] [--out tests/quality/ABLATION.md]

Runs the real services in this process and writes a table.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tqdm import tqdm

from memsidecar.domain.profile import PROFILES, Profile
from memsidecar.domain.recall import Tier
from memsidecar.services.linking import Group, Linking, Placed
from tests.quality.inprocess import InProcess, auroc, ndcg_at_10, recall_at, turns_of

OUT = Path(__file__).parent / "ABLATION.md"
MULTI_HOP = "multi-hop"
# The session's own messages and a reranker take no part: the data has no session under way, and no model is configured.
_SOURCES = tuple(tier for tier in Tier if tier not in (Tier.SESSION, Tier.RERANKER))


def _unfolded(_searches: object, ranked: Sequence[object]) -> list[Group]:
    return [Group([place]) for place in range(len(ranked))]


def _unlinked(linking: Linking, count: int) -> list[Placed]:
    return [linking._of(group) for group in linking.groups[:count]]


_WEIGHTLESS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "folding": {"memsidecar.services.answering._folded": _unfolded},
    "what holds above what does not": {"memsidecar.services.linking.Linking.first": _unlinked},
    "names out of the embedded question": {"memsidecar.domain.question._without": lambda text, _people: text},
}


@dataclass(frozen=True, slots=True)
class Run:
    """One row of the table: what is off, and the profile and tiers that this leaves. `instead` has what stands for a
    step that has no weight, by the name of its function."""

    name: str
    profile: Profile
    tiers: frozenset[Tier] = frozenset()
    instead: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


def runs() -> list[Run]:
    usual = PROFILES["default"]
    found = [Run("everything on", usual)]
    found += [Run(f"without the source: {tier.name.lower()}", usual, frozenset(Tier) - {tier}) for tier in _SOURCES]
    steps = (
        "entity", "association", "speaker", "assistant", "echo", "instruction", "preference", "date", "length",
        "neighbour", "second_neighbour", "session", "freshness", "importance", "confidence",
    )  # fmt: skip
    found += [Run(f"without {step}", replace(usual, **{step: 0.0})) for step in steps]
    found += [Run(f"without {name}", usual, instead=instead) for name, instead in _WEIGHTLESS.items()]
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
                with ExitStack() as stack:
                    for name, function in run.instead.items():
                        stack.enter_context(patch(name, function))
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
on the order). Weights are those of `memsidecar/domain/profile.py`. The session's own messages, the rewriting of a
question from them, and a reranker take no part: the data sets have no session under way, and no model is configured.

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
