"""The rules of taking away: delete, undelete, purge, and what goes along. Pure, as decide.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memsidecar.domain.conflicts.chain import never_true
from memsidecar.domain.conflicts.closing import forget, leave
from memsidecar.domain.conflicts.opening import open_conflicts_of
from memsidecar.domain.conflicts.policies import source_of
from memsidecar.domain.conflicts.rules import DEFAULT_RULES, ConflictRules
from memsidecar.domain.conflicts.settle import Challenge, Settled, settle
from memsidecar.domain.decision import Decision, current
from memsidecar.domain.events import Change, MemoryPurged, MemoryRecorded
from memsidecar.domain.memory import Entity, Memory, State
from memsidecar.domain.reading import sources_of

# Soft-deleted memories are purged this long after deletion (microseconds): 30 days, as in AIP-164's examples.
PURGE_AFTER = 30 * 24 * 3600 * 1_000_000
UNNAMED = "no memory names it any more"
UNSAID = "no memory that says it is left"


def delete(decision: Decision, memory_id: str, etag: str, reason: str) -> Memory:
    """Soft-delete: kept for `PURGE_AFTER`, out of every recall and list at once, with what was read from it alone.
    Deleting twice changes nothing."""
    memory = current(decision, memory_id, etag)
    if memory.state is State.DELETED:
        return memory
    deleted = soft_delete(decision, memory, reason)
    leave(decision, memory_id)
    mentions = [*memory.mentions]
    for reading in _unsaid(decision, decision.view.read_from(memory_id)):
        if reading.state is not State.DELETED:
            soft_delete(decision, reading, UNSAID)
            leave(decision, reading.id)
            mentions += reading.mentions
    forget_names(decision, mentions)
    return deleted


def undelete(decision: Decision, memory_id: str, rules: ConflictRules = DEFAULT_RULES) -> Memory:
    """Bring a soft-deleted memory back, with what went along. One that is not deleted stays as it is. Raises NotFound,
    ConflictRejected.

    It meets what has become known of its slot meanwhile as if it were written now: it may be history by now.

    When the same content was stored again meanwhile, both are live: the caller asked for this one by name, and neither
    may take the other's history away. What is said next adds to the older one (`PartitionView.by_digest`).
    """
    memory = current(decision, memory_id, "")
    if memory.state is not State.DELETED:
        return memory
    restored = _restore(decision, memory, rules)
    along = _memories(decision, decision.view.read_from(memory_id))
    readings = [reading for reading in along if _went(decision, reading, memory)]
    for reading in readings:
        _restore(decision, reading, rules)
    _restore_names(decision, (memory, *readings), rules)
    return restored


def restore_reading(decision: Decision, reading: Memory, rules: ConflictRules = DEFAULT_RULES) -> None:
    """Bring back what was read from a text and went when that changed: it says it again."""
    _restore(decision, reading, rules)
    _restore_names(decision, (reading,), rules)


def let_go(decision: Decision, memory_id: str, *, by_itself: bool) -> None:
    """A text does not say any more what was read from it. `by_itself`: nothing else has said it; then it is deleted.
    Otherwise it goes as if with the last of its other sources, if all of those are gone."""
    memory = decision.view.memory(memory_id)
    if memory is None or memory.state is State.DELETED:
        return
    if by_itself:
        soft_delete(decision, memory, UNSAID)
        leave(decision, memory_id)
    elif _has_lost_all(decision, memory) and (left := _memories(decision, sources_of(memory))):
        _go_with(decision, memory, memory, max(left, key=lambda each: each.deleted_at or 0))


def forget_names(decision: Decision, entity_ids: Iterable[str]) -> None:
    """Soft-delete those of the entities that `left_alone` finds."""
    for entity in left_alone(decision, entity_ids):
        soft_delete(decision, entity, UNNAMED)


def purge(decision: Decision, memory_id: str, etag: str, reason: str) -> None:
    """Remove a memory for good, and with it what was read from it alone and the names that only they held. Raises
    NotFound, EtagMismatch."""
    memory = current(decision, memory_id, etag)
    readings = tuple(decision.view.read_from(memory_id))
    decision.record(MemoryPurged(memory_id, decision.request.actor, reason))
    forget(decision, memory_id)
    mentions = [*memory.mentions]
    for reading in _unsaid(decision, readings):
        mentions += reading.mentions
        if left := _memories(decision, sources_of(reading)):
            _go_with(decision, reading, memory, max(left, key=lambda each: each.deleted_at or 0))
            continue
        decision.record(MemoryPurged(reading.id, decision.request.actor, UNSAID))
        forget(decision, reading.id)
    for entity in _memories(decision, mentions):
        if discovered(entity) and not any(decision.view.naming(entity.id)):
            decision.record(MemoryPurged(entity.id, decision.request.actor, UNNAMED))
    # Those that only deleted memories name come back with them.
    forget_names(decision, mentions)


def soft_delete(decision: Decision, memory: Memory, reason: str) -> Memory:
    """Mark a live memory as deleted, it alone."""
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


def _restore(decision: Decision, memory: Memory, rules: ConflictRules) -> Memory:
    restored = replace(
        memory,
        state=State.ACTIVE if memory.superseded_at is None else State.SUPERSEDED,
        deleted_at=None,
        purge_at=None,
        updated_at=decision.now,
        version=memory.version + 1,
    )
    settled = Settled(restored)
    if any(open_conflicts_of(decision.view, memory.id)):
        settled = Settled(replace(restored, state=State.DISPUTED))
    elif restored.state is State.ACTIVE or not never_true(restored):
        settled = settle(decision, restored, Challenge(rules, said_by=source_of(memory)))
    settled.record(decision, MemoryRecorded(Change.UNDELETED, settled.memory, None, decision.request.actor))
    return settled.memory


def _restore_names(decision: Decision, memories: Iterable[Memory], rules: ConflictRules) -> None:
    for entity in _memories(decision, (i for each in memories for i in each.mentions)):
        if entity.state is State.DELETED and discovered(entity):
            _restore(decision, entity, rules)


def _unsaid(decision: Decision, readings: Iterable[str]) -> list[Memory]:
    """Those of the facts and preferences of which every source is a memory that is gone."""
    return [reading for reading in _memories(decision, readings) if _has_lost_all(decision, reading)]


def _has_lost_all(decision: Decision, reading: Memory) -> bool:
    if not all(source.derived_from for source in reading.provenance):
        return False
    sources = map(decision.view.memory, sources_of(reading))
    return all(source is None or source.state is State.DELETED for source in sources)


def _go_with(decision: Decision, reading: Memory, purged: Memory, source: Memory) -> None:
    """Delete what a purged memory said, and a soft-deleted one says, too, as if with that: it comes back, and is
    purged, with it. What was deleted by itself stays so."""
    if reading.state is not State.DELETED:
        leave(decision, reading.id)
    elif reading.deleted_at != purged.deleted_at:
        return
    gone = replace(
        reading,
        state=State.DELETED,
        deleted_at=source.deleted_at,
        purge_at=source.purge_at,
        updated_at=decision.now,
        version=reading.version + 1,
    )
    decision.record(MemoryRecorded(Change.DELETED, gone, None, decision.request.actor, UNSAID))


def _went(decision: Decision, reading: Memory, source: Memory) -> bool:
    """Whether it was deleted with one of its sources, not by itself."""
    sources = (source, *_memories(decision, sources_of(reading)))
    return reading.state is State.DELETED and any(each.deleted_at == reading.deleted_at for each in sources)


def _memories(decision: Decision, ids: Iterable[str]) -> list[Memory]:
    """Those that there are, in the order of their ids, each once."""
    found = map(decision.view.memory, sorted(set(ids)))
    return [memory for memory in found if memory is not None]


def discovered(memory: Memory | None) -> bool:
    """Whether it is an entity that was found in a text, not written by a caller."""
    return memory is not None and isinstance(memory.body, Entity) and memory.body.discovered


def left_alone(decision: Decision, entity_ids: Iterable[str]) -> list[Memory]:
    """Those of the entities that were only found in texts, and that no live memory names any more."""
    alone = []
    for entity in map(decision.view.memory, entity_ids):
        if entity is None or entity.state is State.DELETED or not discovered(entity):
            continue
        naming = map(decision.view.memory, decision.view.naming(entity.id))
        if all(memory is None or memory.state is State.DELETED for memory in naming):
            alone.append(entity)
    return alone
