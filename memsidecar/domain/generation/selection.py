"""Which of what was found is sent, which waits for credit, and which is taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memsidecar.domain.diversity import fold_number
from memsidecar.domain.generation.said import Said
from memsidecar.domain.generation.told import Told
from memsidecar.domain.generation.values import (
    Candidate,
    Changed,
    Evaluation,
    MemoryKey,
    Reason,
    Retract,
    Send,
    Terms,
)
from memsidecar.domain.generation.written import Written

# What waits is worth this much less with each evaluation that does not find it again, and is dropped after so many.
FADING = 0.7
MAX_AGE = 4
# Changes that can be told from each other while an evaluation is under way.
MAX_CHANGES = 4096
MAX_CREDIT_HELD = 2**31 - 1

# What has brought up what the agent knew before the stream.
_ELSEWHERE = Evaluation(-1, "", 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class _Offer:
    candidate: Candidate
    says: int
    """Equal for memories that say the same."""
    found_by: Evaluation
    age: int = 0

    @property
    def worth(self) -> float:
        return float(self.candidate.hit.confidence * FADING**self.age)


class Selection:
    """Hits on their way to the agent. A memory is sent once, and once more each time that it was retracted because its
    text has changed; never one of the known ones that hold, nor one that says the same as one of those or as one that
    was sent and still holds, or that was read from it, nor what the agent has before it anyway (`Told`)."""

    def __init__(self, terms: Terms, said: Said | None = None) -> None:
        self._terms = terms
        self._has = Told(said or Said(terms.prompt, Written(terms.first_seq), terms.names))
        self.credit = terms.initial_credit
        self.sent = self.retracted = 0
        self._tokens_left = terms.max_total_tokens
        # Told once; of them those that still hold, and those that may be told once more.
        self._told: set[MemoryKey] = set()
        self._known = set(terms.known)
        self._standing: dict[MemoryKey, _Offer] = {}
        self._again: set[MemoryKey] = set()
        self._withheld: dict[MemoryKey, _Offer] = {}
        # While an evaluation is under way: from which version on a memory holds; it may have been read before.
        self._holds_from: dict[MemoryKey, int | None] | None = None

    @property
    def withheld(self) -> int:
        return len(self._withheld)

    @property
    def exhausted(self) -> bool:
        """Whether nothing can be sent any more."""
        return self.sent >= self._terms.max_total_hits or self._tokens_left <= 0

    def has_told(self, key: MemoryKey) -> bool:
        return key in self._told or key in self._terms.known

    def knows(self, candidates: Sequence[Candidate]) -> None:
        """Known memories as they are now: from here on they are taken back like those that were sent."""
        for candidate in candidates:
            self._told.add(candidate.key)
            self._has.add(candidate)
            self._standing[candidate.key] = _Offer(candidate, fold_number(candidate.hit.memory), _ELSEWHERE)

    def told(self) -> frozenset[MemoryKey]:
        """What a search need not find: the agent has it."""
        return frozenset(self._told - self._again) | self._known | self._has.covered

    def rewritten(self, keys: Iterable[MemoryKey] | None) -> None:
        """Memories that have been written, None for any: what they say now may be news."""
        self._has.rewritten(keys)

    def held(self) -> list[Candidate]:
        return [offer.candidate for offer in (*self._standing.values(), *self._withheld.values())]

    def held_of(self, key: MemoryKey) -> list[Candidate]:
        return [held[key].candidate for held in (self._standing, self._withheld) if key in held]

    def reading(self) -> None:
        """An evaluation begins: what it finds may be read from now on."""
        self._holds_from = {}

    def dropped(self) -> None:
        """The evaluation has ended, and nothing of it counts."""
        self._holds_from = None

    def found(self, evaluation: Evaluation, candidates: Sequence[Candidate]) -> bool:
        """The evaluation has ended with this, in any order. False when so much has changed meanwhile that it cannot be
        told what still holds: then nothing of it counts."""
        changed, self._holds_from = self._holds_from or {}, None
        flooded = len(changed) > MAX_CHANGES
        if candidates and not evaluation.is_prompt:
            self._has.reached(evaluation.span_end)
        fresh = [] if flooded else self._best(evaluation, candidates, changed)
        says = {offer.says for offer in fresh}
        # What is found again, or said again, by the newest text stands for what waits.
        older = [
            replace(offer, age=offer.age + 1)
            for key, offer in self._withheld.items()
            if offer.says not in says and all(key != each.candidate.key for each in fresh)
        ]
        self._keep([*fresh, *(offer for offer in older if offer.age <= MAX_AGE)])
        return not flooded

    def allow(self, hits: int) -> None:
        self.credit = min(self.credit + hits, MAX_CREDIT_HELD)

    def sends(self) -> Iterator[Send]:
        """The best that may go now."""
        for key, offer in list(self._withheld.items()):
            if self.credit <= 0 or self.exhausted:
                break
            del self._withheld[key]
            if offer.candidate.tokens > self._tokens_left or self._has.covers(offer.candidate):
                continue
            self.credit -= 1
            self.sent += 1
            self._tokens_left -= offer.candidate.tokens
            self._told.add(key)
            self._again.discard(key)
            self._standing[key] = offer
            self._has.add(offer.candidate)
            by = offer.found_by
            yield Send(offer.candidate, by.trigger_seq, by.span_start, by.span_end, self.credit)
        if self.exhausted:
            self._withheld.clear()

    def changed(self, change: Changed) -> Retract | None:
        """A form of a memory holds no longer."""
        key = change.key
        if self._holds_from is not None and len(self._holds_from) <= MAX_CHANGES:
            self._holds_from[key] = _later(self._holds_from.get(key, 0), change.holds_from)
        withheld = self._withheld.get(key)
        if withheld is not None and _is_stale(withheld.candidate, change.holds_from):
            del self._withheld[key]
        standing = self._standing.get(key)
        if standing is None or not _is_stale(standing.candidate, change.holds_from):
            return None
        del self._standing[key]
        self._has.remove(key)
        self._known.discard(key)
        self.retracted += 1
        if change.reason is Reason.UPDATED:
            self._again.add(key)
        return Retract(key, change.reason, change.successor)

    def rewound(self, length: int) -> None:
        """What waits and was found by text that is gone, is gone."""
        self._has.rewound(length)
        gone = [
            key
            for key, offer in self._withheld.items()
            if not offer.found_by.is_prompt and offer.found_by.span_end > length
        ]
        for key in gone:
            del self._withheld[key]

    def _best(
        self, evaluation: Evaluation, candidates: Sequence[Candidate], changed: dict[MemoryKey, int | None]
    ) -> list[_Offer]:
        """The best `max_hits` of those that may be sent."""
        best: list[_Offer] = []
        says = {standing.says for standing in self._standing.values()}
        for candidate in sorted(candidates, key=_rank):
            if len(best) == self._terms.max_hits:
                break
            if (
                candidate.hit.confidence < self._terms.min_confidence
                or candidate.tokens > self._tokens_left
                or (candidate.key in changed and _is_stale(candidate, changed[candidate.key]))
            ):
                continue
            offer = _Offer(candidate, fold_number(candidate.hit.memory), evaluation)
            chosen = [each.candidate for each in best]
            if offer.says not in says and not self._is_told(offer) and not self._has.covers(candidate, chosen):
                says.add(offer.says)
                best.append(offer)
        return best

    def _is_told(self, offer: _Offer) -> bool:
        """Whether the agent has it, or what was folded with it."""
        key, same = offer.candidate.key, offer.candidate.hit.duplicates
        if key in self._told and key not in self._again:
            return True
        if any(each in self._known for each in (key, *same)):
            return True
        return any(each in self._standing for each in same)

    def _keep(self, offers: list[_Offer]) -> None:
        """The best wait, best first; more than the credit covers and the capacity is dropped."""
        offers = [offer for offer in offers if offer.worth >= self._terms.min_confidence]
        offers.sort(key=lambda offer: (-offer.worth, offer.age, _rank(offer.candidate)))
        capacity = self.credit + self._terms.withheld
        self._withheld = {offer.candidate.key: offer for offer in offers[:capacity]}


def _rank(candidate: Candidate) -> tuple[float, float, str, str, str]:
    partition, memory = candidate.key
    hit = candidate.hit
    return -hit.confidence, -hit.score, partition.namespace, partition.user, memory


def _is_stale(candidate: Candidate, holds_from: int | None) -> bool:
    return holds_from is None or candidate.version < holds_from


def _later(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)
