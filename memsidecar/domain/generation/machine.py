"""A followed generation as a machine: events in, events out. It knows no network, no store and no clock."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memsidecar.domain.errors import InvalidField, ProtocolViolation
from memsidecar.domain.generation.pacing import Pace
from memsidecar.domain.generation.said import Said
from memsidecar.domain.generation.selection import Selection
from memsidecar.domain.generation.sentences import sentence_before
from memsidecar.domain.generation.trigger import LOOK_BACK, Triggers
from memsidecar.domain.generation.values import (
    MAX_CREDIT,
    Backoff,
    Candidate,
    Changed,
    Evaluation,
    Exchange,
    Finished,
    GenerationOutcome,
    MemoryKey,
    Output,
    Source,
    Terms,
    Trigger,
    Watermark,
)
from memsidecar.domain.generation.written import Written
from memsidecar.domain.text import cut_place, inside_character

MAX_NEW = 4096
"""Code points of new text that one evaluation searches for. What is longer, such as a tool's result, takes several."""
MAX_CONTEXT = 200
"""Code points before it that are searched with it, so that "she" is somebody."""
_WORD = re.compile(r"[^\W_]")


@dataclass(slots=True)
class _UnderWay:
    evaluation: Evaluation
    began: float
    stands: bool = True
    """Whether the text is still there."""


class Generation:
    """One stream. Its owner passes on what comes in, then asks `evaluation` what to search for, then drains `outputs`,
    and does so again at `due` when nothing comes in. `at` never decreases.

    Inputs raise ProtocolViolation for an event out of turn, and InvalidField for a bad value; either leaves everything
    as it was.
    """

    def __init__(self, terms: Terms, at: float) -> None:
        self._terms = terms
        self._written = Written(terms.first_seq)
        self._source: Source | None = None
        self._pace = Pace(terms.trigger)
        self._triggers = Triggers(terms.trigger, terms.names)
        self._said = Said(terms.prompt, self._written, terms.names)
        self._selection = Selection(terms, self._said)
        self._queue: list[Output] = []
        self._prompt_waits = _WORD.search(terms.prompt) is not None
        self._under_way: _UnderWay | None = None
        # Text up to here has been considered.
        self._evaluated = 0
        self._flush_to: int | None = None
        self._evaluations = self._coalesced = self._numbered = self._rewinds = 0
        self._degraded = self._finished = False
        self._began = self._told_at = at
        self._started_at: float | None = None

    def knows(self, candidates: Sequence[Candidate]) -> None:
        """Known memories as they are when the stream begins. They are taken back when they stop holding, too."""
        self._selection.knows(candidates)

    def heard(self, texts: Iterable[str]) -> None:
        """Messages of the session that the generation belongs to: what they say is not sent."""
        for text in texts:
            self._said.add(text)

    def read(self) -> None:
        """Make the prompt and what was heard comparable now, some milliseconds for a long one, not with the first find.
        May run in a thread as long as nothing else is called."""
        self._said.read()

    def rewritten(self, keys: Iterable[MemoryKey] | None) -> None:
        """Memories that have been written, None for any: one that the prompt has said may say something else now."""
        self._selection.rewritten(keys)

    def text(self, seq: int, text: str, source: Source, at: float) -> None:
        """The next delta. An empty one only counts."""
        self._expect_more("text")
        self._written.append(seq, text, source)
        if not text:
            return
        if source is not self._source and self._source is not None:
            self._triggers.border()
        self._source = source
        self._triggers.text(text, at)

    def flush(self, at: float) -> None:
        """Evaluate all that is there, at once; a watermark follows when that is done."""
        self._expect_more("flush")
        self._flush_to = self._written.length
        if self._handed_out < self._written.length:
            self._triggers.add()

    def credit(self, hits: int, at: float) -> None:
        """Allow 1 to 1000 more hits; the best that wait are sent at once."""
        self._expect_more("credit")
        if not 1 <= hits <= MAX_CREDIT:
            raise InvalidField("credit.hits", f"must be from 1 to {MAX_CREDIT}")
        self._selection.allow(hits)
        self._queue += self._selection.sends()

    def rewind(self, seq: int, at: float) -> None:
        """Drop the text of every delta after `seq`. Counted also when there is none: the agent counts what it sends."""
        self._expect_more("rewind")
        before = self._written.length
        length = self._written.rewind(seq)
        self._rewinds += 1
        if length != before:
            self._shortened(length, at)
        if any(isinstance(each, Watermark) for each in self._queue):
            # It would speak of text that is gone.
            self._mark(at)

    def _shortened(self, length: int, at: float) -> None:
        self._evaluated = min(self._evaluated, length)
        if self._flush_to is not None:
            self._flush_to = min(self._flush_to, length)
        self._selection.rewound(length)
        self._triggers.rewound(length, self._written.slice(max(0, length - LOOK_BACK), length), at)
        under_way = self._under_way
        if under_way is not None and not under_way.evaluation.is_prompt:
            under_way.stands = under_way.stands and under_way.evaluation.span_end <= length
            if not under_way.stands and self._evaluated < length:
                # What is left of its text had a reason to be evaluated.
                self._triggers.add()

    def finish(self, outcome: GenerationOutcome, remember: bool, at: float) -> None:
        """The end: totals are queued, nothing is evaluated any more, and further inputs but `evaluated` and `changed`
        are violations."""
        self._expect_more("finish")
        self._finished, self._under_way = True, None
        sent, retracted = self._selection.sent, self._selection.retracted
        totals = (sent, self._evaluations, self._coalesced, self.evaluated_seq, retracted)
        self._queue.append(Finished(outcome, remember, *totals))

    def evaluated(self, evaluation: Evaluation, found: Sequence[Candidate] | None, degraded: bool, at: float) -> None:
        """The answer to the evaluation that is under way, in any order; None when the text was too near to the one
        before to be searched for. More than `max_hits` may come: those that were sent before do not count.

        Raises ValueError for another evaluation than that. Ignored after finish.
        """
        if self._finished:
            return
        under_way = self._under_way
        if under_way is None or evaluation is not under_way.evaluation:
            raise ValueError("no such evaluation is under way")
        self._under_way = None
        self._evaluations += 1
        self._degraded = degraded
        if under_way.stands and found is not None:
            self._degraded = not self._selection.found(evaluation, found) or degraded
            self._queue += self._selection.sends()
        else:
            self._selection.dropped()
        if under_way.stands and not evaluation.is_prompt:
            self._evaluated = evaluation.span_end
        slower = self._pace.answered(at - under_way.began, len(self._triggers))
        if slower is not None:
            self._triggers.effective = self._pace.effective
            self._replace(slower)
        self._mark(at)

    def changed(self, changes: Sequence[Changed], at: float) -> None:
        """What has stopped holding, of any memory of the partitions that are searched, in the order of the commits and
        after a reader can see it. Ignored after finish."""
        if self._finished:
            return
        for change in changes:
            retract = self._selection.changed(change)
            if retract is not None:
                self._queue.append(retract)

    def evaluation(self, at: float) -> Evaluation | None:
        """What to search for now: at most one until it is answered. To be called after every input and at `due`: the
        heartbeat and quiet moments are noticed here, too."""
        if self._finished:
            return None
        self._triggers.settle(at)
        evaluation = self._next(at) if self._under_way is None else None
        if at >= self._told_at + self._terms.heartbeat:
            self._mark(at)
        return evaluation

    def due(self) -> float | None:
        """When to ask for `evaluation` again if nothing comes in; in the past when there is one already. None after
        finish."""
        if self._finished:
            return None
        times = [self._told_at + self._terms.heartbeat]
        if self._triggers.quiet_at is not None:
            times.append(self._triggers.quiet_at)
        if self._under_way is None:
            if self._prompt_waits or self._flush_to is not None:
                times.append(self._began)
            elif self._triggers:
                times.append(self._next_start())
        return min(times)

    def outputs(self) -> list[Output]:
        """What is to be sent, in order, each once. Bounded however late it is drained: a new watermark replaces one
        that has not been drained, and so does a new backoff."""
        queued, self._queue = self._queue, []
        return queued

    def held(self) -> list[Candidate]:
        """What was sent and still holds, and what waits for credit: what may expire."""
        return self._selection.held()

    def held_of(self, key: MemoryKey) -> list[Candidate]:
        """The forms of one memory that are held: one sent and one that waits, at most."""
        return self._selection.held_of(key)

    def has_told(self, key: MemoryKey) -> bool:
        """Whether the memory was sent in this stream, or known when it began; retracted or not."""
        return self._selection.has_told(key)

    def told(self) -> frozenset[MemoryKey]:
        """What is not sent whatever finds it: the agent has it."""
        return self._selection.told()

    def exchange(self) -> Exchange:
        """What is to be remembered; put together in a few milliseconds at most."""
        said: list[tuple[Source, str]] = []
        for source, text in self._written.runs(Source.UNSPECIFIED, Source.MODEL, Source.USER):
            speaker = Source.USER if source is Source.USER else Source.MODEL
            if said and said[-1][0] is speaker:
                text = said.pop()[1] + text
            said.append((speaker, text))
        return Exchange(self._terms.prompt, tuple(said))

    @property
    def evaluated_seq(self) -> int:
        """The last delta that was considered; the one before the first when none was."""
        return self._written.seq_at(self._evaluated)

    @property
    def trigger(self) -> Trigger:
        """The effective one."""
        return self._pace.effective

    @property
    def _handed_out(self) -> int:
        """Text up to here has been considered, or is under way."""
        under_way = self._under_way
        if under_way is None or not under_way.stands or under_way.evaluation.is_prompt:
            return self._evaluated
        return under_way.evaluation.span_end

    def _next(self, at: float) -> Evaluation | None:
        if self._prompt_waits:
            self._prompt_waits = False
            return self._start(self._of_prompt(), at)
        while self._flush_to is not None or (self._triggers and at >= self._next_start()):
            if self._flush_to is not None and self._evaluated >= self._flush_to:
                self._flush_to = None
                self._mark(at)
                continue
            end = self._end_of_new()
            self._coalesced += max(0, self._triggers.reached(end) - 1)
            if self._selection.exhausted or not _WORD.search(self._written.slice(self._evaluated, end)):
                self._evaluated = end
                self._mark(at)
                continue
            return self._start(self._of_text(end), at)
        return None

    def _next_start(self) -> float:
        if self._started_at is None:
            return self._began
        return self._started_at + self._pace.effective.min_interval

    def _end_of_new(self) -> int:
        """Where the next evaluation's text ends: at the end of all, or where a long text is best cut."""
        start = self._evaluated
        if self._written.length - start <= MAX_NEW:
            return self._written.length
        piece = self._written.slice(start, start + MAX_NEW + 1)
        return start + cut_place(piece, MAX_NEW // 2, MAX_NEW)

    def _of_prompt(self) -> Evaluation:
        """The end of a long prompt: what was asked last."""
        prompt = self._terms.prompt
        start = max(0, len(prompt) - MAX_NEW)
        while start < len(prompt) and inside_character(prompt, start):
            start += 1
        return Evaluation(self._numbered, prompt[start:], 0, start, len(prompt), start)

    def _of_text(self, end: int) -> Evaluation:
        new = self._evaluated
        # One code point more than the context, to see whether it begins with a word.
        first = max(0, new - MAX_CONTEXT - 1)
        around = self._written.slice(first, min(end, new + 2))
        start = first + sentence_before(around, new - first, MAX_CONTEXT)
        seq = self._written.delta_before(end)
        return Evaluation(self._numbered, self._written.slice(start, end), seq, start, end, new)

    def _start(self, evaluation: Evaluation, at: float) -> Evaluation:
        self._numbered += 1
        self._started_at = at
        self._under_way = _UnderWay(evaluation, at)
        self._selection.reading()
        return evaluation

    def _mark(self, at: float) -> None:
        self._told_at = at
        if self._flush_to is not None and self._under_way is None and self._evaluated >= self._flush_to:
            self._flush_to = None
        withheld = self._selection.withheld
        self._replace(Watermark(self.evaluated_seq, self._coalesced, withheld, self._degraded, self._rewinds))

    def _replace(self, output: Watermark | Backoff) -> None:
        """Queues it in place of the one before: only the newest is of interest."""
        self._queue = [each for each in self._queue if type(each) is not type(output)]
        self._queue.append(output)

    def _expect_more(self, received: str) -> None:
        if self._finished:
            raise ProtocolViolation("nothing after finish", received)
