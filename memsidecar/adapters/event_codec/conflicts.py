"""Conflicts as messages and back. A value that no release of this format has written raises ValueError."""

from __future__ import annotations

from typing import Any

from memsidecar.domain.conflict import Before, Conflict, ConflictState, Evidence, Policy, Resolution, Rule
from memsidecar.domain.memory import State
from memsidecar.ledger.v1 import event_pb2


def conflict_fields(conflict: Conflict) -> dict[str, Any]:
    """The fields of ledger.v1.Conflict."""
    return {
        "id": conflict.id,
        "subject": conflict.subject,
        "attribute": conflict.attribute,
        "rule": conflict.rule,
        "memories": conflict.memories,
        "created_at": conflict.created_at,
        "updated_at": conflict.updated_at,
        "policy": conflict.policy,
        "state": conflict.state,
        "resolution": conflict.resolution,
        "winner": conflict.winner,
        "losers": conflict.losers,
        "resolved_at": conflict.resolved_at,
        "resolved_by": conflict.resolved_by,
        "reason": conflict.reason,
        "severity": conflict.severity,
        "evidence": [
            {"memory_id": e.memory_id, "source_id": e.source_id, "start": e.start, "end": e.end}
            for e in conflict.evidence
        ],
        "before": [
            {
                "memory_id": b.memory_id,
                "state": b.state,
                "updated_at": b.updated_at,
                "valid_from": b.valid_from,
                "valid_to": b.valid_to,
                "superseded_at": b.superseded_at,
            }
            for b in conflict.before
        ],
        "version": conflict.version,
        "opened": conflict.opened,
    }


def conflict_from(message: event_pb2.Conflict) -> Conflict:
    return Conflict(
        id=message.id,
        subject=message.subject,
        attribute=message.attribute,
        rule=Rule(message.rule),
        memories=tuple(message.memories),
        created_at=message.created_at,
        updated_at=message.updated_at,
        policy=Policy(message.policy),
        state=ConflictState(message.state),
        resolution=Resolution(message.resolution),
        winner=message.winner,
        losers=tuple(message.losers),
        resolved_at=message.resolved_at if message.HasField("resolved_at") else None,
        resolved_by=message.resolved_by,
        reason=message.reason,
        severity=message.severity,
        evidence=tuple(Evidence(e.memory_id, e.source_id, e.start, e.end) for e in message.evidence),
        before=tuple(_before(b) for b in message.before),
        version=message.version,
        opened=message.opened,
    )


def _before(message: event_pb2.Before) -> Before:
    has = message.HasField
    return Before(
        message.memory_id,
        State(message.state),
        message.updated_at,
        message.valid_from if has("valid_from") else None,
        message.valid_to if has("valid_to") else None,
        message.superseded_at if has("superseded_at") else None,
    )
