"""One generation that is followed: its machine, the evaluation that is under way, and what the agent is told."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from memsidecar.domain.draft import Request
from memsidecar.domain.errors import Draining, InvalidField, SidecarError, StoreUnavailable
from memsidecar.domain.events import Matrix
from memsidecar.domain.feedback import Verdict
from memsidecar.domain.feedback_rules import Judged
from memsidecar.domain.generation.machine import Generation
from memsidecar.domain.generation.searching import looked_for
from memsidecar.domain.generation.values import (
    Backoff,
    Candidate,
    Changed,
    Evaluation,
    Finished,
    GenerationOutcome,
    MemoryKey,
    Retract,
    Send,
    Source,
    Terms,
    Watermark,
)
from memsidecar.domain.meeting import Sight
from memsidecar.domain.memory import Memory
from memsidecar.domain.question import names_any
from memsidecar.domain.recall import Question
from memsidecar.domain.scope import Partition
from memsidecar.domain.session import Message
from memsidecar.ports.models import Tokenizer
from memsidecar.ports.runtime import Clock
from memsidecar.ports.tracing import Tracer
from memsidecar.services.candidates import found as found_now
from memsidecar.services.candidates import known as known_now
from memsidecar.services.changes import Changes
from memsidecar.services.evaluations import Evaluations
from memsidecar.services.feedback import GiveFeedback
from memsidecar.services.generation_counts import GenerationCounts
from memsidecar.services.keeping import KeepExchange
from memsidecar.services.recall import Recall
from memsidecar.services.residency import Residency
from memsidecar.services.standing import Standing
from memsidecar.services.statements import Statements
from memsidecar.services.turn import Turn
from memsidecar.services.usages import Usages

_log = logging.getLogger(__name__)

# Seconds that an evaluation waits for the embedder; then words and names alone answer it, and the watermark says so.
PATIENCE = 1.0
# Known memories read before others get a turn of the event loop, if that has taken long.
KNOWN_AT_ONCE = 32
# Characters that are made comparable on the loop, about a millisecond; more of them in a thread.
READ_INLINE = 8_192
# Hits of a search for each that is wanted: some will turn out to be told already.
FOR_EACH = 2
# Seconds for which evaluations are parts of the stream's span: most answers are written by then. Later ones are traces
# of their own that name it, because a trace of hours is shown by nothing and lost when the process ends.
ONE_TRACE = 300.0


@dataclass(frozen=True, slots=True)
class Opening:
    """How a generation begins. `question` is what every evaluation asks, but for its text; `terms` lack `names`.

    `generation_id` is the agent's; `session` the id of the session that the generation belongs to; both may be empty.
    `told` has, of known memories, the ids of what the agent knows to be superseded: itself, or what was read from it.
    """

    question: Question
    terms: Terms
    generation_id: str = ""
    session: str = ""
    told: Mapping[MemoryKey, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Leaving:
    """The process is going away; the stream ends in `grace` seconds."""

    grace: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The totals, the ids of what was remembered, the revision that shows it, and why the session has not got it."""

    totals: Finished
    remembered: tuple[str, ...]
    revision: int
    left_out: SidecarError | None = None


Happening: TypeAlias = Send | Retract | Watermark | Backoff | Leaving | Ended


@dataclass(frozen=True, slots=True)
class Parts:
    """What all generations share."""

    recall: Recall
    residency: Residency
    changes: Changes
    usages: Usages
    give_feedback: GiveFeedback
    keep: KeepExchange
    tokenizer: Tokenizer
    clock: Clock
    evaluations: Evaluations
    counts: GenerationCounts = field(default_factory=GenerationCounts)
    tracer: Tracer | None = None


class Following:
    """Made by `RecallDuring.open`. What the agent says goes in through the methods, in order, and is out of turn
    (ProtocolViolation) or wrong (InvalidField) as `Generation` says; `happenings` come out. Must be closed."""

    def __init__(self, opening: Opening, stream_id: str, parts: Parts, closed: Callable[[Following], None]) -> None:
        self.opening, self.stream_id = opening, stream_id
        # Of the known memories that are there, what the agent is taken to know as superseded.
        self.known: dict[MemoryKey, frozenset[str]] = {}
        self._parts, self._closed = parts, closed
        scope = opening.question.scope
        self._partitions = [scope.partition]
        if opening.question.include_shared and scope.user:
            self._partitions.append(Partition(scope.namespace))
        # What is known may live where nothing is looked for.
        elsewhere = {partition for partition, _ in opening.terms.known}.difference(self._partitions)
        self._watched = [*self._partitions, *elsewhere]
        self._began, self._opened = parts.clock.now(), parts.clock.monotonic()
        self._machine = Generation(replace(opening.terms, names=self._names), self._opened)
        sight = Sight(scope, opening.question.filter)
        self._standing = Standing(parts.changes, parts.residency, parts.clock, self._machine, self._stopped, sight)
        self._stirred, self._ready = asyncio.Event(), asyncio.Event()
        self._failure: Exception | None = None
        self._leaving: Leaving | None = None
        self._end: asyncio.TimerHandle | None = None
        self._last: Matrix | None = None
        # When the work looks around by itself, if it sleeps.
        self._wakes = math.inf
        self._runner: asyncio.Task[None] | None = None
        # What is to be called when it is over.
        self.unheard: list[Callable[[], None]] = []

    def heard(self, messages: Sequence[Message]) -> None:
        """Messages of the session that it belongs to."""
        self._machine.heard(f"{each.name}: {each.text}" if each.name else each.text for each in messages)

    async def start(self) -> int:
        """Begin; the revision of the memory. Raises as `Recall.once`."""
        # Before the revision is read, so that no change is between.
        self._standing.listen(self._watched)
        revision = await self._parts.recall.ready(self.opening.question)
        for partition in self._watched[1:]:
            resident = await self._parts.residency.view(partition)
            self._standing.reached(partition, resident.head.revision)
        await self._know()
        if len(self.opening.terms.prompt) <= READ_INLINE and not self.opening.session:
            self._machine.read()
        else:
            await asyncio.to_thread(self._machine.read)
        self._runner = asyncio.create_task(self._run(), name="recall-during")
        return self._standing.reached(self._partitions[0], revision)

    def stop(self) -> None:
        """Whatever it was at: the work is told to end, and nothing is held any more. May be called again."""
        self._standing.close()
        for unheard in self.unheard:
            unheard()
        if self._end is not None:
            self._end.cancel()
        if self._runner is not None:
            self._runner.cancel()
        self._closed(self)

    async def close(self) -> None:
        """`stop`, and wait until the work has ended."""
        self.stop()
        if self._runner is not None:
            await asyncio.gather(self._runner, return_exceptions=True)

    def text(self, seq: int, text: str, source: Source) -> None:
        self._machine.text(seq, text, source, self._now())
        # Most deltas are no reason for anything: then the work goes on sleeping.
        due = self._machine.due()
        if due is not None and due < self._wakes:
            self._stirred.set()

    def flush(self) -> None:
        self._machine.flush(self._now())
        self._stirred.set()

    def credit(self, hits: int) -> None:
        self._machine.credit(hits, self._now())
        self._ready.set()
        self._stirred.set()

    def rewind(self, seq: int) -> None:
        self._machine.rewind(seq, self._now())
        self._stirred.set()

    async def judge(self, key: MemoryKey, verdict: Verdict) -> None:
        """Nothing happens when the memory is gone: the agent could not know. Raises InvalidField for one that was not
        told, and as `GiveFeedback`."""
        if not self._machine.has_told(key):
            raise InvalidField("feedback.memory", "was neither sent in this stream nor known to it")
        scope = self.opening.question.scope
        judged = (Judged(key[1], verdict, "feedback.memory"),)
        try:
            await self._parts.give_feedback(scope, judged, Request(actor=scope.agent))
        except InvalidField:
            _log.debug("feedback on a memory that is gone", extra={"stream": self.stream_id})

    def finish(self, outcome: GenerationOutcome, remember: bool) -> None:
        self._machine.finish(outcome, remember, self._now())
        if self._runner is not None:
            self._runner.cancel()
        self._ready.set()

    def fail(self, error: Exception) -> None:
        """End with this error, unless it has ended."""
        self._failure = self._failure or error
        self._ready.set()

    def leave(self, grace: float) -> None:
        """Tell the agent that the process is going away, and end in `grace` seconds."""
        if self._leaving is None:
            self._leaving = Leaving(grace)
            self._end = asyncio.get_running_loop().call_later(grace, self.fail, Draining())
            self._ready.set()

    async def happenings(self) -> AsyncGenerator[Happening, None]:
        """What is to be told to the agent, in order, taken from the machine only when the agent has taken what was
        before. The last one is Ended. Raises what ends the stream instead."""
        told_of_leaving = False
        while True:
            self._ready.clear()
            if self._failure is not None:
                raise self._failure
            if self._leaving is not None and not told_of_leaving:
                told_of_leaving = True
                yield self._leaving
            outputs = self._machine.outputs()
            for output in outputs:
                if isinstance(output, Finished):
                    yield await self._ended(output)
                    return
                self._parts.counts.told(output)
                if isinstance(output, Send):
                    self._parts.usages.note((output.candidate.hit,))
                yield output
            if not outputs:
                await self._ready.wait()

    async def _ended(self, totals: Finished) -> Ended:
        opening, kept = self.opening, None
        if totals.remember:
            kept = await self._parts.keep(
                opening.question.scope,
                opening.session,
                opening.generation_id or self.stream_id,
                self._machine.exchange(),
                totals.outcome,
                self._began,
            )
        revision = self._standing.reached(self._partitions[0], 0 if kept is None else kept.revision)
        if kept is None:
            return Ended(totals, (), revision)
        return Ended(totals, kept.memories, revision, kept.left_out)

    async def _know(self) -> None:
        turn = Turn()
        for partition in self._watched:
            known = sorted(memory_id for of, memory_id in self.opening.terms.known if of == partition)
            for start in range(0, len(known), KNOWN_AT_ONCE):
                # Anew each time: it may have left memory since.
                resident = await self._parts.residency.view(partition)
                memories = filter(None, map(resident.memory, known[start : start + KNOWN_AT_ONCE]))
                now = self._parts.clock.now()
                self._machine.knows([self._known(Statements(resident, now, now), each) for each in memories])
                await turn.give()
        self._standing.missed.update(partition for partition, _ in self.opening.told)
        await self._standing.look_again()
        self._standing.await_end()

    def _known(self, statements: Statements, memory: Memory) -> Candidate:
        key = memory.scope.partition, memory.id
        candidate, self.known[key] = known_now(statements, memory, self.opening.told.get(key))
        return candidate

    async def _run(self) -> None:
        try:
            while (due := self._machine.due()) is not None:
                if not self._stirred.is_set():
                    await self._until(due)
                self._stirred.clear()
                if self._standing.missed:
                    await self._standing.look_again()
                evaluation = self._machine.evaluation(self._now())
                self._ready.set()
                if evaluation is not None:
                    await self._traced(evaluation)
        except Exception as error:  # whatever it is, it ends the stream, and the server knows what to say of it
            self.fail(error)

    async def _until(self, due: float) -> None:
        """Until something has come in, or that time."""
        self._wakes = due
        timer = asyncio.get_running_loop().call_later(max(0.0, due - self._now()), self._stirred.set)
        try:
            await self._stirred.wait()
        finally:
            timer.cancel()

    async def _traced(self, evaluation: Evaluation) -> None:
        if self._parts.tracer is None:
            await self._evaluate(evaluation)
        else:
            apart = self._now() - self._opened > ONE_TRACE
            with self._parts.tracer.span("generation.evaluate", {"memsidecar.stream": self.stream_id}, apart=apart):
                await self._evaluate(evaluation)

    async def _evaluate(self, evaluation: Evaluation) -> None:
        terms = self.opening.terms
        question = replace(
            self.opening.question,
            text=looked_for(evaluation, terms.prompt),
            max_hits=terms.max_hits * FOR_EACH,
            soft_deadline=PATIENCE,
            # Found again by nearly every sentence of an answer: not to be read, counted and written once more.
            without=self._machine.told(),
        )
        found: Sequence[Candidate] | None = ()
        degraded, began = False, self._now()
        async with self._parts.evaluations.turn():
            try:
                recalled = await self._parts.recall.glance(question, self._is_news)
            except StoreUnavailable as error:
                _log.warning("an evaluation failed", extra={"problem": str(error)})
                degraded = True
            else:
                # What is less likely is never sent.
                hits = () if recalled is None else recalled.hits
                parts = self._parts
                likely = [
                    found_now(hit, parts.residency, parts.tokenizer)
                    for hit in hits
                    if hit.confidence >= terms.min_confidence
                ]
                found, degraded = None if recalled is None else likely, recalled is not None and recalled.degraded
            # No turn of the loop since the search: a change of what was found comes after.
            self._machine.evaluated(evaluation, found, degraded, self._now())
        outcome = "degraded" if degraded else "no_news" if found is None else "answered"
        self._parts.counts.evaluations.note(outcome, self._now() - began)
        self._standing.await_end()
        self._ready.set()

    def _is_news(self, vector: Matrix) -> bool:
        least = self.opening.terms.trigger.min_drift
        if least and self._last is not None and 1.0 - float(vector @ self._last) < least:
            return False
        self._last = vector
        return True

    def _names(self, text: str) -> bool:
        loaded = (self._parts.residency.peek(partition) for partition in self._partitions)
        return any(each is not None and names_any(text, each.resident.lookup.names()) for each in loaded)

    def _stopped(self, changes: Sequence[Changed]) -> None:
        if changes:
            self._machine.changed(changes, self._now())
            self._ready.set()
        if self._standing.missed:
            self._stirred.set()

    def _now(self) -> float:
        return self._parts.clock.monotonic()
