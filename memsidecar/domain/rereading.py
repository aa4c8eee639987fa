"""A text that was read before says something else now: what becomes of what was read from it. Pure, as `learned`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from memsidecar.domain.conflicts.rules import DEFAULT_RULES, ConflictRules
from memsidecar.domain.decide import update
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Declined, Draft, Outcome, Patch
from memsidecar.domain.events import Change, MemoryRecorded
from memsidecar.domain.learned import ClaimFound, denies, derived, is_deed, learn
from memsidecar.domain.memory import Fact, Memory, Preference, Provenance, State, text_of
from memsidecar.domain.removal import forget_names, let_go, restore_reading
from memsidecar.domain.structuring import RULES
from memsidecar.domain.text import normalise

_CHANGED = "the text that it was read from says something else now"
_WAS_DELETED = "it was deleted, and the text said it before, too"

Kept = Callable[[Provenance], Provenance | None]
"""What a source in the text is after the change; None for one that has to be read there again."""
Stays = Callable[[Memory, Draft], bool]
"""Whether what was read before and is deleted stays so, although it is read again."""


@dataclass(frozen=True, slots=True, eq=False)
class Reread:
    """What the text said before, as `Learning` reads it, and what it says now. `by_rules`: whether rules have read it
    now; else nobody has, yet."""

    before: tuple[Draft, ...]
    claims: Sequence[ClaimFound]
    by_rules: bool


def is_unread(decision: Decision, episode: str, before: Sequence[Draft]) -> bool:
    """Whether an episode was stored without being read: it states something, and nothing was ever read from it."""
    stated = [draft for draft in before if not (is_deed(draft) or denies(draft) or draft.only_denies)]
    return bool(stated) and not any(decision.view.read_from(episode))


def read_again(
    decision: Decision, before: Memory, after: Memory, reread: Reread, rules: ConflictRules = DEFAULT_RULES
) -> Iterator[Outcome | Declined]:
    """An episode has been recorded with another text. What rules had read in the old one goes unless they read it in
    the new one; what a model had read, unless its words stand there still. What a caller has read stays."""
    said_before = {_said(draft): draft for draft in reread.before}

    def kept(source: Provenance) -> Provenance | None:
        if source.extractor == RULES:
            return None if reread.by_rules else _moved(source, before.text, after.text)
        return _moved(source, before.text, after.text) if source.end > source.start else source

    def stays(_: Memory, draft: Draft) -> bool:
        return _said(draft) in said_before

    for claim in reread.claims:
        _date(decision, after.id, said_before.get(_said(claim.draft)), claim.draft, rules)
    yield from reconciled(decision, after, reread.claims, kept, stays, rules)


def read_by_model(
    decision: Decision, episode: Memory, claims: Sequence[ClaimFound], rules: ConflictRules = DEFAULT_RULES
) -> Iterator[Outcome | Declined]:
    """What a model says that an episode states. What a model had read there before, and does not read now, goes."""

    def kept(source: Provenance) -> Provenance | None:
        return None if source.extractor != RULES and source.end > source.start else source

    def stays(reading: Memory, _: Draft) -> bool:
        return reading.deleted_at != episode.updated_at

    yield from reconciled(decision, episode, claims, kept, stays, rules)


def reconciled(
    decision: Decision, episode: Memory, claims: Sequence[ClaimFound], kept: Kept, stays: Stays, rules: ConflictRules
) -> Iterator[Outcome | Declined]:
    """`learn` the claims of an episode from which there are readings already. What is said again stays the memory that
    it is; what is not, and is said by nothing else, is deleted before what is new is learned: it was never so."""
    readings = [m for m in map(decision.view.memory, tuple(decision.view.read_from(episode.id))) if m is not None]
    if not readings:
        yield from learn(decision, episode, claims, rules)
        return
    deleted = {normalise(m.text): m for m in readings if m.state is State.DELETED}
    wanted = []
    for claim in claims:
        known = deleted.get(normalise(text_of(claim.draft.body)))
        if known is None:
            wanted.append(claim)
        elif stays(known, claim.draft):
            yield Declined(text_of(claim.draft.body), _WAS_DELETED)
        else:
            restore_reading(decision, known, rules)
            wanted.append(claim)
    # On a copy of what is known: which of the readings do the claims merge with?
    trial = Decision.on(decision.view, decision.partition, decision.now, decision.new_id, decision.request)
    said = {each.memory.id for each in learn(trial, episode, wanted, rules) if isinstance(each, Outcome)}
    mentions: list[str] = []
    for reading in readings:
        if reading.state is not State.DELETED and reading.id not in said:
            mentions += _unsaid(decision, reading, episode.id, kept)
    yield from learn(decision, episode, wanted, rules)
    fresh = {source for claim in wanted if (source := derived(claim, episode.id).draft.source) is not None}
    for memory_id in sorted(said & {reading.id for reading in readings}):
        memory = decision.view.memory(memory_id)
        if memory is not None:
            sources = _sources(memory, episode.id, lambda source: source if source in fresh else kept(source))
            _with_sources(decision, memory, sources or memory.provenance)
    forget_names(decision, mentions)


def _unsaid(decision: Decision, reading: Memory, episode: str, kept: Kept) -> tuple[str, ...]:
    """Without its sources in the text that are none any more; deleted, if nothing else says it. What it mentions."""
    sources = _sources(reading, episode, kept)
    if sources:
        _with_sources(decision, reading, sources)
    # Otherwise its sources stay: it is purged with the text.
    let_go(decision, reading.id, by_itself=not sources)
    return reading.mentions


def _sources(reading: Memory, episode: str, kept: Kept) -> tuple[Provenance, ...]:
    found = (kept(each) if episode in each.derived_from else each for each in reading.provenance)
    return tuple(dict.fromkeys(each for each in found if each is not None))


def _with_sources(decision: Decision, memory: Memory, sources: tuple[Provenance, ...]) -> None:
    if sources != memory.provenance:
        changed = replace(memory, provenance=sources, updated_at=decision.now, version=memory.version + 1)
        decision.record(MemoryRecorded(Change.UPDATED, changed, None, decision.request.actor, _CHANGED))


def _moved(source: Provenance, before: str, after: str) -> Provenance | None:
    """A source in the new text, where the words of the old one stand in it."""
    words = before[source.start : source.end] if source.end > source.start else before
    start = after.find(words) if words.strip() else -1
    return None if start < 0 else replace(source, start=start, end=start + len(words))


def _date(decision: Decision, episode: str, before: Draft | None, after: Draft, rules: ConflictRules) -> None:
    """What this text alone says, and says of another time now, is so at that time."""
    if before is None or (before.valid_from, before.valid_to) == (after.valid_from, after.valid_to):
        return
    for memory_id in tuple(decision.view.read_from(episode)):
        memory = decision.view.memory(memory_id)
        if (
            memory is None
            or memory.state is not State.ACTIVE
            or any(each.derived_from != (episode,) for each in memory.provenance)
        ):
            continue
        if (memory.valid_from, memory.valid_to) == (before.valid_from, before.valid_to) and _alike(memory, before):
            changes = {"valid_from": after.valid_from, "valid_to": after.valid_to}
            update(decision, memory_id, Patch(changes, reason=_CHANGED), None, None, rules, after.policy)


def _alike(memory: Memory, draft: Draft) -> bool:
    return normalise(memory.text) == normalise(text_of(draft.body))


def _said(draft: Draft) -> tuple[object, ...]:
    """What is said of whom, whenever it is so."""
    about = normalise(draft.subject_named.name) if draft.subject_named is not None else ""
    match draft.body:
        case Fact(predicate=predicate, negated=negated) as fact:
            named = draft.object_named.name if draft.object_named is not None else ""
            return ("fact", about, predicate, normalise(fact.object_text or named), negated)
        case Preference(topic=topic, value=value, polarity=polarity):
            return ("preference", about, normalise(topic), normalise(value), polarity > 0)
        case body:
            return (type(body), normalise(text_of(body)))
