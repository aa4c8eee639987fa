"""A memory meets the others of its slot: which of them hold from now on, and the record of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memsidecar.domain.claims import Manner
from memsidecar.domain.conflict import Conflict, ConflictState, Policy, Resolution, Source
from memsidecar.domain.conflicts.chain import (
    before_of,
    dated,
    ended,
    never,
    never_true,
    order_of,
    over_by,
    rebased,
    said_of,
    start_of,
)
from memsidecar.domain.conflicts.closing import SETTLED_ELSEWHERE, dismissed, still_contradict
from memsidecar.domain.conflicts.meeting import Met, holding_between, meet, outranked, over_since_some_time
from memsidecar.domain.conflicts.opening import Opened, evidence_of, flag, keep_both, open_conflicts_of, severity_of
from memsidecar.domain.conflicts.peers import Neighbourhood, Peer, stance_of
from memsidecar.domain.conflicts.policies import Verdict, judge
from memsidecar.domain.conflicts.rules import ConflictRules
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Action
from memsidecar.domain.errors import ConflictRejected
from memsidecar.domain.events import Change, ConflictRecorded, MemoryRecorded
from memsidecar.domain.memory import Memory, State

_LATE = "stored as history: what is known already is newer"
_BETWEEN = "stored with a time of its own, within that of what it contradicts"
_REASONS = {
    Change.SUPERSEDED: "another memory took its place",
    Change.DISPUTED: "another memory contradicts it",
    Change.CREATED: "what was true before and again later",
    Change.RESTORED: "the conflict that it was in is settled",
    Change.DATED: "another memory was true before it or after it",
}


@dataclass(frozen=True, slots=True)
class Challenge:
    """How a memory comes in: what the caller wants done about a contradiction, how it is worded, and who says it."""

    rules: ConflictRules
    policy: Policy | None = None
    manner: Manner = Manner.STATED
    said_by: Source = Source.USER
    said_at: int | None = None
    """When it is said; None: when the memory's newest source says."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What a memory is, and what the others become. Recorded in this order: `changed`, the memory, `conflicts`."""

    memory: Memory
    changed: tuple[tuple[Change, Memory], ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    action: Action = Action.CREATED
    superseded: tuple[str, ...] = ()
    explanation: str = "new"

    def record(self, decision: Decision, recorded: MemoryRecorded) -> None:
        """Record the others, the memory as `recorded`, then the conflicts."""
        for change, other in self.changed:
            decision.record(MemoryRecorded(change, other, None, decision.request.actor, _REASONS[change]))
        decision.record(recorded)
        for conflict in self.conflicts:
            decision.record(ConflictRecorded(conflict, decision.request.actor, conflict.reason))


def neighbourhood(decision: Decision, memory: Memory, challenge: Challenge) -> Neighbourhood | None:
    """The memories of its slot; None for what has none."""
    stance = stance_of(decision.view, memory)
    changing = challenge.manner in (Manner.CHANGED, Manner.CORRECTED)
    return Neighbourhood(decision.view, memory, stance, challenge.rules, changing) if stance is not None else None


def settle(decision: Decision, memory: Memory, challenge: Challenge, slot: Neighbourhood | None = None) -> Settled:
    """`memory` is as it would be alone, not yet recorded, or its next version. Records nothing. `slot` is what
    `neighbourhood` says, if the caller has it.

    Raises ConflictRejected.
    """
    if never_true(memory) or over_since_some_time(memory):
        return Settled(memory)
    slot = slot or neighbourhood(decision, memory, challenge)
    if slot is None:
        return Settled(memory)
    stance = slot.stance
    policy = challenge.rules.policy(stance.slot.family, challenge.policy)
    said = said_of(memory) if challenge.said_at is None else challenge.said_at
    met = meet(memory, slot, decision.now, said)
    if not (met.earlier or met.later or met.again or met.stated):
        return Settled(memory)
    peers = met.contested
    verdict = Verdict.CHAIN
    if peers:
        verdict = judge(policy, memory, challenge.manner, challenge.said_by, peers, met.cut)
    match verdict:
        case Verdict.REJECT:
            raise ConflictRejected([decision.name(peer.memory.id) for peer in peers])
        case Verdict.FLAG:
            return _opened(flag(decision, memory, stance, peers, policy))
        case Verdict.KEEP_BOTH:
            return _opened(keep_both(decision, memory, stance, peers))
        case Verdict.LOSE:
            return _Chain(decision, memory, policy, stance.slot.family).lost(peers)
        case Verdict.CHAIN:
            chain = _Chain(decision, memory, policy, stance.slot.family)
            if challenge.manner is Manner.CORRECTED and (met.earlier or met.stated):
                return chain.corrected(met, slot)
            return chain.inserted(outranked(met, memory, policy, challenge.said_by))


def _opened(opened: Opened) -> Settled:
    return Settled(opened.memory, opened.changed, (opened.conflict,), opened.action, (), opened.explanation)


@dataclass(slots=True)
class _Chain:
    """Puts a memory into the chain of its slot."""

    decision: Decision
    memory: Memory
    policy: Policy
    attribute: str
    changed: dict[str, tuple[Change, Memory]] = field(default_factory=dict)
    conflicts: list[Conflict] = field(default_factory=list)
    apart: list[Memory] = field(default_factory=list)
    _settled_ids: set[str] = field(default_factory=set)

    def inserted(self, met: Met) -> Settled:
        alone, now = self.memory, self.decision.now
        start, end = met.start, met.end
        # What was only stated has the moments before the start, one each; what was true before, the time until then.
        until = start - len(met.stated)
        first = not (met.earlier or met.again or met.back)
        new = alone if first and not met.stated else dated(alone)
        others: tuple[str, ...] = ()
        explanation = ""
        if end is not None:
            if start < start_of(alone):
                new = over_by(alone, end, now, None if first and not met.stated else start)
            else:
                new = ended(new, end, now) if met.resumed is None else self._resumed(new, end, met.resumed)
            successors = [p for p in met.later if start_of(p.memory) == end]
            for peer in successors:
                self._change(Change.DATED, dated(peer.memory))
            for time, peer in met.again:
                self._part(peer.memory, until, time)
                if time == end:
                    successors.append(peer)
            winner = successors[-1]
            changed = [p.memory for p in successors] + [p.memory for _, p in met.again]
            lost = [*self.apart, alone] if met.resumed is None else self.apart
            self._record(winner.memory, lost, [alone, *changed], winner, Resolution.CHANGED)
            others = (winner.memory.id,)
            explanation = _BETWEEN if met.resumed or not met.late else _LATE
        losers = [*met.earlier, *met.weaker, *met.stated]
        for peer in (*met.earlier, *met.weaker):
            self._change(Change.SUPERSEDED, ended(peer.memory, until, now))
        for memory in met.back:
            self._change(Change.DATED, ended(memory, until, now))
        for at, peer in enumerate(met.stated, until):
            since = None if first and at == until else at
            self._change(Change.SUPERSEDED, over_by(peer.memory, at + 1, now, since))
        if losers:
            before = [*(p.memory for p in losers), *met.back] + ([] if others else [alone])
            self._record(alone, [p.memory for p in losers], before, losers[-1], Resolution.CHANGED)
            others += tuple(p.memory.id for p in losers)
            explanation = explanation or f"it takes the place of {_count(len(losers))}, true until then"
        return self._settled(new, others, explanation)

    def _resumed(self, new: Memory, until: int, since: int) -> Memory:
        """The new one holds again when what came between has ended; its earlier time becomes a memory of its own."""
        self._piece(new, until, since)
        return replace(new, valid_from=since)

    def _part(self, memory: Memory, until: int, since: int) -> None:
        """What was said before and again afterwards holds in two times: the earlier one becomes a memory of its own."""
        if start_of(memory) < until:
            self._piece(memory, until, since)
        self._change(Change.DATED, replace(memory, valid_from=since))

    def _piece(self, memory: Memory, until: int, since: int) -> None:
        now = self.decision.now
        sources = tuple(s for s in memory.provenance if s.time is None or s.time < since)
        first = replace(ended(memory, until, now), id=self.decision.new_id(), version=1, provenance=sources)
        first = replace(first, created_at=now, updated_at=now)
        self.changed[first.id] = (Change.CREATED, first)
        self.apart.append(first)

    def corrected(self, met: Met, slot: Neighbourhood) -> Settled:
        alone, now = self.memory, self.decision.now
        known = (*met.earlier, *met.stated)
        last = known[-1]
        wrong = [p for p in known if p.stance.same_value(last.stance) and p.stance.sign == last.stance.sign]
        start = min(met.start, *(start_of(p.memory) for p in wrong))
        new = replace(alone, valid_from=start)
        losers = [*known, *holding_between(slot, start, start_of(alone), known)]
        for peer in losers:
            changed = never(peer.memory, now) if peer in wrong else ended(peer.memory, start, now)
            self._change(Change.SUPERSEDED, changed)
        if met.later:
            new = ended(new, start_of(met.later[0].memory), now)
            self._change(Change.DATED, dated(met.later[0].memory))
        before = [*(p.memory for p in losers), alone, *(p.memory for p in met.later[:1])]
        self._record(alone, [p.memory for p in losers], before, last, Resolution.CORRECTED)
        others = tuple(p.memory.id for p in losers)
        return self._settled(new, others, f"it corrects {_count(len(wrong))}, which never {_was(len(wrong))} true")

    def lost(self, peers: Sequence[Peer]) -> Settled:
        alone = self.memory
        winner = peers[-1]
        self._record(winner.memory, [alone], [alone], winner, Resolution.CORRECTED)
        new = never(alone, self.decision.now)
        return self._settled(new, (winner.memory.id,), "stored as history: what is known is surer or better founded")

    def _change(self, change: Change, new: Memory) -> None:
        known = self.decision.view.memory(new.id)
        if known is None or known == new:
            return
        if known.state is State.SUPERSEDED:
            change = Change.DATED
        new = replace(new, updated_at=self.decision.now, version=known.version + 1)
        self.changed[new.id] = (change, new)

    def _record(
        self, winner: Memory, losers: Sequence[Memory], before: Sequence[Memory], by: Peer, resolution: Resolution
    ) -> None:
        """A resolved conflict. Open ones of the losers are settled with it."""
        decision = self.decision
        known = self._open_of(losers)
        there = (decision.view.memory(i) for i in known.memories) if known is not None else ()
        everybody = (*(m for m in there if m is not None), *losers, winner)
        memories = sorted({m.id: m for m in everybody}.values(), key=order_of)
        earlier = {}
        for was in known.before if known is not None else ():
            memory = decision.view.memory(was.memory_id)
            earlier[was.memory_id] = was if memory is None else rebased(was, memory)
        new = Conflict(
            id=known.id if known is not None else decision.new_id(),
            subject=by.stance.slot.subject,
            attribute=self.attribute,
            rule=by.rule,
            memories=tuple(m.id for m in memories),
            created_at=known.created_at if known is not None else decision.now,
            updated_at=decision.now,
            policy=self.policy,
            state=ConflictState.RESOLVED,
            resolution=resolution,
            winner=winner.id,
            losers=tuple(m.id for m in losers),
            resolved_at=decision.now,
            resolved_by=decision.request.actor,
            severity=severity_of(memories),
            evidence=evidence_of(memories),
            before=tuple({**{m.id: before_of(m) for m in before}, **earlier}.values()),
            version=known.version + 1 if known is not None else 1,
            opened=known is not None and known.opened,
        )
        self.conflicts.append(new)

    def _open_of(self, losers: Sequence[Memory]) -> Conflict | None:
        """The first open conflict of the losers, to be resolved with them; others, and who stays behind, are freed."""
        losing = {m.id for m in losers}
        found: dict[str, Conflict] = {}
        for loser in losers:
            found.update((c.id, c) for c in open_conflicts_of(self.decision.view, loser.id))
        first: Conflict | None = None
        for conflict in found.values():
            if conflict.id in self._settled_ids:
                continue
            self._settled_ids.add(conflict.id)
            if first is not None and still_contradict(self.decision.view, conflict.memories, losing):
                continue
            restored, closed = dismissed(self.decision, conflict, SETTLED_ELSEWHERE, losing)
            for memory in restored:
                if memory.id in self.changed:
                    change, changed = self.changed[memory.id]
                    self.changed[memory.id] = (change, replace(changed, state=memory.state))
                elif memory.id != self.memory.id:
                    self.changed[memory.id] = (Change.RESTORED, memory)
            if first is None:
                first = conflict
            else:
                self.conflicts.append(closed)
        return first

    def _settled(self, new: Memory, others: tuple[str, ...], explanation: str) -> Settled:
        return Settled(new, tuple(self.changed.values()), tuple(self.conflicts), Action.SUPERSEDED, others, explanation)


def _count(number: int) -> str:
    return "what was known" if number == 1 else f"{number} memories"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"
