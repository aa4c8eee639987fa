"""The rules of writing: (what is, what comes in, now, ids) -> events. Pure; the ledger makes the events true.

Everything an event needs, ids and times included, is decided here, so that applying it anywhere gives the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace

from memsidecar.domain.draft import Action, Draft, Outcome, Patch, Request
from memsidecar.domain.errors import AlreadyExists, EtagMismatch, InvalidField, NotFound
from memsidecar.domain.events import Change, Event, MemoryPurged, MemoryRecorded, Vectors
from memsidecar.domain.identity import adds_evidence, digest_of
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Memory, Preference, Provenance, State
from memsidecar.domain.mentions import MAX_NAME, Mention
from memsidecar.domain.scope import Partition, Scope, resource_name
from memsidecar.domain.text import display_name, entity_key
from memsidecar.domain.view import Overlay, PartitionView

# Sources kept on one memory; the oldest and the newest ones say most.
MAX_PROVENANCE = 64
MAX_ALIASES = 64
# Soft-deleted memories are purged this long after deletion (microseconds): 30 days, as in AIP-164's examples.
PURGE_AFTER = 30 * 24 * 3600 * 1_000_000

NewId = Callable[[], str]


@dataclass(slots=True)
class Decision:
    """Events in order, and what became of each draft. `view` sees the events already."""

    partition: Partition
    view: Overlay
    now: int
    new_id: NewId
    request: Request = field(default_factory=Request)
    events: list[Event] = field(default_factory=list)

    @classmethod
    def on(cls, view: PartitionView, partition: Partition, now: int, new_id: NewId, request: Request) -> Decision:
        return cls(partition, Overlay(view), now, new_id, request)

    def record(self, event: Event) -> None:
        self.events.append(event)
        self.view.add(event)

    def name(self, memory_id: str) -> str:
        return resource_name(self.partition, "memories", memory_id)


def remember(decision: Decision, draft: Draft, found: tuple[Mention, ...], vectors: Vectors | None) -> Outcome:
    """Store a draft, or add its source to the memory that says the same already.

    `found` are the names in its text; `vectors` are its embedding, None while that is due.
    Raises InvalidField when it refers to a memory that does not exist.
    """
    digest = digest_of(draft.body, draft.agent)
    known_id = decision.view.by_digest(digest)
    if known_id is None and isinstance(draft.body, Entity):
        known_id = decision.view.entity(entity_key(draft.body.display_name))
    known = decision.view.memory(known_id) if known_id is not None else None
    if known is not None and known.state is not State.DELETED:
        return _merge(decision, known, draft, vectors)
    memory = create(decision, draft, found, vectors, decision.new_id(), digest)
    return Outcome(Action.CREATED, memory, "new", vectors is None)


def create(
    decision: Decision,
    draft: Draft,
    found: tuple[Mention, ...],
    vectors: Vectors | None,
    memory_id: str,
    digest: bytes | None = None,
) -> Memory:
    """Store a draft as a new memory under that id. `digest` is the draft's, when the caller has it.

    Raises AlreadyExists, InvalidField.
    """
    if decision.view.memory(memory_id) is not None:
        raise AlreadyExists(decision.name(memory_id))
    _check_references(decision, draft.body, draft.mentions, draft.source, draft.path)
    mentions = dict.fromkeys(draft.mentions)
    if not isinstance(draft.body, Entity):
        for mention in (*(Mention(name) for name in draft.entity_names), *found):
            if (entity_id := _entity_for(decision, mention)) is not None:
                mentions[entity_id] = None
    body = draft.body
    if isinstance(body, Episode) and draft.session:
        body = replace(body, follows=decision.view.last_episode(draft.session) or "")
    memory = Memory(
        id=memory_id,
        scope=Scope(decision.partition.namespace, decision.partition.user, draft.agent, draft.session),
        body=body,
        created_at=decision.now,
        updated_at=decision.now,
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        expires_at=draft.expires_at,
        confidence=draft.confidence,
        importance=draft.importance,
        provenance=(draft.source,) if draft.source is not None else (),
        labels=draft.labels,
        attributes=draft.attributes,
        mentions=tuple(mentions),
        digest=digest or digest_of(draft.body, draft.agent),
    )
    decision.record(MemoryRecorded(Change.CREATED, memory, vectors, decision.request.actor))
    return memory


def update(decision: Decision, memory_id: str, patch: Patch, found: tuple[Mention, ...] | None) -> Memory:
    """The next version of a memory. `found` are the names in the new text, None when the text stays.

    Raises NotFound, EtagMismatch, InvalidField (also for a memory that is deleted: undelete it first).
    """
    memory = _current(decision, memory_id, patch.etag)
    if memory.state is State.DELETED:
        raise InvalidField("memory.name", "is deleted; undelete it first")
    if patch.kind is not None and patch.kind is not memory.kind:
        kinds = (patch.kind.name.lower(), memory.kind.name.lower())
        raise InvalidField(f"{patch.path}.{kinds[0]}", f"the memory is of the kind {kinds[1]}, which never changes")
    on_memory = {f.name for f in fields(Memory)}
    body_changes = {k: v for k, v in patch.changes.items() if k not in on_memory}
    body: Body = replace(memory.body, **body_changes)  # type: ignore[arg-type]
    if isinstance(body, Entity) and body_changes:
        body = replace(body, discovered=False)
    changes: dict[str, object] = {k: v for k, v in patch.changes.items() if k in on_memory}
    mentions = changes.get("mentions", memory.mentions)
    _check_references(decision, body, mentions, None, patch.path)  # type: ignore[arg-type]
    if found is not None and not isinstance(body, Entity):
        named = [m for m in (_entity_for(decision, mention) for mention in found) if m is not None]
        # The old text's names go with it, unless the caller says what is mentioned.
        kept = mentions if "mentions" in changes else ()
        changes["mentions"] = tuple(dict.fromkeys((*kept, *named)))  # type: ignore[misc]
    changed = replace(
        memory,
        body=body,
        updated_at=decision.now,
        version=memory.version + 1,
        digest=digest_of(body, memory.scope.agent),
        **changes,  # type: ignore[arg-type]
    )
    if changed.valid_from is not None and changed.valid_to is not None and changed.valid_to < changed.valid_from:
        raise InvalidField(f"{patch.path}.valid_end_time", "is before valid_start_time")
    decision.record(MemoryRecorded(Change.UPDATED, changed, patch.vectors, decision.request.actor, patch.reason))
    return changed


def delete(decision: Decision, memory_id: str, etag: str, reason: str) -> Memory:
    """Soft-delete: kept for `PURGE_AFTER`, out of every recall and list at once. Deleting twice changes nothing."""
    memory = _current(decision, memory_id, etag)
    if memory.state is State.DELETED:
        return memory
    deleted = replace(
        memory,
        state=State.DELETED,
        deleted_at=decision.now,
        purge_at=decision.now + PURGE_AFTER,
        updated_at=decision.now,
        version=memory.version + 1,
    )
    decision.record(MemoryRecorded(Change.DELETED, deleted, None, decision.request.actor, reason))
    return deleted


def undelete(decision: Decision, memory_id: str) -> Memory:
    """Bring a soft-deleted memory back. One that is not deleted stays as it is. Raises NotFound."""
    memory = _current(decision, memory_id, "")
    if memory.state is not State.DELETED:
        return memory
    restored = replace(
        memory,
        state=State.ACTIVE,
        deleted_at=None,
        purge_at=None,
        updated_at=decision.now,
        version=memory.version + 1,
    )
    decision.record(MemoryRecorded(Change.UNDELETED, restored, None, decision.request.actor))
    return restored


def purge(decision: Decision, memory_id: str, etag: str, reason: str) -> None:
    """Remove a memory for good. Raises NotFound, EtagMismatch."""
    _current(decision, memory_id, etag)
    decision.record(MemoryPurged(memory_id, decision.request.actor, reason))


def etag_of(memory: Memory) -> str:
    return str(memory.version)


def _current(decision: Decision, memory_id: str, etag: str) -> Memory:
    memory = decision.view.memory(memory_id)
    if memory is None:
        raise NotFound(decision.name(memory_id))
    if etag and etag != etag_of(memory):
        raise EtagMismatch(decision.name(memory_id), etag_of(memory))
    return memory


def _merge(decision: Decision, known: Memory, draft: Draft, vectors: Vectors | None) -> Outcome:
    body = known.body
    if isinstance(body, Entity) and isinstance(draft.body, Entity):
        body = _merge_entities(body, draft.body)
    due = not decision.view.has_vectors(known.id)
    fresh = adds_evidence(known.provenance, draft.source)
    labels = {**known.labels, **draft.labels}
    importance = max(known.importance, draft.importance)
    confidence = max(known.confidence, draft.confidence)
    changed = (body, labels, importance, confidence) != (
        known.body,
        dict(known.labels),
        known.importance,
        known.confidence,
    )
    if not fresh and not changed:
        return Outcome(Action.DUPLICATE, known, "the same content from the same source is stored already", due)
    provenance = known.provenance
    if fresh and draft.source is not None:
        provenance = (*provenance, draft.source)
        if len(provenance) > MAX_PROVENANCE:
            half = MAX_PROVENANCE // 2
            provenance = (*provenance[:half], *provenance[-half:])
    merged = replace(
        known,
        body=body,
        updated_at=decision.now,
        version=known.version + 1,
        provenance=provenance,
        labels=labels,
        importance=importance,
        confidence=confidence,
        valid_from=_widest(min, known.valid_from, draft.valid_from),
        valid_to=_widest(max, known.valid_to, draft.valid_to),
        digest=digest_of(body, known.scope.agent),
    )
    new_vectors = vectors if merged.text != known.text or due else None
    decision.record(
        MemoryRecorded(
            Change.MERGED, merged, new_vectors, decision.request.actor, "the same content from another source"
        )
    )
    return Outcome(
        Action.MERGED, merged, "the same content was stored already; this source was added", due and new_vectors is None
    )


def _merge_entities(known: Entity, other: Entity) -> Entity:
    names = dict.fromkeys((*known.aliases, *other.aliases))
    if other.display_name != known.display_name:
        names[other.display_name] = None
    names.pop(known.display_name, None)
    return replace(
        known,
        type=other.type or known.type,
        aliases=tuple(names)[:MAX_ALIASES],
        summary=other.summary or known.summary,
        discovered=known.discovered and other.discovered,
    )


def _widest(pick: Callable[[int, int], int], known: int | None, other: int | None) -> int | None:
    """Merging keeps all dates: the interval grows; an open end stays open."""
    return None if known is None or other is None else pick(known, other)


def _entity_for(decision: Decision, mention: Mention) -> str | None:
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


def _check_references(
    decision: Decision, body: Body, mentions: tuple[str, ...], source: Provenance | None, path: str
) -> None:
    entities: list[tuple[str, str]] = [(f"{path}.mentions[{i}]", m) for i, m in enumerate(mentions)]
    match body:
        case Fact(subject=subject, object_entity=target):
            entities += [(f"{path}.fact.subject", subject), (f"{path}.fact.entity", target)]
        case Preference(subject=subject):
            entities.append((f"{path}.preference.subject", subject))
        case Episode(participants=participants):
            entities += [(f"{path}.episode.participants[{i}]", p) for i, p in enumerate(participants)]
        case _:
            pass
    for where, entity_id in entities:
        if entity_id:
            entity = decision.view.memory(entity_id)
            if entity is None or entity.state is State.DELETED:
                raise InvalidField(where, f"{decision.name(entity_id)} does not exist")
            if not isinstance(entity.body, Entity):
                raise InvalidField(where, f"{decision.name(entity_id)} is not an entity")
    for i, memory_id in enumerate(source.derived_from if source else ()):
        if decision.view.memory(memory_id) is None:
            raise InvalidField(f"{path}.provenance.derived_memories[{i}]", f"{decision.name(memory_id)} does not exist")


def patched_body(memory: Memory, changes: Mapping[str, object]) -> Body:
    """The body that a memory will have after the changes, to be searched for names and embedded beforehand."""
    names = {f.name for f in fields(memory.body)}
    return replace(memory.body, **{k: v for k, v in changes.items() if k in names})  # type: ignore[arg-type]
