"""What must not be in an answer: another user's, another scope's, another type's memories, and an order that flickers.

    python -m tests.quality.precision DATA.jsonl

Brings in the beliefs of a set in PrecisionMemBench's shape through the API of the real process, as an agent would that
keeps scope, type and status as labels, builds each section of a question by recalls with exact filters, and counts
violations of `mustExclude` and `mustNotContain`, and questions whose repetition gives another order. Superseded beliefs
are left out as their labels say: who replaces whom is not this set's question. Exit code 1 when there is a violation.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memsidecar_client import AsyncMemsidecar, Entity, Fact, Filter, Hit, Item, Memory, Preference

from tests.quality.questions import load
from tests.sidecar import Sidecar

USER = "user"
UNIVERSAL = "user:universal"
# The sections of the set, as labels that a memory must have in the question's scope.
SECTIONS: Mapping[str, tuple[Mapping[str, str], ...]] = {
    "relevantBeliefs": ({"status": "active"},),
    "pinnedFacts": tuple(
        {"status": "active", "pinned": "true", "type": kind} for kind in ("preference", "decision", "entity")
    ),
    "openQuestions": ({"status": "exploratory", "type": "open_question"},),
}
PRELUDE = {"status": "active", "type": "preference", "scope": UNIVERSAL}


def belief(turn: dict[str, Any]) -> Memory:
    labels = {
        "belief": turn["id"].partition(":")[2],
        "scope": turn["scope"][0],
        "type": turn["type"],
        "status": turn["status"],
        "pinned": str(turn["pinned"]).lower(),
    }
    match turn["type"]:
        case "preference":
            body: Preference | Entity | Fact = Preference(turn["text"], topic=turn["name"])
        case "entity":
            body = Entity(turn["name"], aliases=tuple(turn["aliases"]), summary=turn["text"])
        case _:
            body = Fact(turn["text"])
    return Memory(body, labels=labels)


async def ask(client: AsyncMemsidecar, question: dict[str, Any], labels: Mapping[str, str]) -> tuple[Hit, ...]:
    answer = await client.recall(
        question["question"].strip() or "what do you know", filter=Filter(labels=labels), max_hits=50,
        namespace=question["sample"].replace(":", "-"), user=USER,
    )  # fmt: skip
    return answer.hits


async def violations(client: AsyncMemsidecar, question: dict[str, Any]) -> list[str]:
    found = []
    for section, expected in question["expect"].items():
        if section == "personaPrelude":
            told = " ".join(hit.text for hit in await ask(client, question, PRELUDE))
            found += [f"{section} contains {word}" for word in expected.get("mustNotContain", ()) if word in told]
            continue
        wanted = [{**labels, "scope": scope} for labels in SECTIONS[section] for scope in question["scope"]]
        hits = [hit for labels in wanted for hit in await ask(client, question, labels)]
        again = [hit for labels in wanted for hit in await ask(client, question, labels)]
        if [hit.memory.name for hit in hits] != [hit.memory.name for hit in again]:
            found.append(f"{section} flickers")
        there = {hit.memory.labels["belief"] for hit in hits}
        found += [f"{section} holds {name}" for name in expected.get("mustExclude", ()) if name in there]
    return found


async def evaluate(target: str, data: Path) -> int:
    turns, questions = load(data)
    count = 0
    async with AsyncMemsidecar(target, timeout=60) as client:
        await client.ready(60)
        for sample, beliefs in turns.items():
            items = [Item(belief(turn)) for turn in beliefs]
            result = await client.remember_many(items, namespace=sample.replace(":", "-"), user=USER)
            for one in result.results:
                if one.error is not None:
                    raise one.error
        for question in questions:
            for problem in await violations(client, question):
                count += 1
                print(f"{question['id']}: {problem}")
    print(json.dumps({"questions": len(questions), "violations": count}))
    return count


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with TemporaryDirectory() as folder:
        sidecar = Sidecar(Path(folder) / "data", {})
        try:
            sidecar.start()
            return int(asyncio.run(evaluate(sidecar.target, Path(sys.argv[1]))) > 0)
        finally:
            sidecar.close()


if __name__ == "__main__":
    raise SystemExit(main())
