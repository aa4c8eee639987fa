"""The turns and questions of a data set in one JSONL file."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any


def load(path: Path) -> tuple[dict[str, list[dict[str, Any]]], list[dict[str, Any]]]:
    """The turns of each sample, in order, and the questions."""
    turns: dict[str, list[dict[str, Any]]] = defaultdict(list)
    questions = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                record = json.loads(line)
                if record.get("kind") == "turn":
                    turns[record["sample"]].append(record)
                elif record.get("kind") == "question":
                    questions.append(record)
    return turns, questions
