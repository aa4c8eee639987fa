"""What all of them store and are asked, in files that any environment reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from tests.benchmarks.dataset import BATCH, DIMENSIONS, HITS, Dataset


@dataclass(frozen=True, slots=True)
class Scenario:
    users: int
    each: int

    @property
    def memories(self) -> int:
        return self.users * self.each

    def __str__(self) -> str:
        return f"{self.each:,} of one user" if self.users == 1 else f"{self.users:,} users x {self.each:,}"


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Files in `folder`, and what the right answers are."""

    scenario: Scenario
    folder: Path
    askers: Sequence[str]
    questions: NDArray[np.float32]

    def exact(self, count: int, own: bool) -> list[set[str]]:
        """The texts of the true nearest `HITS` of the first `count` questions, among the asker's or everybody's."""
        best = [(np.zeros(0, np.float32), np.zeros(0, object)) for _ in range(count)]
        for user, texts, vectors in self._stored():
            scores = self.questions[:count] @ vectors.T
            for number in range(count):
                if own and self.askers[number] != user:
                    continue
                all_scores = np.concatenate((best[number][0], scores[number]))
                all_texts = np.concatenate((best[number][1], np.array(texts, object)))
                kept = np.argsort(-all_scores)[:HITS]
                best[number] = all_scores[kept], all_texts[kept]
        return [set(texts.tolist()) for _, texts in best]

    def _stored(self) -> Iterator[tuple[str, list[str], NDArray[np.float32]]]:
        vectors = np.load(self.folder / "memories.npy", mmap_mode="r")
        at = 0
        with (self.folder / "memories.jsonl").open(encoding="utf-8") as lines:
            for line in lines:
                user, texts = json.loads(line)
                yield user, texts, vectors[at : at + len(texts)]
                at += len(texts)


def write_workload(folder: Path, data: Dataset, scenario: Scenario, questions: int) -> Workload:
    """Memories in batches of one user and at most 256, and questions of all users in turn."""
    folder.mkdir()
    names = [f"user-{n}" for n in range(scenario.users)]
    batches = [(name, min(BATCH, scenario.each - first)) for name in names for first in range(0, scenario.each, BATCH)]
    vectors = np.lib.format.open_memmap(
        folder / "memories.npy", mode="w+", dtype=np.float32, shape=(scenario.memories, DIMENSIONS)
    )
    at = 0
    with (folder / "memories.jsonl").open("w", encoding="utf-8") as lines:
        for block, (name, count) in enumerate(tqdm(batches, desc="making memories", leave=False, disable=None)):
            texts, rows = data.block(block, count)
            vectors[at : at + count] = rows
            at += count
            lines.write(json.dumps([name, texts]) + "\n")
    vectors.flush()
    # A stride through the users: neighbours in time are asked about no sooner than others.
    askers = [names[(n * 37) % len(names)] for n in range(questions)]
    asked = data.questions(questions, words=True)
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps([asker, text]) + "\n" for asker, (text, _) in zip(askers, asked, strict=True))
    rows = np.stack([vector for _, vector in asked])
    np.save(folder / "questions.npy", rows)
    return Workload(scenario, folder, askers, rows)
