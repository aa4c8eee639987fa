"""What must not be in an answer: another user's, another scope's, another type's memories, and an order that flickers.

    python -m tests.quality.precision DATA.jsonl

Brings in the beliefs of a set in PrecisionMemBench's shape through the API of the real process, as an agent would that
keeps scope and type as labels, builds each section of a question by recalls with exact filters, and counts violations
of `mustInclude`, `mustExclude` and `mustNotContain`, questions whose repetition gives another order, superseded beliefs
that come up, and beliefs whose state is not the one that the set says. What is superseded is the product's own doing:
beliefs come in the order of their times, and those that replace each other are values of one slot that is configured
to have one value at a time. Exit code 1 when there is a violation.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence, Set
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memsidecar_client import (
    AsyncMemsidecar,
    ConflictPolicy,
    Entity,
    Fact,
    Filter,
    Hit,
    Memory,
    MemoryState,
    Preference,
)

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


def name_of(turn: dict[str, Any]) -> str:
    return str(turn["id"].partition(":")[2])


def slots(beliefs: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Belief -> the name of the one that holds in the end, for those that replace others or are replaced."""
    known = {name_of(turn): turn for turn in beliefs}
    found: dict[str, str] = {}
    for name in known:
        last = name
        while (newer := known[last]["superseded_by"]) and newer in known:
            last = newer
        if last != name:
            found[name] = found[last] = known[last]["name"]
    return found


def belief(turn: dict[str, Any], slot: str) -> Memory:
    """An agent's memory of it. One that replaces another, or is replaced, is a value of a slot."""
    labels = {
        "belief": name_of(turn),
        "scope": turn["scope"][0],
        "type": turn["type"],
        "status": "active" if turn["status"] == "superseded" else turn["status"],
        "pinned": str(turn["pinned"]).lower(),
    }
    match turn["type"]:
        case _ if slot:
            body: Preference | Entity | Fact = Fact(turn["text"], predicate=slot, object_text=turn["name"])
        case "preference":
            body = Preference(turn["text"], topic=turn["name"])
        case "entity":
            body = Entity(turn["name"], aliases=tuple(turn["aliases"]), summary=turn["text"])
        case _:
            body = Fact(turn["text"])
    said = datetime.fromisoformat(turn["time"]).replace(tzinfo=UTC)
    return Memory(body, labels=labels, valid_start_time=said)


async def ask(client: AsyncMemsidecar, question: dict[str, Any], labels: Mapping[str, str]) -> tuple[Hit, ...]:
    answer = await client.recall(
        question["question"].strip() or "what do you know", filter=Filter(labels=labels), max_hits=50,
        namespace=question["sample"].replace(":", "-"), user=USER,
    )  # fmt: skip
    return answer.hits


async def violations(client: AsyncMemsidecar, question: dict[str, Any], superseded: Set[str]) -> list[str]:
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
        found += [f"{section} lacks {name}" for name in expected.get("mustInclude", ()) if name not in there]
        unwanted = {*expected.get("mustExclude", ()), *superseded}
        found += [f"{section} holds {name}" for name in sorted(unwanted & there)]
    return found


async def bring_in(client: AsyncMemsidecar, namespace: str, beliefs: Sequence[dict[str, Any]]) -> int:
    """Remember the beliefs; how many of them do not have the state that the set says."""
    replacing = slots(beliefs)
    names: dict[str, dict[str, Any]] = {}
    for turn in sorted(beliefs, key=lambda turn: str(turn["time"])):
        slot = replacing.get(name_of(turn), "")
        policy = ConflictPolicy.SUPERSEDE if slot else ConflictPolicy.UNSPECIFIED
        stored = await client.remember(belief(turn, slot), namespace=namespace, user=USER, conflict_policy=policy)
        names[stored.outcomes[0].memory.name] = turn
    wrong = 0
    memories = await client.get_memories(names)
    for memory in memories:
        turn = names[memory.name]
        if (memory.state is MemoryState.SUPERSEDED) != (turn["status"] == "superseded"):
            wrong += 1
            print(f"{turn['id']} is {memory.state.name}, and {turn['status']} in the set")
    return wrong


async def evaluate(target: str, data: Path) -> int:
    turns, questions = load(data)
    count = 0
    async with AsyncMemsidecar(target, timeout=60) as client:
        await client.ready(60)
        for sample, beliefs in turns.items():
            count += await bring_in(client, sample.replace(":", "-"), beliefs)
        for question in questions:
            gone = {name_of(turn) for turn in turns[question["sample"]] if turn["status"] == "superseded"}
            for problem in await violations(client, question, gone):
                count += 1
                print(f"{question['id']}: {problem}")
    print(json.dumps({"questions": len(questions), "violations": count}))
    return count


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with TemporaryDirectory() as folder:
        data = Path(sys.argv[1])
        single = {slot for beliefs in load(data)[0].values() for slot in slots(beliefs).values()}
        sidecar = Sidecar(Path(folder) / "data", {"conflicts.single": ", ".join(sorted(single))})
        try:
            sidecar.start()
            return int(asyncio.run(evaluate(sidecar.target, data)) > 0)
        finally:
            sidecar.close()


if __name__ == "__main__":
    raise SystemExit(main())
