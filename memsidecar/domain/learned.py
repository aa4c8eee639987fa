"""Claims on their way into memory: whose they are, and what has been read of them already. Pure, as `decide`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memsidecar.domain.attributes import ATTRIBUTES, Attribute, Cardinality, attribute_of
from memsidecar.domain.conflicts.opening import open_conflicts_of
from memsidecar.domain.conflicts.peers import stance_of
from memsidecar.domain.conflicts.rules import DEFAULT_RULES, ConflictRules
from memsidecar.domain.decide import remember
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Declined, Draft, Outcome
from memsidecar.domain.errors import SidecarError
from memsidecar.domain.events import NO_VECTORS, Change, MemoryRecorded, Vectors
from memsidecar.domain.identity import digest_of
from memsidecar.domain.memory import Entity, Episode, Fact, Memory, Preference, State, text_of
from memsidecar.domain.mentions import MAX_NAME, Mention
from memsidecar.domain.scope import Scope
from memsidecar.domain.slot_places import Sought, words_of
from memsidecar.domain.slots import EXPERIENCE, OPPOSED, SAME, Slot, opposed, same_slot, slot_of
from memsidecar.domain.structuring import PERSON, RULES, is_description, relation_in
from memsidecar.domain.text import display_name, entity_key, normalise

_USER = ("", "user")
# Longer texts are not digested a second time: the writer waits for it.
_COMPARED = 4_000
MOST = 8
"""Deeds that are stored for one denial, those that contradict it most first; more tell nothing new."""
_HOLDING = (State.ACTIVE, State.DISPUTED)


@dataclass(frozen=True, slots=True, eq=False)
class ClaimFound:
    """A claim's draft with the names in its statement and its vectors, None when they are due."""

    draft: Draft
    mentions: tuple[Mention, ...]
    vectors: Vectors | None = None


def learn(
    decision: Decision, episode: Memory, claims: Sequence[ClaimFound], rules: ConflictRules = DEFAULT_RULES
) -> Iterator[Outcome | Declined]:
    """Remember what was read out of an episode, each claim derived from it. One that cannot be stored is declined
    alone, with the reason; so is what another extractor has read out of the same episode for the same slot. What was
    done is of use only where it is denied, and left out elsewhere; so is what only denies, where nothing is known."""
    for claim in claims:
        try:
            draft = _addressed(decision, _derived(claim.draft, episode.id))
            if is_deed(draft) and not _is_denied(decision, draft):
                continue  # one of the many things that people do
            if draft.only_denies and not _denies_known(decision, draft):
                continue
            if _read_already(decision, draft, episode.id):
                yield Declined(text_of(draft.body), "it was read out of this text already")
            else:
                yield remember(decision, draft, claim.mentions, claim.vectors, None, rules)
        except SidecarError as error:
            yield Declined(text_of(claim.draft.body), str(error))


def as_known(decision: Decision, draft: Draft, digest: bytes) -> tuple[Draft, bytes]:
    """A user's words as they are known, with the digest: that he said them is known with and without his role."""
    body = draft.body
    if not isinstance(body, Episode) or body.speaker not in _USER or len(body.text) > _COMPARED:
        return draft, digest
    if decision.view.by_digest(digest) is not None:
        return draft, digest
    other = replace(body, speaker=_USER[1 - _USER.index(body.speaker)])
    known = digest_of(other, draft.agent)
    return (draft, digest) if decision.view.by_digest(known) is None else (replace(draft, body=other), known)


def name_described(decision: Decision, draft: Draft) -> None:
    """Once the user says who his wife is, what he has told of "my wife" is told of her: to be called before his words
    are stored, which make an entity of every name in them."""
    refers = draft.mentions or (draft.source is not None and draft.source.derived_from)
    if refers or (isinstance(draft.body, Episode) and draft.body.participants):
        return  # it may be refused
    for claim in draft.claims:
        fact, named = claim.body, claim.object_named
        if not isinstance(fact, Fact) or named is None or named.type != PERSON or claim.subject_named or fact.negated:
            continue
        attribute = attribute_of(fact.predicate)
        name = display_name(named.name)
        if attribute is None or decision.view.entity(entity_key(name)) is not None:
            continue
        described = _described(decision, attribute)
        if described is not None and not _holders(decision, attribute):
            _call(decision, described, name)


def derived(claim: ClaimFound, episode: str) -> ClaimFound:
    """The claim, read out of that episode unless it says that it is from an earlier one."""
    return replace(claim, draft=_derived(claim.draft, episode))


def denies(claim: Draft) -> bool:
    """Whether a claim says that something was never done."""
    return isinstance(claim.body, Fact) and claim.body.predicate == EXPERIENCE and claim.body.negated


def is_deed(draft: Draft) -> bool:
    """Whether a claim says that something was done."""
    return isinstance(draft.body, Fact) and draft.body.predicate == EXPERIENCE and not draft.body.negated


def _derived(draft: Draft, episode: str) -> Draft:
    """From the episode, unless it says that it is from an earlier one."""
    if draft.source is None or draft.source.derived_from:
        return draft
    return replace(draft, source=replace(draft.source, derived_from=(episode,)))


def _is_denied(decision: Decision, draft: Draft) -> bool:
    """Whether a memory says that what the draft says was done never was, and not so many contradict it already."""
    slot = _slot(decision, draft)
    if slot is None:
        return False
    for memory_id in decision.view.in_slot(slot.subject, slot.family, Sought(words=words_of(slot), negated=True)):
        memory = decision.view.memory(memory_id)
        if memory is None or memory.state is State.DELETED:
            continue
        theirs = slot_of(memory)
        if theirs is None or not theirs.negated or _contradictions(decision, memory_id) >= MOST:
            continue
        if opposed(theirs, slot, rarity=decision.view.rarity) >= OPPOSED:
            return True
    return False


def _denies_known(decision: Decision, draft: Draft) -> bool:
    """Whether what the draft denies is held to be so."""
    body = draft.body
    slot = _slot(decision, draft)
    if slot is None or not isinstance(body, Fact | Preference):
        return False
    if draft.subject_named is not None:
        body = replace(body, subject=slot.subject)
    scope = Scope(decision.partition.namespace, decision.partition.user, draft.agent)
    denial = stance_of(decision.view, Memory("", scope, body, decision.now, decision.now))
    if denial is None:
        return False
    sought = Sought(words=words_of(slot), negated=not slot.negated, superseded=False)
    for memory_id in decision.view.in_slot(slot.subject, slot.family, sought):
        memory = decision.view.memory(memory_id)
        if memory is None or memory.state not in _HOLDING:
            continue
        theirs = stance_of(decision.view, memory)
        if theirs is not None and theirs.same_value(denial) and theirs.sign * denial.sign < 0:
            return True
    return False


def _contradictions(decision: Decision, memory_id: str) -> int:
    return sum(len(conflict.memories) - 1 for conflict in open_conflicts_of(decision.view, memory_id))


def strongest_first(decision: Decision, claims: Sequence[ClaimFound]) -> list[ClaimFound]:
    """The claims with those that say what was done last, in the order in which they contradict what is denied."""
    never = [slot for c in claims if denies(c.draft) and (slot := _slot(decision, c.draft)) is not None]

    def sure(claim: ClaimFound) -> float:
        slot = _slot(decision, claim.draft)
        return 0.0 if slot is None else max((opposed(n, slot, rarity=decision.view.rarity) for n in never), default=0.0)

    deeds = [claim for claim in claims if is_deed(claim.draft)]
    return [c for c in claims if not is_deed(c.draft)] + sorted(deeds, key=sure, reverse=True)


def _slot(decision: Decision, draft: Draft) -> Slot | None:
    """The slot that a draft will have; None also when it is about somebody of whom nothing is known."""
    body = draft.body
    if draft.subject_named is not None and isinstance(body, Fact | Preference):
        known = decision.view.entity(entity_key(draft.subject_named.name))
        if known is None:
            return None
        body = replace(body, subject=known)
    scope = Scope(decision.partition.namespace, decision.partition.user, draft.agent)
    return slot_of(Memory("", scope, body, decision.now, decision.now))


def _addressed(decision: Decision, draft: Draft) -> Draft:
    """The draft about whom the user has named since he spoke of "my wife"."""
    named = draft.subject_named
    if named is None or not is_description(named.name) or not isinstance(draft.body, Fact | Preference):
        return draft
    relation = attribute_of(relation_in(named.name))
    if relation is None or relation.cardinality is not Cardinality.SINGLE:
        return draft
    holders = _holders(decision, relation)
    if len(holders) != 1:
        return draft
    return replace(draft, subject_named=None, body=replace(draft.body, subject=holders[0]))


def _holders(decision: Decision, attribute: Attribute) -> list[str]:
    """The entities that the user's facts of that attribute lead to now."""
    found: dict[str, None] = {}
    for memory_id in decision.view.in_slot("", attribute.key, Sought(superseded=False)):
        memory = decision.view.memory(memory_id)
        if memory is None or memory.state not in _HOLDING or memory.valid_to is not None:
            continue
        if isinstance(memory.body, Fact) and memory.body.object_entity and not memory.body.negated:
            found[memory.body.object_entity] = None
    return list(found)


def _described(decision: Decision, attribute: Attribute) -> Memory | None:
    """Whom the user has spoken of by that relation only; None when it can be several people."""
    if attribute.cardinality is not Cardinality.SINGLE or attribute.key not in ATTRIBUTES:
        return None
    for word in (attribute.key, *attribute.synonyms):
        for description in (f"my {word}", f"我{word}", f"我的{word}"):
            found = decision.view.entity(entity_key(description))
            memory = decision.view.memory(found) if found is not None else None
            if memory is not None and isinstance(memory.body, Entity) and memory.body.discovered:
                return memory
    return None


def _call(decision: Decision, memory: Memory, name: str) -> None:
    """Give a described entity its name; the description stays an alias."""
    body = memory.body
    assert isinstance(body, Entity)
    aliases = tuple(dict.fromkeys((*body.aliases, body.display_name)))
    named = replace(body, display_name=name[:MAX_NAME], aliases=aliases)
    changed = replace(
        memory,
        body=named,
        updated_at=decision.now,
        version=memory.version + 1,
        digest=digest_of(named, memory.scope.agent),
    )
    reason = "it has a name now"
    decision.record(MemoryRecorded(Change.UPDATED, changed, NO_VECTORS, decision.request.actor, reason))


def _read_already(decision: Decision, draft: Draft, episode: str) -> bool:
    """Whether somebody else has filled the slot from the same text; of what has many values, with the same one."""
    reader = draft.source.extractor if draft.source is not None else ""
    # The rules read first.
    slot = _slot(decision, draft) if reader not in ("", RULES) else None
    if slot is None:
        return False
    for memory_id in decision.view.read_from(episode):
        memory = decision.view.memory(memory_id)
        theirs = slot_of(memory) if memory is not None else None
        if memory is None or theirs is None or same_slot(theirs, slot) < SAME:
            continue
        others = any(s.extractor not in ("", reader) and episode in s.derived_from for s in memory.provenance)
        if others and (_has_one_value(draft) or _alike(_value(decision, memory), _value_of(draft))):
            return True
    return False


def _has_one_value(draft: Draft) -> bool:
    known = attribute_of(draft.body.predicate) if isinstance(draft.body, Fact) else None
    return known is not None and known.cardinality is Cardinality.SINGLE


def _value(decision: Decision, memory: Memory) -> str:
    match memory.body:
        case Fact(object_entity=entity) if entity and (found := decision.view.memory(entity)) is not None:
            return normalise(found.body.display_name) if isinstance(found.body, Entity) else ""
        case Fact(object_text=text):
            return normalise(text)
        case Preference(topic=topic, value=value):
            return normalise(value or topic)
        case _:
            return ""


def _value_of(draft: Draft) -> str:
    match draft.body:
        case Fact(object_text=text):
            return normalise(text)
        case Preference(topic=topic, value=value):
            return normalise(value or topic)
        case _:
            return ""


def _alike(one: str, other: str) -> bool:
    return bool(one and other) and (one in other or other in one)
