"""Memories as the outside sees them.

Messages are filled in place: built apart and then put into their parent they would be copied once for each level.
"""

from __future__ import annotations

from collections.abc import Callable

from memsidecar.domain.decision import etag_of
from memsidecar.domain.events import Entry, MemoryPurged, MemoryRecorded
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Memory, Preference, Procedure, Provenance
from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.usage import NO_USAGE, Usage
from memsidecar.server.mapping.names import name_of, names_of
from memsidecar.server.mapping.values import set_struct, set_time, set_value
from memsidecar.v1 import memory_pb2 as pb
from memsidecar.v1 import scope_pb2

UsageOf = Callable[[Partition, str], Usage]
"""How a memory of a partition, by its id, is used."""


def set_memory(target: pb.Memory, memory: Memory, now: int, usage: Usage = NO_USAGE) -> None:
    """Fill an empty message. `now` decides whether the memory has expired. A state of the past has no usage."""
    partition = memory.scope.partition
    target.name = name_of(partition, "memories", memory.id)
    set_scope(target.scope, memory.scope)
    target.state = pb.MemoryState.ValueType(memory.state_at(now))
    _set_body(target, memory.body, partition)
    set_time(target.create_time, memory.created_at)
    set_time(target.update_time, memory.updated_at)
    if memory.valid_from is not None:
        set_time(target.valid_start_time, memory.valid_from)
    if memory.valid_to is not None:
        set_time(target.valid_end_time, memory.valid_to)
    if memory.superseded_at is not None:
        set_time(target.supersede_time, memory.superseded_at)
    if memory.deleted_at is not None:
        set_time(target.delete_time, memory.deleted_at)
    if memory.purge_at is not None:
        set_time(target.purge_time, memory.purge_at)
    if memory.expires_at is not None:
        set_time(target.expire_time, memory.expires_at)
    target.confidence = memory.confidence
    target.importance = memory.importance
    for source in memory.provenance:
        _set_provenance(target.provenance.add(), source, partition)
    for key, value in memory.labels.items():
        target.labels[key] = value
    if memory.attributes:
        set_struct(target.attributes, memory.attributes)
    if memory.mentions:
        target.mentions.extend(names_of(partition, memory.mentions))
    target.etag = etag_of(memory)
    set_usage(target, usage)


def set_usage(target: pb.Memory, usage: Usage) -> None:
    if usage.access_count:
        target.access_count = usage.access_count
    if usage.last_access is not None:
        set_time(target.last_access_time, usage.last_access)
    if usage.usefulness:
        target.usefulness = usage.usefulness


def set_scope(target: scope_pb2.Scope, scope: Scope) -> None:
    target.namespace = scope.namespace
    if scope.user:
        target.user = scope.user
    if scope.agent:
        target.agent = scope.agent
    if scope.session:
        target.session = scope.session


def set_revision(target: pb.MemoryRevision, entry: Entry, now: int) -> None:
    """A ledger entry as a state of its memory's history. The snapshot is unset when it has been erased."""
    target.name = f"{name_of(entry.partition, 'memories', entry.subject)}/revisions/{entry.revision}"
    set_time(target.create_time, entry.recorded_at)
    match entry.event:
        case MemoryRecorded(change=change, memory=memory, actor=actor, reason=reason):
            target.change = pb.MemoryChange.Value(f"MEMORY_CHANGE_{change.name}")
            set_memory(target.snapshot, memory, now)
            target.actor, target.reason = actor, reason
        case MemoryPurged(actor=actor, reason=reason):
            target.change = pb.MEMORY_CHANGE_PURGED
            target.actor, target.reason = actor, reason
        case _:
            target.change = pb.MEMORY_CHANGE_ERASED


def _set_body(target: pb.Memory, body: Body, partition: Partition) -> None:
    match body:
        case Episode():
            _set_episode(target.episode, body, partition)
        case Fact():
            _set_fact(target.fact, body, partition)
        case Preference():
            preference = target.preference
            preference.statement, preference.topic, preference.value = body.statement, body.topic, body.value
            preference.polarity = body.polarity
            preference.subject = name_of(partition, "memories", body.subject)
        case Entity():
            entity = target.entity
            entity.display_name, entity.type, entity.summary = body.display_name, body.type, body.summary
            entity.aliases.extend(body.aliases)
            entity.discovered = body.discovered
        case Procedure():
            procedure = target.procedure
            procedure.statement, procedure.title = body.statement, body.title
            procedure.steps.extend(body.steps)


def _set_fact(target: pb.Fact, body: Fact, partition: Partition) -> None:
    target.statement, target.predicate = body.statement, body.predicate
    target.subject = name_of(partition, "memories", body.subject)
    if body.object_entity:
        target.entity = name_of(partition, "memories", body.object_entity)
    elif body.object_value:
        set_value(target.value, body.object_value)
    elif body.object_text:
        target.text = body.object_text
    if body.negated:
        target.negated = True


def _set_episode(target: pb.Episode, body: Episode, partition: Partition) -> None:
    target.text = body.text
    # Here and below: setting a field to what it is anyway costs as much as setting it to something else.
    if body.title:
        target.title = body.title
    if body.speaker:
        target.speaker = body.speaker
    if body.start_time is not None:
        set_time(target.start_time, body.start_time)
    if body.end_time is not None:
        set_time(target.end_time, body.end_time)
    if body.participants:
        target.participants.extend(names_of(partition, body.participants))
    if body.outcome:
        target.outcome = pb.EpisodeOutcome.ValueType(body.outcome)
    if body.decisions:
        target.decisions.extend(body.decisions)
    if body.lessons:
        target.lessons.extend(body.lessons)
    if body.follows:
        target.follows = name_of(partition, "memories", body.follows)


def _set_provenance(target: pb.Provenance, source: Provenance, partition: Partition) -> None:
    if source.session:
        target.session = source.session
    if source.agent:
        target.agent = source.agent
    if source.speaker:
        target.speaker = source.speaker
    if source.extractor:
        target.extractor = source.extractor
    if source.document:
        target.document = source.document
    if source.messages:
        target.messages.extend(source.messages)
    if source.derived_from:
        target.derived_memories.extend(names_of(partition, source.derived_from))
    if source.time is not None:
        set_time(target.time, source.time)
    if source.end:
        target.span_start, target.span_end = source.start, source.end
