"""Evaluate recall through the public API of the real process.

    python -m tests.quality DATA.jsonl [RESULTS.jsonl] [--keep FOLDER] [--set key=value ...]

Brings in the turns as a user would bring in a chat history (a namespace a sample, turns in order with their own
speakers, sessions and times), asks every question at its own time, and writes one line a question: `id`, `ranked`,
`confidence`, `superseded` and `conflicts` (`marks.py`), `latency_ms`. Uses nothing of the data but the turns and each
question's text and time. A run that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from memsidecar_client import AsyncMemsidecar, Hit, Item, MemoryState, MemsidecarError, Provenance
from tqdm import tqdm

from tests.quality.marks import Shown, Stated, marks
from tests.quality.questions import load
from tests.sidecar import Sidecar

USER = "user"
HITS = 20
# Ingesting a sample again is harmless: what is there already is a duplicate.
PROGRESS = "ingested.jsonl"


def moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file that a run may have left in the middle of one: what is not complete is cut off."""
    if path.exists():
        whole = path.read_bytes()
        whole = whole[: whole.rfind(b"\n") + 1]
        with path.open("r+b") as file:
            file.truncate(len(whole))
        for line in whole.decode().split("\n"):
            if line.strip():
                yield json.loads(line)


def append(path: Path, record: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


async def ingest(client: AsyncMemsidecar, sample: str, turns: list[dict[str, Any]], bar: Any) -> dict[str, list[str]]:
    """Remember a sample's turns; which turns each memory stands for."""
    memories: dict[str, list[str]] = defaultdict(list)
    for session, group in groupby(turns, key=lambda t: t["session"]):
        said = list(group)
        items = [
            Item(
                turn["text"],
                speaker=turn.get("speaker", ""),
                time=moment(turn.get("time")),
                provenance=Provenance(session=session, messages=(turn["id"],)),
            )
            for turn in said
            if turn["text"].strip()
        ]
        kept = [turn for turn in said if turn["text"].strip()]
        result = await client.remember_many(items, namespace=sample, user=USER, session=session, timeout=600)
        for turn, outcome in zip(kept, result.results, strict=True):
            if outcome.error is not None:
                raise outcome.error
            for memory in outcome.outcomes:
                # What an earlier turn says may have been read only now.
                messages = [each for source in memory.memory.provenance for each in source.messages]
                known = memories[memory.memory.name]
                known += [each for each in dict.fromkeys(messages or [turn["id"]]) if each not in known]
        bar.update(len(said))
    return memories


def shown(hit: Hit) -> Shown:
    standings = [
        Stated(each.memory, each.state is MemoryState.SUPERSEDED, each.superseding_memory, each.counterparts)
        for each in hit.standings
    ]
    return Shown(hit.memory.name, standings, hit.counterpart_of)


async def ask(client: AsyncMemsidecar, question: dict[str, Any], memories: dict[str, list[str]]) -> dict[str, Any]:
    started = time.perf_counter()
    answer = await client.recall(
        question["question"],
        time=moment(question.get("time")),
        max_hits=HITS,
        namespace=question["sample"],
        user=USER,
        timeout=60,
    )
    elapsed = (time.perf_counter() - started) * 1000
    return {
        "id": question["id"],
        "ranked": [memories[hit.memory.name] for hit in answer.hits if hit.memory.name in memories],
        "confidence": answer.confidence,
        **marks(map(shown, answer.hits), memories),
        "latency_ms": round(elapsed, 3),
    }


async def ingest_all(
    client: AsyncMemsidecar, turns: dict[str, list[dict[str, Any]]], folder: Path
) -> dict[str, dict[str, list[str]]]:
    """What `ingest` says of each sample; those that a run before has brought into the memory in the folder are left."""
    progress = folder / PROGRESS
    known = {record["sample"]: record["memories"] for record in lines(progress)}
    with tqdm(total=sum(map(len, turns.values())), desc="turns", unit="turn", disable=None) as bar:
        for sample, said in turns.items():
            if sample not in known:
                known[sample] = await ingest(client, sample, said, bar)
                append(progress, {"sample": sample, "memories": known[sample]})
            else:
                bar.update(len(said))
    return known


async def evaluate(target: str, data: Path, results: Path, folder: Path) -> None:
    turns, questions = load(data)
    answered = {record["id"] for record in lines(results)}
    async with AsyncMemsidecar(target) as client:
        await client.ready(60)
        known = await ingest_all(client, turns, folder)
        for question in tqdm(open_questions(questions, answered), desc="questions", unit="question", disable=None):
            append(results, await ask(client, question, known.get(question["sample"], {})))


def open_questions(questions: Iterable[dict[str, Any]], answered: set[str]) -> list[dict[str, Any]]:
    return [q for q in questions if q["id"] not in answered]


def same_experiment(folder: Path, wanted: dict[str, Any]) -> None:
    """Refuse to go on with results of other data or other settings."""
    notes = folder / "experiment.json"
    if notes.exists() and json.loads(notes.read_text()) != wanted:
        raise SystemExit(
            f"{folder} is of other data or settings; begin anew with --fresh (ARGS=--fresh), or keep it apart"
        )
    notes.write_text(json.dumps(wanted))


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.quality", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("results", type=Path, nargs="?", help="default: results/<data>.results.jsonl")
    parser.add_argument("--keep", type=Path, help="where the memory is kept between runs; default: beside the results")
    parser.add_argument("--fresh", action="store_true", help="begin anew instead of going on")
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="a setting other than default")
    arguments = parser.parse_args()
    results = arguments.results or Path("results") / f"{arguments.data.stem}.results.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    folder = arguments.keep or results.with_suffix(".memory")
    if not arguments.data.is_file():
        raise SystemExit(f"{arguments.data} does not exist, or is no file")
    if not load(arguments.data)[1]:
        raise SystemExit(f"{arguments.data} holds no questions; this evaluates files with turns and questions")
    if arguments.fresh:
        subprocess.run(["rm", "-rf", str(folder), str(results)], check=True)
    folder.mkdir(parents=True, exist_ok=True)
    settings = dict(pair.split("=", 1) for pair in arguments.set)
    same_experiment(folder, {"data": str(arguments.data.resolve()), "settings": settings})
    sidecar = Sidecar(folder / "data", settings)
    try:
        sidecar.start()
        asyncio.run(evaluate(sidecar.target, arguments.data, results, folder))
        sidecar.stop()
    except MemsidecarError as error:
        print(f"{error}\n{sidecar.log()[-2000:]}", file=sys.stderr)
        return 1
    finally:
        sidecar.close()
    print(f"results: {results}")
    scorer = arguments.data.parent / "score.py"
    if scorer.exists():
        return subprocess.run([sys.executable, str(scorer), str(arguments.data), str(results)], check=False).returncode
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
