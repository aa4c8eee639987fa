"""What a memory points at: that it is there, and the entities that a name stands for. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memsidecar.domain.conflict import ConflictState
from memsidecar.domain.decision import Decision
from memsidecar.domain.errors import InvalidField
from memsidecar.domain.events import Change, MemoryRecorded
from memsidecar.domain.identity import digest_of
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Memory, Preference, Provenance, State
from memsidecar.domain.mentions import MAX_NAME, Mention
from memsidecar.domain.scope import Scope
from memsidecar.domain.text import display_name, entity_key
from memsidecar.domain.view import IDENTITY, PartitionView

# Merges of merges are followed so far.
_LONGEST = 16


def entity_for(decision: Decision, mention: Mention) -> str | None:
    """The id of the entity with that name, recorded if nobody knows it; None when the name has no letters."""
    key = entity_key(mention.name)
    if not key:
        return None
    if (known := decision.view.entity(key)) is not None:
        return known
    body = Entity(display_name(mention.name)[:MAX_NAME], mention.type, discovered=True)
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


def references(body: Body, mentions: tuple[str, ...], path: str) -> list[tuple[str, str]]:
    """(field path, entity id) of all that a memory points at."""
    entities = [(f"{path}.mentions[{i}]", entity) for i, entity in enumerate(mentions)]
    match body:
        case Fact(subject=subject, object_entity=target):
            entities += [(f"{path}.fact.subject", subject), (f"{path}.fact.entity", target)]
        case Preference(subject=subject):
            entities.append((f"{path}.preference.subject", subject))
        case Episode(participants=participants):
            entities += [(f"{path}.episode.participants[{i}]", p) for i, p in enumerate(participants)]
        case _:
            pass
    return [(where, entity) for where, entity in entities if entity]


def successor_of(view: PartitionView, entity_id: str) -> str:
    """The entity that an entity is merged into, itself when it is in none."""
    for _ in range(_LONGEST):
        entity = view.memory(entity_id)
        if entity is None or entity.state is not State.SUPERSEDED:
            break
        records = [c for c in map(view.conflict, view.conflicts_of(entity_id)) if c is not None]
        merges = [c for c in records if c.attribute == IDENTITY and c.state is ConflictState.RESOLVED]
        merged = [c.winner for c in merges if entity_id in c.losers]
        if not merged or not merged[-1]:
            break
        entity_id = merged[-1]
    return entity_id


def naming_successors(view: PartitionView, body: Body) -> Body:
    """The body with the entities that those it names are merged into."""
    new: Body = body
    match body:
        case Fact(subject=subject, object_entity=target):
            new = replace(body, subject=successor_of(view, subject), object_entity=successor_of(view, target))
        case Preference(subject=subject):
            new = replace(body, subject=successor_of(view, subject))
        case Episode(participants=participants):
            new = replace(body, participants=tuple(dict.fromkeys(successor_of(view, i) for i in participants)))
        case _:
            pass
    return body if new == body else new


def check_references(
    decision: Decision, entities: Sequence[tuple[str, str]], source: Provenance | None, path: str
) -> None:
    """Raises InvalidField unless all of these are entities that are there, and the source's memories are, too."""
    for where, entity_id in entities:
        entity = decision.view.memory(entity_id)
        if entity is None or entity.state is State.DELETED:
            raise InvalidField(where, f"{decision.name(entity_id)} does not exist")
        if not isinstance(entity.body, Entity):
            raise InvalidField(where, f"{decision.name(entity_id)} is not an entity")
    for i, memory_id in enumerate(source.derived_from if source else ()):
        if decision.view.memory(memory_id) is None:
            raise InvalidField(f"{path}.provenance.derived_memories[{i}]", f"{decision.name(memory_id)} does not exist")
