"""The rules of writing: (what is, what comes in, now, ids) -> events. Pure; the ledger makes the events true.

Everything an event needs, ids and times included, is decided here, so that applying it anywhere gives the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import islice

from memsidecar.domain.decision import Decision, current
from memsidecar.domain.draft import Action, Draft, Outcome, Patch
from memsidecar.domain.errors import AlreadyExists, InvalidField
from memsidecar.domain.events import NO_VECTORS, Change, MemoryRecorded, Vectors, VectorsRecorded
from memsidecar.domain.identity import digest_of
from memsidecar.domain.indexed_text import embedded_text
from memsidecar.domain.limits import MAX_LABELS, MAX_REPEATED
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Memory, Preference, Provenance, State
from memsidecar.domain.mentions import MAX_NAME, Mention
from memsidecar.domain.removal import UNNAMED, discovered, left_alone, soft_delete
from memsidecar.domain.scope import Scope
from memsidecar.domain.text import display_name, entity_key, normalise

# Sources kept on one memory; the oldest and the newest ones say most.
MAX_PROVENANCE = 64
# As many as a caller may give: merging must not lose what was accepted.
MAX_ALIASES = MAX_REPEATED


def remember(
    decision: Decision,
    draft: Draft,
    found: tuple[Mention, ...],
    vectors: Vectors | None,
    digest: bytes | None = None,
) -> Outcome:
    """Store a draft, or add its source to the memory that says the same already.

    `found` are the names in its text; `vectors` are its embedding, None while that is due; `digest` is the draft's, if
    the caller has it. Raises InvalidField when it refers to a memory that does not exist.
    """
    digest = digest or digest_of(draft.body, draft.agent)
    known = _same(decision, draft.body, digest)
    if known is not None:
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
    _check_references(decision, _references(draft.body, draft.mentions, draft.path), draft.source, draft.path)
    mentions = dict.fromkeys(draft.mentions)
    if not isinstance(draft.body, Entity):
        for mention in (*(Mention(name) for name in draft.entity_names), *found):
            if (entity_id := _entity_for(decision, mention)) is not None:
                mentions[entity_id] = None
    body = draft.body
    if isinstance(body, Episode) and draft.session:
        follows = decision.view.last_episode(draft.session) or ""
        if follows != body.follows:
            body = replace(body, follows=follows)
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


def update(
    decision: Decision,
    memory_id: str,
    patch: Patch,
    found: tuple[Mention, ...] | None,
    digest: bytes | None = None,
) -> Memory:
    """The next version of a memory. `found` are the names in the new text, None when the text stays; `digest` is the
    new body's, if the caller has it.

    Raises NotFound, EtagMismatch, InvalidField (also for a memory that is deleted: undelete it first).
    """
    memory = current(decision, memory_id, patch.etag)
    if memory.state is State.DELETED:
        raise InvalidField("memory.name", "is deleted; undelete it first")
    if patch.kind is not None and patch.kind is not memory.kind:
        kinds = (patch.kind.name.lower(), memory.kind.name.lower())
        raise InvalidField(f"{patch.path}.{kinds[0]}", f"the memory is of the kind {kinds[1]}, which never changes")
    on_memory = {f.name for f in fields(Memory)}
    body_changes = {k: v for k, v in patch.changes.items() if k not in on_memory}
    body: Body = replace(memory.body, **body_changes)  # type: ignore[arg-type]  # fields were checked by name
    if isinstance(body, Entity) and body_changes:
        body = replace(body, discovered=False)
    changes: dict[str, object] = {k: v for k, v in patch.changes.items() if k in on_memory}
    mentions: tuple[str, ...] = changes.get("mentions", memory.mentions)  # type: ignore[assignment]  # fields were checked by name
    # What it refers to already may be gone by now; that must not stand in the way of changing something else.
    before = {entity_id for _, entity_id in _references(memory.body, memory.mentions, "")}
    _check_references(
        decision, [ref for ref in _references(body, mentions, patch.path) if ref[1] not in before], None, patch.path
    )
    _check_validity(memory, changes, patch.path)
    # Nothing is refused from here on: what follows may record entities.
    if found is not None and not isinstance(body, Entity):
        named = [m for m in (_entity_for(decision, mention) for mention in found) if m is not None]
        # The old text's names go with it, unless the caller says what is mentioned.
        kept = mentions if "mentions" in changes else ()
        changes["mentions"] = tuple(dict.fromkeys((*kept, *named)))
    if body == memory.body:
        digest = memory.digest
    changed = replace(
        memory,
        body=body,
        updated_at=decision.now,
        version=memory.version + 1,
        digest=digest or digest_of(body, memory.scope.agent),
        **changes,  # type: ignore[arg-type]  # fields were checked by name
    )
    vectors = patch.vectors
    if vectors is None and embedded_text(body) != embedded_text(memory.body):
        vectors = NO_VECTORS
    decision.record(MemoryRecorded(Change.UPDATED, changed, vectors, decision.request.actor, patch.reason))
    for entity in left_alone(decision, memory.mentions):
        soft_delete(decision, entity, UNNAMED)
    return changed


def _same(decision: Decision, body: Body, digest: bytes) -> Memory | None:
    """The live memory that a draft says again."""
    view = decision.view
    found = view.by_digest(digest)
    if found is None and isinstance(body, Entity):
        found = view.entity(entity_key(body.display_name))
        if found is None:
            # A name found in a text is explained by whoever knows it as an alias; two entities that callers wrote may
            # share an alias and be two.
            named = (view.entity(entity_key(alias)) for alias in body.aliases)
            found = next((i for i in named if i is not None and discovered(view.memory(i))), None)
    return view.memory(found) if found is not None else None


def _merge(decision: Decision, known: Memory, draft: Draft, vectors: Vectors | None) -> Outcome:
    _check_references(decision, _references(draft.body, draft.mentions, draft.path), draft.source, draft.path)
    body = known.body
    if isinstance(body, Entity) and isinstance(draft.body, Entity):
        body = _merge_entities(body, draft.body)
    text = embedded_text(body)
    # Vectors of the draft's text serve when that is the merged text too. Two bodies of one digest share it; an entity
    # may have another one by now.
    same_text = not isinstance(body, Entity) or normalise(embedded_text(draft.body)) == normalise(text)
    fitting = vectors if same_text else None
    due = text != embedded_text(known.body) or not decision.view.has_vectors(known.id)
    new_vectors = fitting if due else None
    still_due = due and new_vectors is None
    merged = replace(
        known,
        body=body,
        provenance=_with_source(known.provenance, draft.source),
        labels=_merge_labels(known, draft),
        attributes=known.attributes or draft.attributes,
        mentions=_merge_mentions(decision, known, draft),
        importance=max(known.importance, draft.importance),
        confidence=max(known.confidence, draft.confidence),
        valid_from=_widest(min, known.valid_from, draft.valid_from),
        valid_to=_widest(max, known.valid_to, draft.valid_to),
        expires_at=_widest(max, known.expires_at, draft.expires_at),
        digest=known.digest if body == known.body and known.digest else digest_of(body, known.scope.agent),
    )
    if merged == known:
        if new_vectors is not None:
            decision.record(VectorsRecorded(known.id, new_vectors))
        return Outcome(Action.DUPLICATE, known, "the same content from the same source is stored already", still_due)
    merged = replace(merged, updated_at=decision.now, version=known.version + 1)
    reason = "the same content from another source"
    if new_vectors is None and text != embedded_text(known.body):
        new_vectors = NO_VECTORS
    decision.record(MemoryRecorded(Change.MERGED, merged, new_vectors, decision.request.actor, reason))
    return Outcome(Action.MERGED, merged, "the same content was stored already; this source was added", still_due)


def _with_source(known: tuple[Provenance, ...], source: Provenance | None) -> tuple[Provenance, ...]:
    """The sources with one that says something new: another session, message, document or moment."""
    if source is None or source in known:
        return known
    sources = (*known, source)
    half = MAX_PROVENANCE // 2
    return sources if len(sources) <= MAX_PROVENANCE else (*sources[:half], *sources[-half:])


def _merge_labels(known: Memory, draft: Draft) -> Mapping[str, str]:
    """The draft's values win; beyond the limit its new keys are left out, so that filters by the known ones hold."""
    return dict(islice({**known.labels, **draft.labels}.items(), max(MAX_LABELS, len(known.labels))))


def _merge_mentions(decision: Decision, known: Memory, draft: Draft) -> tuple[str, ...]:
    """What is mentioned with what the caller of the draft says is mentioned; the text's own names are known already."""
    if isinstance(known.body, Entity):
        named: list[str | None] = []
    else:
        named = [_entity_for(decision, Mention(name)) for name in draft.entity_names]
    mentions = dict.fromkeys((*known.mentions, *draft.mentions, *(entity for entity in named if entity is not None)))
    return tuple(mentions)[: max(MAX_REPEATED, len(known.mentions))]


def _merge_entities(known: Entity, other: Entity) -> Entity:
    # The spelling that a caller wrote is shown rather than the one that rules found.
    name = other.display_name if known.discovered and not other.discovered else known.display_name
    names = dict.fromkeys((*known.aliases, *other.aliases, known.display_name, other.display_name))
    names.pop(name, None)
    return replace(
        known,
        display_name=name,
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


def _check_validity(memory: Memory, changes: Mapping[str, object], path: str) -> None:
    start, end = changes.get("valid_from", memory.valid_from), changes.get("valid_to", memory.valid_to)
    if isinstance(start, int) and isinstance(end, int) and end < start:
        raise InvalidField(f"{path}.valid_end_time", "is before valid_start_time")


def _references(body: Body, mentions: tuple[str, ...], path: str) -> list[tuple[str, str]]:
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


def _check_references(
    decision: Decision, entities: Sequence[tuple[str, str]], source: Provenance | None, path: str
) -> None:
    for where, entity_id in entities:
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
    return replace(memory.body, **{k: v for k, v in changes.items() if k in names})  # type: ignore[arg-type]  # fields were checked by name
