"""Messages as domain values. A value that no release of this format has written raises ValueError."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from memsidecar.adapters.event_codec.conflicts import conflict_from
from memsidecar.domain.events import (
    Change,
    ConflictRecorded,
    Event,
    FeedbackGiven,
    MemoryPurged,
    MemoryRecorded,
    Vectors,
    VectorsRecorded,
)
from memsidecar.domain.feedback import Feedback, Verdict
from memsidecar.domain.memory import (
    Body,
    Entity,
    Episode,
    Fact,
    Memory,
    Outcome,
    Preference,
    Procedure,
    Provenance,
    State,
)
from memsidecar.domain.scope import Partition, Scope
from memsidecar.ledger.v1 import event_pb2
from memsidecar.ports.ledger import VectorRef

# A lookup costs a third of calling the enum.
_CHANGES: dict[int, Change] = {change.value: change for change in Change}
_STATES: dict[int, State] = {state.value: state for state in State}
_VERDICTS: dict[int, Verdict] = {verdict.value: verdict for verdict in Verdict}
_OUTCOMES: dict[int, Outcome] = {outcome.value: outcome for outcome in Outcome}
_NO_LABELS: MappingProxyType[str, str] = MappingProxyType({})


def event_from(message: event_pb2.Event, partition: Partition) -> Event:
    """The event without its vectors: None in a MemoryRecorded, no rows in a VectorsRecorded."""
    match message.WhichOneof("event"):
        case "memory_recorded":
            recorded = message.memory_recorded
            change = _CHANGES.get(recorded.change)
            if change is None:
                raise ValueError(f"unknown change {recorded.change}")
            memory = memory_from(recorded.memory, partition)
            return MemoryRecorded(change, memory, None, recorded.actor, recorded.reason)
        case "vectors_recorded":
            ref = message.vectors_recorded.vectors
            none = Vectors(ref.model, np.empty((0, ref.dimensions), dtype=np.float32))
            return VectorsRecorded(message.vectors_recorded.memory_id, none)
        case "memory_purged":
            purged = message.memory_purged
            return MemoryPurged(purged.memory_id, purged.actor, purged.reason)
        case "feedback_given":
            given = message.feedback_given
            verdict = _VERDICTS.get(given.verdict)
            if verdict is None:
                raise ValueError(f"unknown verdict {given.verdict}")
            counts = Feedback(given.used, given.ignored, given.wrong)
            return FeedbackGiven(given.memory_id, verdict, counts, given.actor)
        case "conflict_recorded":
            opened = message.conflict_recorded
            return ConflictRecorded(conflict_from(opened.conflict), opened.actor, opened.reason)
        case _:
            raise ValueError("an event of no known type")


def vector_ref_from(message: event_pb2.Event) -> VectorRef | None:
    """What the event says about the vectors that it brought."""
    match message.WhichOneof("event"):
        case "memory_recorded" if message.memory_recorded.HasField("vectors"):
            ref = message.memory_recorded.vectors
        case "vectors_recorded":
            ref = message.vectors_recorded.vectors
        case _:
            return None
    return VectorRef(ref.model, ref.dimensions, ref.count, ref.sha256)


def memory_from(message: event_pb2.Memory, partition: Partition) -> Memory:
    state = _STATES.get(message.state)
    if state is None:
        raise ValueError(f"unknown state {message.state}")
    has = message.HasField
    labels, provenance, mentions = message.labels, message.provenance, message.mentions
    # By position, in the order of the class: keywords cost a microsecond more.
    return Memory(
        message.id,
        Scope(partition.namespace, partition.user, message.agent, message.session),
        _body(message),
        message.created_at,
        message.updated_at,
        message.version,
        state,
        message.valid_from if has("valid_from") else None,
        message.valid_to if has("valid_to") else None,
        message.superseded_at if has("superseded_at") else None,
        message.deleted_at if has("deleted_at") else None,
        message.purge_at if has("purge_at") else None,
        message.expires_at if has("expires_at") else None,
        message.confidence,
        message.importance,
        tuple([_provenance(source) for source in provenance]) if provenance else (),
        MappingProxyType(dict(labels)) if labels else _NO_LABELS,
        message.attributes,
        tuple(mentions) if mentions else (),
        message.digest,
    )


def _body(message: event_pb2.Memory) -> Body:
    match message.WhichOneof("body"):
        case "fact":
            fact = message.fact
            return Fact(
                fact.statement,
                fact.subject,
                fact.predicate,
                fact.object_entity,
                fact.object_text,
                fact.object_value,
                fact.negated,
            )
        case "episode":
            return _episode(message.episode)
        case "preference":
            wish = message.preference
            return Preference(wish.statement, wish.topic, wish.value, wish.polarity, wish.subject)
        case "entity":
            entity = message.entity
            return Entity(entity.display_name, entity.type, tuple(entity.aliases), entity.summary, entity.discovered)
        case "procedure":
            procedure = message.procedure
            return Procedure(procedure.statement, procedure.title, tuple(procedure.steps))
        case _:
            raise ValueError("a memory of no known kind")


def _episode(message: event_pb2.Episode) -> Episode:
    outcome = _OUTCOMES.get(message.outcome)
    if outcome is None:
        raise ValueError(f"unknown outcome {message.outcome}")
    return Episode(
        message.text,
        message.title,
        message.speaker,
        message.start_time if message.HasField("start_time") else None,
        message.end_time if message.HasField("end_time") else None,
        tuple(message.participants),
        outcome,
        tuple(message.decisions),
        tuple(message.lessons),
        message.follows,
    )


def _provenance(message: event_pb2.Provenance) -> Provenance:
    messages, derived_from = message.messages, message.derived_from
    return Provenance(
        message.session,
        tuple(messages) if messages else (),
        tuple(derived_from) if derived_from else (),
        message.extractor,
        message.document,
        message.agent,
        message.speaker,
        message.time if message.HasField("time") else None,
        message.start,
        message.end,
    )
