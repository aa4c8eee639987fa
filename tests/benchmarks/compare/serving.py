"""The side of a comparison that runs in a competitor's environment: commands in, numbers out, one JSON line each.

It runs on whatever Python and packages the competitor has: the standard library and numpy, nothing of memsidecar.
Times are taken here, around the calls alone, so that neither pipes nor JSON are in them.
"""

from __future__ import annotations

import gc
import json
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

HITS = 10
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    user: str
    text: str
    vector: Vectors


class Runner(Protocol):
    """One store of memories."""

    def open(self, folder: Path) -> None:
        """Open what is in the folder, or make it new. Imports the library, too: a restart pays for that."""

    def versions(self) -> Mapping[str, str]:
        """Of what decides the speed."""

    def store(self, user: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Store memories of one user, searchable when it returns."""

    def settle(self) -> float:
        """Return when nothing goes on by itself any more; the seconds for which something did."""

    def search(self, mode: str, question: Question) -> Any:
        """The nearest `HITS` memories, in whatever form the library answers."""

    def texts(self, answer: Any) -> list[str]:
        """The texts in an answer of `search`, best first."""

    def peak_bytes(self) -> int:
        """The most memory that was ever resident."""

    def close(self) -> None:
        """Close the store; nothing is left running."""


class Lookup:
    """Stands in for an embedding model: knows the vectors of the texts at hand, so that no model's time is counted."""

    def __init__(self) -> None:
        self._stored: dict[str, Vectors] = {}
        self._asked: dict[str, Vectors] = {}

    def storing(self, texts: Sequence[str], vectors: Vectors) -> None:
        """The texts that are about to be stored; forgets those before them."""
        self._stored = dict(zip(texts, vectors, strict=True))

    def asking(self, question: Question) -> None:
        self._asked = {question.text: question.vector}

    def __call__(self, texts: Sequence[str]) -> list[Vectors]:
        """Rows of numpy arrays: the form that all of them take quickest."""
        return [self._stored[text] if text in self._stored else self._asked[text] for text in texts]


def peak_bytes(pid: int | str = "self") -> int:
    """The most that a process ever had resident."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"/proc/{pid}/status has no VmHWM")


def serve(runner: Runner) -> None:
    """Do as the lines on standard input say, until they end. argv: the folder of the store, the folder of the data."""
    folder, data = Path(sys.argv[-2]), Path(sys.argv[-1])
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries print what they like
    _only_this_machine()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # through `finally`: nothing may be left running
    questions = _questions(data)
    feed = _batches(data)
    try:
        for line in sys.stdin:
            answers.write(json.dumps(_do(runner, json.loads(line), folder, questions, feed)) + "\n")
            answers.flush()
    finally:
        runner.close()


def _do(
    runner: Runner,
    command: Mapping[str, Any],
    folder: Path,
    questions: Sequence[Question],
    feed: Iterator[tuple[str, list[str], Vectors]],
) -> Any:
    what = command["do"]
    if what == "open":
        runner.open(folder)
        return dict(runner.versions())
    if what == "ingest":
        return _ingest(runner, feed, command["seconds"])
    if what == "first":
        started = time.perf_counter()
        runner.open(folder)
        runner.search(command["mode"], questions[0])
        return time.perf_counter() - started
    if what == "search":
        return _search(runner, command["mode"], [questions[n] for n in command["questions"]], command["seconds"])
    if what == "hits":
        return [runner.texts(runner.search(command["mode"], questions[n])) for n in command["questions"]]
    if what == "peak":
        return runner.peak_bytes()
    raise ValueError(f"unknown command {what}")


def _ingest(runner: Runner, feed: Iterator[tuple[str, list[str], Vectors]], limit: float) -> dict[str, float]:
    """Store batch after batch while there is time; reading them from the files is not counted."""
    stored, spent = 0, 0.0
    for user, texts, vectors in feed:
        started = time.perf_counter()
        runner.store(user, texts, vectors)
        spent += time.perf_counter() - started
        stored += len(texts)
        if spent > limit:
            break
    return {"stored": stored, "seconds": spent, "settling": runner.settle()}


def _search(runner: Runner, mode: str, questions: Sequence[Question], limit: float) -> list[float]:
    """Seconds of each; fewer than asked for when the time is up."""
    taken: list[float] = []
    gc.collect()
    gc.disable()
    try:
        for question in questions:
            started = time.perf_counter()
            runner.search(mode, question)
            taken.append(time.perf_counter() - started)
            if sum(taken) > limit:
                break
    finally:
        gc.enable()
    return taken


def _questions(data: Path) -> list[Question]:
    vectors = np.load(data / "questions.npy")
    with (data / "questions.jsonl").open(encoding="utf-8") as lines:
        return [
            Question(user, text, vector) for (user, text), vector in zip(map(json.loads, lines), vectors, strict=True)
        ]


def _batches(data: Path) -> Iterator[tuple[str, list[str], Vectors]]:
    """(user, texts, vectors) as the files have them; a batch at a time, so that the data is no part of the memory."""
    with (data / "memories.npy").open("rb") as rows, (data / "memories.jsonl").open(encoding="utf-8") as lines:
        dimensions = _shape(rows)[1]
        for line in lines:
            user, texts = json.loads(line)
            values = np.fromfile(rows, dtype=np.float32, count=len(texts) * dimensions)
            yield user, texts, values.reshape(len(texts), dimensions)


def _shape(file: IO[bytes]) -> tuple[int, ...]:
    """The shape in a .npy file's head; the file is at its first row then."""
    np.lib.format.read_magic(file)
    shape: tuple[int, ...] = np.lib.format.read_array_header_1_0(file)[0]
    return shape


def _only_this_machine() -> None:
    """No store may call home, nor be quicker for asking another machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX:
            raise ConnectionRefusedError("a store under comparison has no network")
        connect(self, address)

    socket.socket.connect = guarded  # type: ignore[method-assign,assignment]
