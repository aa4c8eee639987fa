"""Conflicts as the outside sees them: their words are made from their memories whenever they are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memsidecar.domain import limits
from memsidecar.domain.conflict import Conflict, ConflictState, Evidence
from memsidecar.domain.conflicts.shown import Shown
from memsidecar.domain.conflicts.wording import explanation, question
from memsidecar.domain.decision import etag_of
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition, Scope
from memsidecar.domain.view import IDENTITY
from memsidecar.server.mapping.memory_out import UsageOf, set_memory, set_scope
from memsidecar.server.mapping.names import name_of, names_of
from memsidecar.server.mapping.values import set_time
from memsidecar.v1 import conflict_pb2 as pb
from memsidecar.v1 import memory_pb2

# Of a conflict that many memories take part in the newest ones are quoted.
_MOST_EVIDENCE = 128
# Room in an answer for memories of which only the name is told, and for what is no memory.
_RESERVE = 512 * 1024
_LAST_RESERVE = 16 * 1024


def set_conflict(target: pb.Conflict, shown: Shown, partition: Partition) -> None:
    """Fill an empty message."""
    conflict, memories = shown.conflict, shown.memories
    target.name = name_of(partition, "conflicts", conflict.id)
    set_scope(target.scope, _scope(partition, shown.sides))
    target.state = pb.ConflictState.ValueType(conflict.state)
    target.rule = pb.ConflictRule.ValueType(conflict.rule)
    target.policy = pb.ConflictPolicy.ValueType(conflict.policy)
    target.resolution = pb.ConflictResolution.ValueType(conflict.resolution)
    target.slot.subject = name_of(partition, "memories", conflict.subject)
    target.slot.attribute = conflict.attribute
    target.memories.extend(names_of(partition, conflict.memories))
    target.winner = name_of(partition, "memories", conflict.winner)
    target.losers.extend(names_of(partition, conflict.losers))
    target.explanation = explanation(conflict, memories)
    if conflict.state is ConflictState.OPEN:
        target.question, target.question_language = question(conflict, memories)
    target.severity = conflict.severity
    for evidence in conflict.evidence[-_MOST_EVIDENCE:] if conflict.attribute != IDENTITY else ():
        target.evidence.add(
            memory=name_of(partition, "memories", evidence.memory_id),
            source=name_of(partition, "memories", evidence.source_id),
            quote=_quote(evidence, memories.get(evidence.source_id)),
        )
    set_time(target.create_time, conflict.created_at)
    set_time(target.update_time, conflict.updated_at)
    if conflict.resolved_at is not None:
        set_time(target.resolve_time, conflict.resolved_at)
    target.resolved_by, target.reason = conflict.resolved_by, conflict.reason
    target.etag = conflict_etag(conflict)


def conflict_etag(conflict: Conflict) -> str:
    return str(conflict.version)


def set_memories(target: Any, memories: Iterable[Memory], now: int, usage_of: UsageOf, taken: int = 0) -> None:
    """Fill a repeated field of an answer that has so many bytes already. Of those that it has no room for only the name
    and the etag are told, and of many thousands the last are left out."""
    room = limits.MAX_MESSAGE_BYTES - _LAST_RESERVE - taken
    for memory in memories:
        if room <= 0:
            return
        added: memory_pb2.Memory = target.add()
        set_memory(added, memory, now, usage_of(memory.scope.partition, memory.id))
        size = added.ByteSize() + 8
        if size > room - _RESERVE:
            added.Clear()
            added.name = name_of(memory.scope.partition, "memories", memory.id)
            added.etag = etag_of(memory)
            size = added.ByteSize() + 8
        room -= size


def _scope(partition: Partition, memories: Sequence[Memory]) -> Scope:
    """The partition, with the agent and the session that all of the memories share."""
    agents = {memory.scope.agent for memory in memories}
    sessions = {memory.scope.session for memory in memories}
    agent = agents.pop() if len(agents) == 1 else ""
    session = sessions.pop() if len(sessions) == 1 else ""
    return Scope(partition.namespace, partition.user, agent, session)


def _quote(evidence: Evidence, source: Memory | None) -> str:
    """The words of the source; all of it where the evidence names none."""
    if source is None:
        return ""
    text = source.text[evidence.start : evidence.end] if evidence.end else source.text
    return text if len(text) <= limits.MAX_QUOTE else text[: limits.MAX_QUOTE - 1] + "…"
