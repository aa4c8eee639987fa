"""Random interleavings of everything that can happen to a stream, against a model that keeps plain lists."""

from __future__ import annotations

import re
from itertools import groupby

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memsidecar.domain.errors import InvalidField, ProtocolViolation
from memsidecar.domain.generation.machine import MAX_CONTEXT, MAX_NEW, Generation
from memsidecar.domain.generation.values import (
    Backoff,
    Candidate,
    Changed,
    Evaluation,
    Exchange,
    Finished,
    GenerationOutcome,
    Output,
    Reason,
    Retract,
    Send,
    Source,
    Terms,
    Trigger,
    Watermark,
)
from memsidecar.domain.reading import sources_of
from tests.domain.generation.happening import EVENTS, LONG, MEMORIES, Event, Found, Store, fold
from tests.domain.generation.making import key

LONGEST_WAIT = 2


def plain(text: str) -> str:
    """Words with a space around each; a Chinese character is one."""
    return f" {' '.join(re.findall('[一-鿿]|[a-z0-9]+', text.lower()))} "


class Following(RuleBasedStateMachine):
    """`self.deltas` is all that stands; `self.happened` is every output, with what the store was like then."""

    @initialize(
        first=st.integers(1, 3),
        prompt=st.sampled_from(["", "Where is Anna?", "- [2026] Cy: It rained.\nWhen?"]),
        credit=st.sampled_from([0, 2, 16]),
        hits=st.sampled_from([3, 12, 64]),
        tokens=st.sampled_from([40, 4096]),
        known=st.frozensets(st.sampled_from(MEMORIES), max_size=2),
        least=st.sampled_from([0.0, 0.0, 0.4]),
        trigger=st.builds(
            Trigger, st.integers(1, 50), st.sampled_from([0.0, 0.3]), st.booleans(), on_entity_mention=st.booleans()
        ),
    )
    def start(
        self,
        first: int,
        prompt: str,
        credit: int,
        hits: int,
        tokens: int,
        known: frozenset[str],
        least: float,
        trigger: Trigger,
    ) -> None:
        self.now = 10.0
        self.terms = Terms(
            trigger,
            max_hits=3,
            initial_credit=credit,
            max_total_hits=hits,
            max_total_tokens=tokens,
            min_confidence=least,
            known=frozenset(map(key, known)),
            first_seq=first,
            prompt=prompt,
            names=lambda text: "Anna" in text,
            heartbeat=5.0,
            withheld=LONGEST_WAIT,
        )
        self.machine = Generation(self.terms, self.now)
        self.store = Store()
        self.deltas: list[tuple[str, Source]] = []
        self.credit_given = credit
        self.under_way: Evaluation | None = None
        self.read: list[Candidate] = []
        self.stands = True
        self.considered_to = 0
        self.started_at: float | None = None
        self.flushed = False
        # What has been sent and what of it holds, by memory.
        self.sent: list[Send] = []
        self.holding: dict[str, Send] = {}
        self.may_be_told: set[str] = set(MEMORIES) - known
        self.expected_retractions: list[tuple[str, Reason]] = []
        self.seen_retractions: list[tuple[str, Reason]] = []
        self.answered: set[int] = set()
        self.coalesced = 0
        self.low, self.rewinds = first - 1, 0
        self.finished = False
        self.ask()

    # What comes in. One rule for all of it: a run would leave some of several out, and little would happen.

    @rule(event=EVENTS)
    def step(self, event: Event) -> None:
        match event:
            case "change", str(name), Reason() as reason, str(text):
                self.change(name, reason, text)
            case "undelete", str(name):
                self.undelete(name)
            case "wait", float(seconds):
                self.wait(seconds)
            case "search", list(found) if self.under_way is not None:
                self.search(found)
            case "answer", bool(searched), bool(degraded) if self.under_way is not None:
                self.answer(searched, degraded)
            case _ if not self.finished:
                self.client_says(event)

    def client_says(self, event: Event) -> None:
        match event:
            case "text", str(text), Source() as source:
                self.delta(text, source)
            case "write", str(text), list(before), list(found):
                self.write_and_search(text, before, found)
            case "rewind", int(back):
                self.rewind(back)
            case "flush", _:
                self.flush()
            case "flush and wait", _:
                self.flush_and_answer_all()
            case "credit", int(hits):
                self.credit(hits)
            case "mistake", int(ahead), int(hits):
                self.mistake(ahead, hits)
            case "finish", _ if len(self.deltas) > 15:
                self.finish()

    def delta(self, text: str, source: Source) -> None:
        text = LONG if text == "(long)" else text
        self.machine.text(self.last_seq + 1, text, source, self.now)
        self.deltas.append((text, source))
        self.ask()

    def write_and_search(self, text: str, before: list[Found], found: list[Found]) -> None:
        """What most streams do most of the time: the next search has begun, and has read, before anything else."""
        self.delta(text, Source.MODEL)
        if self.under_way is not None:
            self.read = self.read or self.store.read(before)
            self.answer(True, False)
        self.flush()
        if self.under_way is not None:
            self.search(found)

    def rewind(self, back: int) -> None:
        del self.deltas[max(0, len(self.deltas) - back) :]
        self.machine.rewind(self.last_seq, self.now)
        self.rewinds += 1
        self.considered_to = min(self.considered_to, len(self.whole))
        self.low = min(self.low, self.last_seq)
        if self.under_way is not None and not self.under_way.is_prompt:
            self.stands = self.stands and self.under_way.span_end <= len(self.whole)
        self.ask()

    def flush(self) -> None:
        self.machine.flush(self.now)
        self.flushed = True
        self.ask()

    def flush_and_answer_all(self) -> None:
        """After a flush, as many answers as it asks for leave nothing unconsidered."""
        self.flush()
        for _ in range(len(self.whole) // 2000 + 3):
            if self.under_way is not None:
                self.answer(True, False)
        assert self.under_way is None
        assert self.considered_seq == self.last_seq
        assert not self.flushed

    def credit(self, hits: int) -> None:
        self.machine.credit(hits, self.now)
        self.credit_given += hits
        self.ask()

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.ask()

    def search(self, found: list[Found]) -> None:
        """What is read now may have changed when it arrives."""
        self.read = self.store.read(found)

    def answer(self, searched: bool, degraded: bool) -> None:
        evaluation = self.under_way
        assert evaluation is not None
        self.machine.evaluated(evaluation, self.read if searched else None, degraded, self.now)
        self.under_way, self.read = None, []
        if not self.finished:
            self.answered.add(evaluation.number)
            if self.stands and not evaluation.is_prompt:
                self.considered_to = evaluation.span_end
        self.ask()

    def change(self, name: str, reason: Reason, text: str) -> None:
        if name in self.store.gone:
            return
        self.store.versions[name] += reason is not Reason.EXPIRED
        holds_from: int | None = self.store.versions[name] + (reason is not Reason.UPDATED)
        if reason is Reason.UPDATED:
            self.store.texts[name] = text
        else:
            self.store.gone.add(name)
        if reason is Reason.PURGED:
            holds_from = None
        if not self.finished and name in self.holding:
            del self.holding[name]
            self.expected_retractions.append((name, reason))
            if reason is Reason.UPDATED:
                self.may_be_told.add(name)
        self.machine.changed([Changed(key(name), reason, holds_from)], self.now)
        self.ask()

    def undelete(self, name: str) -> None:
        if name in self.store.gone:
            self.store.versions[name] += 1
            self.store.gone.discard(name)

    def mistake(self, ahead: int, hits: int) -> None:
        with pytest.raises(ProtocolViolation):
            self.machine.text(self.last_seq + ahead, "x", Source.MODEL, self.now)
        with pytest.raises(ProtocolViolation):
            self.machine.rewind(self.last_seq + 1 if ahead else self.terms.first_seq - 2, self.now)
        with pytest.raises(InvalidField):
            self.machine.credit(hits, self.now)

    def finish(self) -> None:
        self.machine.finish(GenerationOutcome.STOPPED, True, self.now)
        (totals,) = [each for each in self.drain() if isinstance(each, Finished)]
        assert totals.hits_sent == len(self.sent)
        assert totals.retracted == len(self.seen_retractions)
        assert totals.evaluations == len(self.answered)
        assert totals.evaluated_seq == self.considered_seq
        self.finished = True
        with pytest.raises(ProtocolViolation):
            self.machine.flush(self.now)

    # What comes out

    def ask(self) -> None:
        due = self.machine.due()
        evaluation = self.machine.evaluation(self.now)
        if evaluation is not None:
            self.check_evaluation(evaluation, due)
        self.drain()
        if not self.finished:
            later = self.machine.due()
            assert later is not None
            assert later > self.now, "nothing is due that has just been asked for"

    def check_evaluation(self, evaluation: Evaluation, due: float | None) -> None:
        assert self.under_way is None, "one at a time"
        assert due is not None
        assert due <= self.now
        text = self.terms.prompt if evaluation.is_prompt else self.whole
        assert evaluation.text == text[evaluation.span_start : evaluation.span_end]
        assert evaluation.span_start <= evaluation.new_start < evaluation.span_end
        assert any(character.isalnum() for character in evaluation.new_text)
        assert len(evaluation.text) <= MAX_CONTEXT + MAX_NEW
        if not evaluation.is_prompt:
            skipped = text[self.considered_to : evaluation.new_start]
            assert not any(character.isalnum() for character in skipped), "nothing is left out"
            ends = self.ends()
            number = evaluation.trigger_seq - self.terms.first_seq
            assert ends[number] - len(self.deltas[number][0]) < evaluation.span_end <= ends[number]
            if self.started_at is not None and not self.flushed:
                assert self.now >= self.started_at + self.terms.trigger.min_interval
        self.started_at = self.now
        self.under_way, self.stands, self.read = evaluation, True, []

    def drain(self) -> list[Output]:
        outputs = self.machine.outputs()
        for output in outputs:
            match output:
                case Send():
                    self.check_send(output)
                case Retract(key=(_, name), reason=reason):
                    self.seen_retractions.append((name, reason))
                case Watermark():
                    self.check_watermark(output)
                case Backoff() | Finished():
                    pass
        assert self.seen_retractions == self.expected_retractions
        return outputs

    def check_send(self, send: Send) -> None:
        assert not self.finished
        hit = send.candidate.hit
        name = hit.memory.id
        assert name in self.may_be_told, "once between retractions, and never a known one"
        assert name not in self.store.gone, "nothing that is gone"
        assert hit.memory.version == self.store.versions[name], "nothing stale"
        assert hit.confidence >= self.terms.min_confidence
        held = [fold(each.candidate.hit.memory.text) for each in self.holding.values()]
        assert fold(hit.memory.text) not in held, "nothing that says the same as what holds"
        assert not set(hit.duplicates) & self.terms.known
        assert plain(hit.memory.text) not in plain(self.terms.prompt), "nothing that the prompt says"
        found_by = self.whole[: send.span_end] if send.trigger_seq else ""
        assert plain(hit.memory.text) not in plain(found_by), "nothing that was written already"
        for other in self.holding.values():
            assert other.candidate.hit.memory.id not in sources_of(hit.memory), "nothing read from what holds"
        self.sent.append(send)
        self.may_be_told.discard(name)
        self.holding[name] = send
        assert send.remaining_credit == self.credit_given - len(self.sent) >= 0
        assert len(self.sent) <= self.terms.max_total_hits
        assert sum(each.candidate.tokens for each in self.sent) <= self.terms.max_total_tokens
        if send.trigger_seq == 0:
            assert 0 <= send.span_start < send.span_end <= len(self.terms.prompt)
        else:
            assert 0 <= send.span_start < send.span_end <= len(self.whole), "the text stands"

    def check_watermark(self, mark: Watermark) -> None:
        assert self.low <= mark.seq <= self.last_seq
        assert mark.coalesced >= self.coalesced
        assert mark.rewinds == self.rewinds
        assert mark.withheld <= LONGEST_WAIT
        self.low, self.coalesced = mark.seq, mark.coalesced
        considered = (
            self.whole[: self.ends()[mark.seq - self.terms.first_seq]] if mark.seq >= self.terms.first_seq else ""
        )
        unsearched = considered[self.considered_to :]
        if len(self.sent) < self.terms.max_total_hits and self.tokens_left > 0:
            assert not any(character.isalnum() for character in unsearched), "no further than what was considered"
        self.considered_to = max(self.considered_to, len(considered))
        if mark.seq == self.last_seq and self.under_way is None:
            self.flushed = False

    # The model

    @property
    def whole(self) -> str:
        return "".join(text for text, _ in self.deltas)

    @property
    def last_seq(self) -> int:
        return self.terms.first_seq - 1 + len(self.deltas)

    @property
    def tokens_left(self) -> int:
        return self.terms.max_total_tokens - sum(each.candidate.tokens for each in self.sent)

    @property
    def considered_seq(self) -> int:
        return self.terms.first_seq - 1 + sum(end <= self.considered_to for end in self.ends())

    def ends(self) -> list[int]:
        ends: list[int] = []
        for text, _ in self.deltas:
            ends.append(len(text) + (ends[-1] if ends else 0))
        return ends

    @invariant()
    def what_is_held_is_what_holds(self) -> None:
        if not hasattr(self, "machine"):
            return
        held = [each.hit.memory.id for each in self.machine.held()]
        assert held[: len(self.holding)] == list(self.holding)
        assert len(held) - len(self.holding) <= LONGEST_WAIT
        assert all(self.machine.has_told(send.candidate.key) for send in self.sent)

    @invariant()
    def what_is_remembered_stands(self) -> None:
        if hasattr(self, "machine"):
            speakers = {Source.UNSPECIFIED: Source.MODEL, Source.MODEL: Source.MODEL, Source.USER: Source.USER}
            spoken = [(speakers[source], text) for text, source in self.deltas if text and source in speakers]
            turns = groupby(spoken, key=lambda each: each[0])
            said = tuple((speaker, "".join(text for _, text in texts)) for speaker, texts in turns)
            assert self.machine.exchange() == Exchange(self.terms.prompt, said)


Following.TestCase.settings = settings(
    max_examples=80,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestFollowing = Following.TestCase
