"""Conflicts, slots and neighbours between values and protobuf."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from memsidecar_client._enums import ConflictPolicy, ConflictResolution, ConflictRule, ConflictState
from memsidecar_client._knowledge_values import (
    ConflictEvidence,
    MemoryConflict,
    MergedEntities,
    Neighbor,
    PartedEntities,
    Settled,
    SlotValue,
)
from memsidecar_client._memory_mapping import memory_from_proto, memory_to_proto, scope_from_proto
from memsidecar_client._memory_values import Body, Memory
from memsidecar_client._times import from_timestamp, to_timestamp
from memsidecar_client.v1 import conflict_pb2, knowledge_service_pb2, memory_pb2

Interval = tuple[datetime | None, datetime | None]


def conflict_from_proto(message: conflict_pb2.Conflict) -> MemoryConflict:
    return MemoryConflict(
        name=message.name,
        scope=scope_from_proto(message.scope),
        state=ConflictState(message.state),
        rule=ConflictRule(message.rule),
        attribute=message.slot.attribute,
        memories=tuple(message.memories),
        subject=message.slot.subject,
        policy=ConflictPolicy(message.policy),
        resolution=ConflictResolution(message.resolution),
        winner=message.winner,
        losers=tuple(message.losers),
        explanation=message.explanation,
        question=message.question,
        question_language=message.question_language,
        severity=message.severity,
        evidence=tuple(ConflictEvidence(each.memory, each.source, each.quote) for each in message.evidence),
        create_time=from_timestamp(message.create_time) if message.HasField("create_time") else None,
        update_time=from_timestamp(message.update_time) if message.HasField("update_time") else None,
        resolve_time=from_timestamp(message.resolve_time) if message.HasField("resolve_time") else None,
        resolved_by=message.resolved_by,
        reason=message.reason,
        etag=message.etag,
    )


def resolution_to_proto(
    name: str,
    keep: str,
    replacement: Memory | Body | None,
    split: Mapping[str, Interval] | None,
    dismiss: bool,
    answer: str,
) -> knowledge_service_pb2.ResolveConflictRequest:
    """Raises ValueError unless one way to resolve is given."""
    given = (bool(keep), replacement is not None, split is not None, dismiss, bool(answer))
    if sum(given) != 1:
        raise ValueError("resolve_conflict takes one of keep, replacement, split, dismiss and answer")
    request = knowledge_service_pb2.ResolveConflictRequest(name=name)
    if keep:
        request.keep_memory = keep
    elif replacement is not None:
        request.replacement.CopyFrom(memory_to_proto(replacement))
    elif split is not None:
        request.temporal_split.SetInParent()
        for memory, (start, end) in split.items():
            interval = memory_pb2.TimeInterval(start_time=to_timestamp(start), end_time=to_timestamp(end))
            request.temporal_split.parts.add(memory=memory, interval=interval)
    elif dismiss:
        request.dismissal.SetInParent()
    else:
        request.answer = answer
    return request


def settled_from_proto(
    message: knowledge_service_pb2.ResolveConflictResponse | knowledge_service_pb2.UndoResolutionResponse,
) -> Settled:
    memories = tuple(memory_from_proto(memory) for memory in message.memories)
    return Settled(conflict_from_proto(message.conflict), memories, message.revision.token)


def slot_value_from_proto(message: knowledge_service_pb2.SlotValue) -> SlotValue:
    return SlotValue(memory_from_proto(message.memory), message.ended_by)


def neighbor_from_proto(message: knowledge_service_pb2.Neighbor) -> Neighbor:
    return Neighbor(
        memory_from_proto(message.memory), message.depth, message.from_memory, message.relation, message.to_memory
    )


def merged_from_proto(message: knowledge_service_pb2.MergeEntitiesResponse) -> MergedEntities:
    return MergedEntities(
        memory_from_proto(message.entity), message.moved_memories, tuple(message.conflicts), message.revision.token
    )


def parted_from_proto(message: knowledge_service_pb2.UndoMergeEntitiesResponse) -> PartedEntities:
    entities = tuple(memory_from_proto(entity) for entity in message.entities)
    return PartedEntities(entities, message.moved_memories, message.revision.token)
