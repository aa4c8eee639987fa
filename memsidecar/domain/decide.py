"""The rules of writing: (what is, what comes in, now, ids) -> events. Pure; the ledger makes the events true.

Everything an event needs, ids and times included, is decided here, so that applying it anywhere gives the same state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from memsidecar.domain.conflict import Policy
from memsidecar.domain.conflicts.closing import leave
from memsidecar.domain.conflicts.merging import echoed, lost_again, said_again
from memsidecar.domain.conflicts.peers import Neighbourhood
from memsidecar.domain.conflicts.rules import DEFAULT_RULES, ConflictRules
from memsidecar.domain.conflicts.settle import Challenge, Settled, neighbourhood, settle
from memsidecar.domain.decision import Decision, current
from memsidecar.domain.draft import Draft, Outcome, Patch
from memsidecar.domain.errors import AlreadyExists, InvalidField
from memsidecar.domain.events import NO_VECTORS, Change, MemoryRecorded, Vectors
from memsidecar.domain.identity import digest_of
from memsidecar.domain.indexed_text import embedded_text
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Memory, Preference, State
from memsidecar.domain.mentions import Mention
from memsidecar.domain.merging import merge_draft
from memsidecar.domain.references import check_references, entity_for, naming_successors, references, successor_of
from memsidecar.domain.removal import discovered, forget_names
from memsidecar.domain.scope import Scope
from memsidecar.domain.slots import slot_of
from memsidecar.domain.text import display_name, entity_key


def remember(
    decision: Decision,
    draft: Draft,
    found: tuple[Mention, ...],
    vectors: Vectors | None,
    digest: bytes | None = None,
    rules: ConflictRules = DEFAULT_RULES,
) -> Outcome:
    """Store a draft, or add its source to the memory that says the same already. What was read out of it is not looked
    at: `learned.learn` stores that.

    `found` are the names in its text; `vectors` are its embedding, None while that is due; `digest` is the draft's, if
    the caller has it. Raises InvalidField when it refers to a memory that does not exist, ConflictRejected.
    """
    challenge = Challenge(rules, draft.policy, draft.manner, draft.said_by)
    new = _drafted(decision, draft, "", digest)
    slot = neighbourhood(decision, new, challenge)
    known = _same(decision, new, slot)
    if known is None and slot is not None:
        known = echoed(new, slot, draft.manner)
    if known is not None:
        return merge_draft(decision, known, new, draft, vectors, challenge)
    new = replace(new, id=decision.new_id())
    settled = settle(decision, new, challenge, slot)
    if slot is not None and (known := lost_again(decision.view, settled.memory)) is not None:
        return merge_draft(decision, known, new, draft, vectors, challenge)
    settled = replace(settled, memory=_record_new(decision, draft, settled, found, vectors))
    return Outcome(
        settled.action,
        settled.memory,
        settled.explanation,
        vectors is None,
        settled.superseded,
        tuple(conflict.id for conflict in settled.conflicts),
    )


def create(
    decision: Decision,
    draft: Draft,
    found: tuple[Mention, ...],
    vectors: Vectors | None,
    memory_id: str,
    digest: bytes | None = None,
    rules: ConflictRules = DEFAULT_RULES,
) -> Memory:
    """Store a draft as a new memory under that id. `digest` is the draft's, when the caller has it.

    It may supersede, or be in conflict with, what is known, as `remember`. Raises AlreadyExists, InvalidField,
    ConflictRejected.
    """
    if decision.view.memory(memory_id) is not None:
        raise AlreadyExists(decision.name(memory_id))
    new = _drafted(decision, draft, memory_id, digest)
    settled = settle(decision, new, Challenge(rules, draft.policy, draft.manner, draft.said_by))
    return _record_new(decision, draft, settled, found, vectors)


def create_apart(
    decision: Decision, draft: Draft, found: tuple[Mention, ...], vectors: Vectors | None, memory_id: str
) -> Memory:
    """Store a draft as a new memory, whatever it contradicts: the caller says what becomes of that.

    Raises AlreadyExists, InvalidField.
    """
    if decision.view.memory(memory_id) is not None:
        raise AlreadyExists(decision.name(memory_id))
    return _record_new(decision, draft, Settled(_drafted(decision, draft, memory_id, None)), found, vectors)


def _drafted(decision: Decision, draft: Draft, memory_id: str, digest: bytes | None) -> Memory:
    """The memory that a draft would be alone. Raises InvalidField; else it may have recorded the one it is about."""
    check_references(decision, references(draft.body, draft.mentions, draft.path), draft.source, draft.path)
    body = naming_successors(decision.view, _about_named(decision, draft))
    if digest is None or body is not draft.body:
        digest = digest_of(body, draft.agent)
    if isinstance(body, Episode) and draft.session:
        follows = decision.view.last_episode(draft.session) or ""
        if follows != body.follows:
            body = replace(body, follows=follows)
    return Memory(
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
        mentions=tuple(dict.fromkeys(successor_of(decision.view, i) for i in draft.mentions)),
        digest=digest,
    )


def _about_named(decision: Decision, draft: Draft) -> Body:
    """The body about the entity that the draft names, which is recorded if nobody knows it: then nothing can be known
    of it, and nothing refuses the draft. A value that nobody knows stays a text until the draft is stored."""
    body = draft.body
    if draft.subject_named is not None and isinstance(body, (Fact, Preference)):
        body = replace(body, subject=entity_for(decision, draft.subject_named) or body.subject)
    if draft.object_named is not None and isinstance(body, Fact):
        known = decision.view.entity(entity_key(draft.object_named.name))
        named = display_name(draft.object_named.name)
        body = replace(body, object_entity=known or "", object_text="" if known else named)
    return body


def _record_new(
    decision: Decision, draft: Draft, settled: Settled, found: tuple[Mention, ...], vectors: Vectors | None
) -> Memory:
    memory = settled.memory
    body = memory.body
    if draft.object_named is not None and isinstance(body, Fact) and not body.object_entity:
        entity_id = entity_for(decision, draft.object_named)
        if entity_id is not None:
            body = replace(body, object_entity=entity_id, object_text="")
            memory = replace(memory, body=body, digest=digest_of(body, draft.agent))
    mentions = dict.fromkeys(memory.mentions)
    if not isinstance(body, Entity):
        for mention in (*(Mention(name) for name in draft.entity_names), *found):
            if (entity_id := entity_for(decision, mention)) is not None:
                mentions[entity_id] = None
    recorded = replace(memory, mentions=tuple(mentions))
    settled.record(decision, MemoryRecorded(Change.CREATED, recorded, vectors, decision.request.actor))
    return recorded


def update(
    decision: Decision,
    memory_id: str,
    patch: Patch,
    found: tuple[Mention, ...] | None,
    digest: bytes | None = None,
    rules: ConflictRules = DEFAULT_RULES,
    policy: Policy | None = None,
) -> Memory:
    """The next version of a memory. `found` are the names in the new text, None when the text stays; `digest` is the
    new body's, if the caller has it. What it says now may supersede, or be in conflict with, what is known.

    Raises NotFound, EtagMismatch, InvalidField (also for a memory that is deleted: undelete it first),
    ConflictRejected.
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
    before = {entity_id for _, entity_id in references(memory.body, memory.mentions, "")}
    check_references(
        decision, [ref for ref in references(body, mentions, patch.path) if ref[1] not in before], None, patch.path
    )
    _check_validity(memory, changes, patch.path)
    challenge = Challenge(rules, policy, said_at=decision.now)
    restated = _restated(memory, replace(memory, body=body, **_dates(changes)))
    if restated:
        # Refused before anything is recorded.
        settle(decision, replace(memory, body=body, state=State.ACTIVE, **_dates(changes)), challenge)
    # Nothing is refused from here on: what follows may record entities.
    if found is not None and not isinstance(body, Entity):
        named = [m for m in (entity_for(decision, mention) for mention in found) if m is not None]
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
    settled = Settled(changed)
    if restated:
        if memory.state is State.DISPUTED:
            leave(decision, memory_id, out=True)
            changed = replace(changed, state=State.ACTIVE)
        settled = settle(decision, changed, challenge)
        changed = settled.memory
    settled.record(decision, MemoryRecorded(Change.UPDATED, changed, vectors, decision.request.actor, patch.reason))
    forget_names(decision, memory.mentions)
    return changed


def _restated(known: Memory, changed: Memory) -> bool:
    """Whether it says something else of its slot, or of another time, and is not history."""
    if known.state is State.SUPERSEDED or slot_of(changed) is None:
        return known.state is State.DISPUTED and changed.body != known.body
    times = (known.valid_from, known.valid_to) != (changed.valid_from, changed.valid_to)
    return times or changed.body != known.body


def _dates(changes: Mapping[str, object]) -> dict[str, Any]:
    return {name: changes[name] for name in ("valid_from", "valid_to") if name in changes}


def _same(decision: Decision, new: Memory, slot: Neighbourhood | None) -> Memory | None:
    """The live memory that a draft says again."""
    view, body = decision.view, new.body
    if slot is not None:
        return said_again(new, slot)
    found = view.by_digest(new.digest)
    merged = view.memory(found) if found is not None else None
    if merged is not None and isinstance(body, Entity) and merged.state is State.SUPERSEDED:
        found = None  # it is another entity's by now
    if found is None and isinstance(body, Entity):
        found = view.entity(entity_key(body.display_name))
        if found is None:
            # A name found in a text is explained by whoever knows it as an alias; two entities that callers wrote may
            # share an alias and be two.
            named = (view.entity(entity_key(alias)) for alias in body.aliases)
            found = next((i for i in named if i is not None and discovered(view.memory(i))), None)
    return view.memory(found) if found is not None else None


def _check_validity(memory: Memory, changes: Mapping[str, object], path: str) -> None:
    start, end = changes.get("valid_from", memory.valid_from), changes.get("valid_to", memory.valid_to)
    if isinstance(start, int) and isinstance(end, int) and end < start:
        raise InvalidField(f"{path}.valid_end_time", "is before valid_start_time")


def patched_body(memory: Memory, changes: Mapping[str, object]) -> Body:
    """The body that a memory will have after the changes, to be searched for names and embedded beforehand."""
    names = {f.name for f in fields(memory.body)}
    return replace(memory.body, **{k: v for k, v in changes.items() if k in names})  # type: ignore[arg-type]  # fields were checked by name
