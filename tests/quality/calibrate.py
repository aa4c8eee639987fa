"""Fit the constants of confidence: python -m tests.quality.calibrate FILE... [--cache embeddings.db]

Prints ANSWER_BIAS, ANSWER, HIT_BIAS, HIT, PAIRS_BIAS and PAIRS for memsidecar/domain/confidence.py, with the AUROC that
each set reaches when its fifth is predicted from the other four. Questions in scripts without spaces are for PAIRS; a
dialogue in one is asked about as a whole and by its last lines, as a stream does, so that the scores of short texts are
among those that are fitted. Every set weighs the same. For answers so do answerable and
unanswerable questions within a set (how many there are is the benchmark's choice), and sets whose questions are all
answerable take no part. A hit is right when it is among the annotated evidence.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memsidecar.domain.recall import Recalled
from memsidecar.domain.tokens import query_tokens, share_of_pairs
from tests.quality.inprocess import InProcess, auroc

Numbers = NDArray[np.float64]
FOLDS = 5
# The strength with which weights are drawn to 0.
RIDGE = 0.003
# A question with this share of terms that are pairs of characters is one in such a script.
IN_PAIRS = 0.5
LINES = 2


def fit(features: Numbers, labels: Numbers, weights: Numbers) -> Numbers:
    """(bias, weights) of a logistic regression, by Newton's method on standardised features."""
    mean, deviation = features.mean(axis=0), features.std(axis=0) + 1e-9
    design = np.column_stack([np.ones(len(features)), (features - mean) / deviation])
    found = np.zeros(design.shape[1])
    penalty = RIDGE * np.array([0.0, *np.ones(features.shape[1])])
    weights = weights / weights.sum()
    for _ in range(50):
        chance = 1 / (1 + np.exp(-design @ found))
        slope = design.T @ (weights * (chance - labels)) + penalty * found
        curve = (design * (weights * chance * (1 - chance))[:, None]).T @ design + np.diag(penalty + 1e-9)
        found = found - np.linalg.solve(curve, slope)
    scaled = found[1:] / deviation
    return np.array([found[0] - scaled @ mean, *scaled])


def predict(found: Numbers, features: Numbers) -> Numbers:
    return np.asarray(found[0] + features @ found[1:], dtype=np.float64)


class Table:
    """Features and labels of several sets."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, tuple[float, ...], bool]] = []

    def add(self, name: str, features: tuple[float, ...], label: bool) -> None:
        self.rows.append((name, features, label))

    def report(self, title: str, bias: str, name: str, *, balanced: bool) -> None:
        sets = np.array([row[0] for row in self.rows])
        features = np.array([row[1] for row in self.rows], dtype=np.float64)
        labels = np.array([row[2] for row in self.rows], dtype=np.float64)
        weights = np.ones(len(labels))
        for one in set(sets.tolist()):
            for label in (0.0, 1.0):
                part = (sets == one) & (labels == label)
                weights[part] = 1 / max(1, part.sum() if balanced else (sets == one).sum())
        guesses = np.zeros(len(labels))
        folds = np.arange(len(labels)) % FOLDS
        for fold in range(FOLDS):
            rest = folds != fold
            guesses[~rest] = predict(fit(features[rest], labels[rest], weights[rest]), features[~rest])
        print(title)
        for one in sorted(set(sets.tolist())):
            part = sets == one
            reached = auroc(guesses[part & (labels > 0)].tolist(), guesses[part & (labels == 0)].tolist())
            print(f"  {one}: AUROC {reached:.3f} of {int(labels[part].sum())} against {int((1 - labels[part]).sum())}")
        found = fit(features, labels, weights)
        print(f"{bias} = {found[0]:.2f}\n{name} = ({', '.join(f'{value:.2f}' for value in found[1:])})")


async def collect(files: list[Path], cache: Path) -> tuple[Table, Table, Table]:
    answers, hits, pairs = Table(), Table(), Table()
    for file in files:
        async with InProcess(file, cache) as run:
            mixed = len({question.get("answerable", True) for question in run.questions}) > 1
            for question in run.questions:
                answer = await run.ask(question)
                if mixed:
                    answers.add(file.stem, answer.grounds.features, question.get("answerable", True))
                if question["evidence"] and question.get("answerable", True):
                    evidence = set(question["evidence"])
                    if share_of_pairs(query_tokens(question["question"])) < IN_PAIRS:
                        _add_hits(hits, file.stem, answer, evidence)
                        continue
                    _add_hits(pairs, file.stem, answer, evidence)
                    for line in _last_lines(question["question"]):
                        _add_hits(pairs, file.stem, await run.ask({**question, "question": line}), evidence)
    return answers, hits, pairs


def _last_lines(text: str) -> list[str]:
    lines = [line for line in text.split("\n") if line.strip()]
    return lines[-LINES:] if len(lines) > 1 else []


def _add_hits(table: Table, name: str, answer: Recalled, gold: set[str]) -> None:
    for hit in answer.hits:
        turns = {turn for source in hit.memory.provenance for turn in source.messages}
        table.add(name, (hit.score, hit.score - answer.hits[0].score), bool(turns & gold))


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.quality.calibrate")
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--cache", type=Path, default=Path("results/embeddings.db"))
    arguments = parser.parse_args()
    arguments.cache.parent.mkdir(parents=True, exist_ok=True)
    answers, hits, pairs = asyncio.run(collect(arguments.data, arguments.cache))
    answers.report("answers", "ANSWER_BIAS", "ANSWER", balanced=True)
    for table, title, name in ((hits, "hits", "HIT"), (pairs, "hits in scripts without spaces", "PAIRS")):
        if table.rows:
            table.report(title, f"{name}_BIAS", name, balanced=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
