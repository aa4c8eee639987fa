"""Hits for streams, and a stream with short ways to drive it."""

from __future__ import annotations

from typing import Any

from memsidecar.domain.generation.machine import Generation
from memsidecar.domain.generation.values import (
    Candidate,
    Changed,
    Evaluation,
    GenerationOutcome,
    MemoryKey,
    Output,
    Reason,
    Retract,
    Send,
    Source,
    Terms,
    Trigger,
    Watermark,
)
from memsidecar.domain.memory import Fact, Memory
from memsidecar.domain.recall import Hit, Tier
from memsidecar.domain.scope import Partition, Scope

ANN = Partition("acme", "ann")
QUIET_TRIGGER = Trigger(4096, 0.0, on_sentence_end=False, on_entity_mention=False)
"""Nothing but a flush, or 4096 code points, starts an evaluation."""


def key(name: str) -> MemoryKey:
    return ANN, name


def memory(name: str, text: str = "", version: int = 1) -> Memory:
    return Memory(name, Scope("acme", "ann"), Fact(text or f"It is {name}."), 0, 0, version)


def candidate(
    name: str,
    confidence: float = 0.5,
    tokens: int = 10,
    text: str = "",
    version: int = 1,
    duplicates: tuple[str, ...] = (),
) -> Candidate:
    found = memory(name, text, version)
    same = tuple(key(each) for each in duplicates)
    return Candidate(Hit(ANN, found, confidence, Tier.VECTOR, confidence=confidence, duplicates=same), tokens)


def change(name: str, reason: Reason, holds_from: int | None = None, successor: Memory | None = None) -> Changed:
    return Changed(key(name), reason, holds_from, successor)


class Stream:
    """A machine with a clock of its own. Its steps return what comes out of them, watermarks left out."""

    def __init__(self, trigger: Trigger = QUIET_TRIGGER, **terms: Any) -> None:
        self.now = 100.0
        self.machine = Generation(Terms(trigger, **terms), self.now)
        self.last: Watermark | None = None
        self.seq = self.machine.evaluated_seq

    def write(self, *texts: str, source: Source = Source.MODEL) -> None:
        for text in texts:
            self.seq += 1
            self.machine.text(self.seq, text, source, self.now)

    def rewind(self, seq: int) -> None:
        self.machine.rewind(seq, self.now)
        self.seq = seq

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def asked(self) -> Evaluation | None:
        return self.machine.evaluation(self.now)

    def evaluation(self) -> Evaluation:
        evaluation = self.asked()
        assert evaluation is not None
        return evaluation

    def flushed(self) -> Evaluation:
        self.machine.flush(self.now)
        return self.evaluation()

    def answer(self, evaluation: Evaluation, *found: Candidate, degraded: bool = False) -> list[Output]:
        self.machine.evaluated(evaluation, found, degraded, self.now)
        return self.out()

    def credit(self, hits: int) -> list[Output]:
        self.machine.credit(hits, self.now)
        return self.out()

    def change(self, *changes: Changed) -> list[Output]:
        self.machine.changed(changes, self.now)
        return self.out()

    def finish(self) -> Output:
        self.machine.finish(GenerationOutcome.COMPLETED, True, self.now)
        return self.out()[-1]

    def out(self) -> list[Output]:
        outputs = self.machine.outputs()
        marks = [each for each in outputs if isinstance(each, Watermark)]
        self.last = marks[-1] if marks else None
        return [each for each in outputs if not isinstance(each, Watermark)]


def sent(outputs: list[Output]) -> list[str]:
    return [each.candidate.hit.memory.id for each in outputs if isinstance(each, Send)]


def retracted(outputs: list[Output]) -> list[str]:
    return [each.key[1] for each in outputs if isinstance(each, Retract)]
