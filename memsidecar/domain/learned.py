"""Claims on their way into memory: whose they are, whether they are known, what they become. Pure, as `decide`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from memsidecar.domain.attributes import ATTRIBUTES, Attribute, Cardinality, attribute_of
from memsidecar.domain.conflicts.rules import DEFAULT_RULES, ConflictRules
from memsidecar.domain.decide import remember
from memsidecar.domain.decision import Decision
from memsidecar.domain.draft import Declined, Draft, Outcome
from memsidecar.domain.errors import SidecarError
from memsidecar.domain.events import Change, MemoryRecorded, Vectors
from memsidecar.domain.identity import digest_of
from memsidecar.domain.memory import Entity, Fact, Memory, Preference, State
from memsidecar.domain.mentions import MAX_NAME, Mention
from memsidecar.domain.scope import Scope
from memsidecar.domain.slots import Slot, slot_of
from memsidecar.domain.structuring import is_description, relation_in
from memsidecar.domain.text import display_name, entity_key, normalise

_PERSON = "person"
_HOLDING = (State.ACTIVE, State.DISPUTED)

Store = Callable[[Decision, Draft, tuple[Mention, ...], Vectors | None], Outcome]


@dataclass(frozen=True, slots=True, eq=False)
class ClaimFound:
    """A claim's draft with the names in its statement and its vectors, None when they are due."""

    draft: Draft
    mentions: tuple[Mention, ...]
    vectors: Vectors | None = None


def storing(rules: ConflictRules) -> Store:
    """What stores a claim, with the rules for what it contradicts."""

    def store(decision: Decision, draft: Draft, found: tuple[Mention, ...], vectors: Vectors | None) -> Outcome:
        return remember(decision, draft, found, vectors, rules=rules)

    return store


_BY_DEFAULT = storing(DEFAULT_RULES)


def learn(
    decision: Decision, episode: Memory, claims: Sequence[ClaimFound], store: Store = _BY_DEFAULT
) -> Iterator[Outcome | Declined]:
    """Remember what was read out of an episode, each claim derived from it. One that cannot be stored is declined
    alone, with the reason; so is what another extractor has read out of the same episode for the same slot."""
    for claim in claims:
        try:
            draft = _addressed(decision, _derived(claim.draft, episode.id))
            slot = slot_of(_as_memory(decision, draft))
            if slot is not None and _read_already(decision, draft, slot, episode.id):
                yield Declined(_statement(draft), "it was read out of this text already")
                continue
            known = _said_already(decision, draft, slot) if slot is not None else None
            if known is not None:
                # The same of the same slot in other words (P4): a source more for what is known.
                draft = replace(draft, body=known.body, agent=known.scope.agent)
                yield store(decision, draft, (), None)
            else:
                yield store(decision, draft, claim.mentions, claim.vectors)
        except SidecarError as error:
            yield Declined(_statement(claim.draft), str(error))


def _statement(draft: Draft) -> str:
    return draft.body.statement if isinstance(draft.body, Fact | Preference) else ""


def _derived(draft: Draft, episode: str) -> Draft:
    return draft if draft.source is None else replace(draft, source=replace(draft.source, derived_from=(episode,)))


def _addressed(decision: Decision, draft: Draft) -> Draft:
    """The draft with the entities that it names in place of their names."""
    body = draft.body
    subject = _subject(decision, draft.about) if draft.about else ""
    match body:
        case Fact():
            target = _object(decision, subject, body, draft.object_type)
            body = replace(body, subject=subject, object_entity=target)
        case Preference():
            body = replace(body, subject=subject)
    return replace(draft, body=body, about="", object_type="")


def _subject(decision: Decision, name: str) -> str:
    if is_description(name):
        known = attribute_of(relation_in(name))
        if known is not None and known.cardinality is Cardinality.SINGLE:
            named = _holders(decision, "", known)
            if len(named) == 1:
                return named[0]
    return _entity(decision, name, _PERSON)


def _object(decision: Decision, owner: str, fact: Fact, kind: str) -> str:
    """The entity that a fact leads to; empty for none. Once the user says who his wife is, what he told of "my wife"
    is told of her."""
    name = display_name(fact.object_text)
    if not kind or not name or len(name) > MAX_NAME or fact.negated:
        return ""
    known = decision.view.entity(entity_key(name))
    attribute = attribute_of(fact.predicate)
    if known is None and attribute is not None and kind == _PERSON and not owner:
        described = _described(decision, attribute)
        if described is not None and not _holders(decision, "", attribute):
            _call(decision, described, name)
            return described.id
    return known or _entity(decision, name, kind)


def _holders(decision: Decision, owner: str, attribute: Attribute) -> list[str]:
    """The entities that the owner's facts of that attribute lead to now."""
    found: dict[str, None] = {}
    for memory_id in decision.view.in_slot(owner, attribute.key):
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
    named = replace(body, display_name=name, aliases=aliases)
    changed = replace(
        memory,
        body=named,
        updated_at=decision.now,
        version=memory.version + 1,
        digest=digest_of(named, memory.scope.agent),
    )
    reason = "it has a name now"
    decision.record(MemoryRecorded(Change.UPDATED, changed, None, decision.request.actor, reason))


def _entity(decision: Decision, name: str, kind: str) -> str:
    """The entity of that name, by its exact key; a new one when there is none."""
    key = entity_key(name)
    if not key:
        return ""
    if (known := decision.view.entity(key)) is not None:
        return known
    body = Entity(display_name(name)[:MAX_NAME], kind, discovered=True)
    entity = Memory(
        id=decision.new_id(),
        scope=Scope(decision.partition.namespace, decision.partition.user),
        body=body,
        created_at=decision.now,
        updated_at=decision.now,
        digest=digest_of(body, ""),
    )
    decision.record(MemoryRecorded(Change.CREATED, entity, None, decision.request.actor, "named in a text"))
    return entity.id


def _read_already(decision: Decision, draft: Draft, slot: Slot, episode: str) -> bool:
    """Whether somebody else has filled the slot from the same text; of what has many values, with the same one."""
    reader = draft.source.extractor if draft.source is not None else ""
    for memory_id in decision.view.in_slot(slot.subject, slot.family):
        memory = decision.view.memory(memory_id)
        if memory is None or slot_of(memory) != slot:
            continue
        if any(s.extractor not in ("", reader) and episode in s.derived_from for s in memory.provenance) and (
            _has_one_value(draft) or _alike(_value(memory.body), _value(draft.body))
        ):
            return True
    return False


def _has_one_value(draft: Draft) -> bool:
    known = attribute_of(draft.body.predicate) if isinstance(draft.body, Fact) else None
    return known is not None and known.cardinality is Cardinality.SINGLE


def _value(body: object) -> str:
    match body:
        case Fact(object_text=text):
            return normalise(text)
        case Preference(topic=topic, value=value):
            return normalise(value or topic)
        case _:
            return ""


def _alike(one: str, other: str) -> bool:
    return bool(one and other) and (one in other or other in one)


def _said_already(decision: Decision, draft: Draft, slot: Slot) -> Memory | None:
    """The memory of that slot that holds and says the same, in whatever words."""
    for memory_id in decision.view.in_slot(slot.subject, slot.family):
        memory = decision.view.memory(memory_id)
        if memory is None or memory.state not in _HOLDING or memory.scope.agent != draft.agent:
            continue
        if memory.valid_to is not None or draft.valid_to is not None or slot_of(memory) != slot:
            continue
        if _says(memory.body) == _says(draft.body):
            return memory
    return None


def _says(body: object) -> tuple[object, ...]:
    match body:
        case Fact():
            return ("fact", body.negated, normalise(body.object_text), body.object_value, body.object_entity)
        case Preference():
            return (
                "preference",
                (body.polarity > 0) - (body.polarity < 0),
                normalise(body.topic),
                normalise(body.value),
            )
        case _:
            return ()


def _as_memory(decision: Decision, draft: Draft) -> Memory:
    scope = Scope(decision.partition.namespace, decision.partition.user, draft.agent, draft.session)
    return Memory("", scope, draft.body, decision.now, decision.now)
