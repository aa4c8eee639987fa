"""How useful recall during generation is: what arrives in time, and what was not worth interrupting for.

    python -m tests.quality.streaming FILE... [--keep FOLDER] [--out tests/quality/STREAMING.md]

Brings in the turns as `python -m tests.quality` does, then feeds the answer of every question to RecallDuring of the
real process as a model would write it, with and without the question as prompt, once for each threshold of
`min_confidence`, and with the default one for some values of the trigger's `min_chars` and once with all that the
server settles on by default. Writes the table, and beside the memory every hit that was sent. Questions that have no
answer in the turns are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import grpc
from memsidecar_client import AsyncMemsidecar
from memsidecar_client.v1.generation_service_pb2_grpc import GenerationServiceStub
from tqdm import tqdm

from tests.quality.__main__ import USER, ingest_all
from tests.quality.listening import PACE, Heard, listen
from tests.quality.questions import load
from tests.quality.sayings import WORDS, Mode, Saying, saying
from tests.sidecar import Sidecar

if TYPE_CHECKING:
    from memsidecar_client.v1.generation_service_pb2_grpc import GenerationServiceAsyncStub

OUT = Path(__file__).parent / "STREAMING.md"
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MIN_CHARS = (20, 80, 160)
# So that nothing but the threshold and the hits of one evaluation bounds what is sent.
PLENTY: Mapping[str, Any] = {"initial_credit": 1000, "max_total_hits": 1000, "max_total_tokens": 262_144}
# Streams at once: they mostly wait for the next delta.
AT_ONCE = 16
TRIES = 5


@dataclass(slots=True)
class Tally:
    """Of all answers that were streamed in one mode with one threshold."""

    answers: int = 0
    evidence: int = 0
    """Turns that the answers need."""
    before: int = 0
    """Of them, those that came before the answer's first delta was written."""
    in_time: int = 0
    """Those that came before the last delta of the answer was."""
    in_all: int = 0
    served: int = 0
    """Answers for which at least one came in time."""
    sent: int = 0
    noise: int = 0
    """Hits sent that are no evidence."""
    evaluations: int = 0
    coalesced: int = 0
    withheld: int = 0
    settled: set[float] = field(default_factory=set)
    """The thresholds that the server has answered with."""

    def add(self, gold: set[str], said: Saying, heard: Heard, turns_of: Mapping[str, Sequence[str]]) -> None:
        first: dict[str, int] = {}
        for hit in heard.sent:
            right = {turn for name in hit.memories for turn in turns_of.get(name, ())} & gold
            self.noise += not right
            for turn in right:
                first[turn] = min(hit.seq, first.get(turn, hit.seq))
        self.answers += 1
        self.evidence += len(gold)
        self.before += sum(seq < said.answer_seq for seq in first.values())
        self.in_time += sum(seq < said.last_seq for seq in first.values())
        self.in_all += len(first)
        self.served += any(seq < said.last_seq for seq in first.values())
        self.sent += len(heard.sent)
        self.evaluations += heard.evaluations
        self.coalesced += heard.coalesced
        self.withheld += heard.withheld
        self.settled.add(round(heard.min_confidence, 6))

    def cells(self) -> Iterator[str]:
        for count in (self.before, self.in_time, self.in_all):
            yield _percent(count, self.evidence)
        yield _percent(self.served, self.answers)
        yield f"{self.sent / self.answers:.2f}"
        yield f"{self.noise / self.answers:.2f}"
        yield _percent(self.noise, self.sent)
        yield f"{self.evaluations / self.answers:.2f}"


@dataclass(frozen=True, slots=True)
class Run:
    """What is not as the server settles it. Limits are as it does only when nothing else is given."""

    mode: Mode
    threshold: float | None = None
    min_chars: int | None = None

    @property
    def start(self) -> dict[str, Any]:
        if self.threshold is not None:
            return {"min_confidence": self.threshold, **PLENTY}
        return {} if self.min_chars is None else {"trigger": {"min_chars": self.min_chars}, **PLENTY}


def questions_of(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in found if one["evidence"] and one.get("answerable", True)]


async def whole(stub: GenerationServiceAsyncStub, said: Saying, start: dict[str, Any]) -> Heard:
    """What a stream in which no source failed or was late sends."""
    for _ in range(TRIES):
        heard = await listen(stub, said, start)
        if not heard.degraded:
            return heard
    raise RuntimeError("sources are late; the machine has too much else to do for this to say anything")


def runs_of(thresholds: Sequence[float]) -> Iterator[Run]:
    for mode in Mode:
        yield from (Run(mode, threshold) for threshold in thresholds)
        yield from (Run(mode, min_chars=number) for number in MIN_CHARS)
        yield Run(mode)


async def measure(target: str, data: Path, folder: Path, runs: Sequence[Run], every: int) -> dict[Run, Tally]:
    turns, found = load(data)
    questions = questions_of(found)[::every]
    tallies = {run: Tally() for run in runs}
    async with AsyncMemsidecar(target) as client:
        await client.ready(60)
        memories = await ingest_all(client, turns, folder)
    free = asyncio.Semaphore(AT_ONCE)
    async with grpc.aio.insecure_channel(target) as channel:
        stub = cast("GenerationServiceAsyncStub", GenerationServiceStub(channel))
        with (folder / "sent.jsonl").open("w", encoding="utf-8") as rows:

            async def one(question: dict[str, Any], run: Run) -> None:
                said, scope = saying(question, run.mode), {"namespace": question["sample"], "user": USER}
                async with free:
                    heard = await whole(stub, said, {"scope": scope, **run.start})
                turns_of = memories[question["sample"]]
                tallies[run].add(set(question["evidence"]), said, heard, turns_of)
                hits = [
                    [[t for name in hit.memories for t in turns_of.get(name, ())], hit.confidence, hit.score, hit.seq]
                    for hit in heard.sent
                ]
                row = {"id": question["id"], "mode": run.mode.name, "threshold": run.threshold}
                rows.write(json.dumps({**row, "min_chars": run.min_chars, "hits": hits}) + "\n")
                bar.update()

            with tqdm(total=len(questions) * len(runs), desc=data.stem, unit="stream", disable=None) as bar:
                async with asyncio.TaskGroup() as group:
                    for question in questions:
                        for run in runs:
                            group.create_task(one(question, run))
    return tallies


COLUMNS = (
    "before the answer begins", "in time", "in all", "answers served in time",
    "sent an answer", "noise an answer", "noise of all sent", "evaluations an answer",
)  # fmt: skip


def table(name: str, tallies: Mapping[Run, Tally]) -> str:
    first = next(iter(tallies.values()))
    evaluations = sum(tally.evaluations for tally in tallies.values())
    coalesced = sum(tally.coalesced for tally in tallies.values())
    text = [f"## {name}", "", f"{first.answers} answers that need {first.evidence} turns; of {evaluations} evaluations "
            f"in all {coalesced} answered one trigger more."]  # fmt: skip
    for mode in Mode:
        text += ["", f"### {mode.value}", "", f"| min_confidence | {' | '.join(COLUMNS)} |"]
        text.append(f"|---|{'---|' * len(COLUMNS)}")
        for run, tally in tallies.items():
            if run.mode is mode:
                text.append(f"| {_name(run, tally)} | {' | '.join(tally.cells())} |")
    return "\n".join(text)


def _name(run: Run, tally: Tally) -> str:
    (settled,) = tally.settled
    if run.threshold is not None:
        return f"{settled:g}"
    if run.min_chars is not None:
        return f"{settled:g}, min_chars {run.min_chars}"
    return f"{settled:g}, all as by default ({tally.withheld} withheld)"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


INTRODUCTION = f"""# What recall during generation is worth

Written by `make quality-stream DATA="FILE..."`: the answer of each question of a data set is fed to RecallDuring of the
real process, {WORDS} words (or {WORDS} pairs of Chinese characters) a delta, {1 / PACE:.0f} deltas a second, 5 hits an
evaluation. Every row is runs of its own. The first rows are the curve of `min_confidence`, with the default trigger;
then come the default `min_confidence` with other values of the trigger's `min_chars`, and a row in which all is as the
server settles it. Credit and limits are out of the way in all rows but that last one.

- **Evidence** is the turns that the data set names as needed for the answer. It comes **in time** when the delta that
  brought it up stands before the last delta of the answer, and **before the answer begins** when that stands before the
  answer's first delta (or is the prompt); the rest comes with the sentence's end. Time is counted in deltas, so it does
  not depend on the machine: the next delta waits for the evaluation that one has started.
- An answer is **served in time** when at least one turn of its evidence comes in time.
- **Noise** is every hit sent that is none of the evidence. It is an upper bound: the sets name one or two turns, not
  all that help.
- A dialogue without an answer is fed with its last line as the answer, and the lines before it as the question. The
  reply needs the memories, so **in all** is what counts there.

"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.quality.streaming", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--keep", type=Path, help="where the memory is kept between runs; default: it is not")
    parser.add_argument("--set", action="append", default=[], metavar="key=value", help="a setting other than default")
    parser.add_argument("--thresholds", type=float, nargs="+", default=THRESHOLDS)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th question")
    arguments = parser.parse_args()
    settings = dict(pair.split("=", 1) for pair in arguments.set)
    runs = [*runs_of(arguments.thresholds)]
    sections = []
    with ExitStack() as stack:
        root = arguments.keep or Path(stack.enter_context(TemporaryDirectory()))
        for data in arguments.data:
            if not data.is_file() or not questions_of(load(data)[1]):
                raise SystemExit(f"{data} is no file with turns and questions that have evidence")
            folder = root / data.stem
            folder.mkdir(parents=True, exist_ok=True)
            sidecar = stack.enter_context(Sidecar(folder / "data", settings))
            tallies = asyncio.run(measure(sidecar.target, data, folder, runs, arguments.every))
            sidecar.stop()
            sections.append(table(data.stem.split(".")[0], tallies))
    arguments.out.write_text(INTRODUCTION + "\n\n".join(sections) + "\n", encoding="utf-8")
    print(arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
