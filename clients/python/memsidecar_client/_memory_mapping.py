"""Memories between values and protobuf. Output-only fields are never sent."""

from __future__ import annotations

from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp

from memsidecar_client._enums import EpisodeOutcome, MemoryChange, MemoryState
from memsidecar_client._json_values import from_struct, from_value, to_struct, to_value
from memsidecar_client._memory_values import (
    Body,
    Embedding,
    Entity,
    Episode,
    Fact,
    Filter,
    Memory,
    MemoryRevision,
    Preference,
    Procedure,
    Provenance,
    Scope,
    UnknownBody,
    Vector,
)
from memsidecar_client._times import from_timestamp, to_duration, to_timestamp
from memsidecar_client.v1 import memory_pb2, scope_pb2


def scope_to_proto(scope: Scope) -> scope_pb2.Scope:
    return scope_pb2.Scope(namespace=scope.namespace, user=scope.user, agent=scope.agent, session=scope.session)


def scope_from_proto(message: scope_pb2.Scope) -> Scope:
    return Scope(message.namespace, message.user, message.agent, message.session)


def embedding_to_proto(vector: Vector | None) -> memory_pb2.Embedding | None:
    if vector is None:
        return None
    if isinstance(vector, Embedding):
        return memory_pb2.Embedding(values=vector.values, model=vector.model)
    return memory_pb2.Embedding(values=vector)


def provenance_to_proto(source: Provenance) -> memory_pb2.Provenance:
    return memory_pb2.Provenance(
        session=source.session,
        messages=source.messages,
        derived_memories=source.derived_memories,
        extractor=source.extractor,
        document=source.document,
        agent=source.agent,
        speaker=source.speaker,
        time=to_timestamp(source.time),
    )


def memory_to_proto(memory: Memory | Body) -> memory_pb2.Memory:
    """What a caller may set of a memory; a bare body becomes a memory with nothing else set."""
    if not isinstance(memory, Memory):
        memory = Memory(memory)
    if memory.expire_time is not None and memory.ttl is not None:
        raise ValueError("a memory takes an expire_time or a ttl, not both")
    message = memory_pb2.Memory(
        name=memory.name,
        valid_start_time=to_timestamp(memory.valid_start_time),
        valid_end_time=to_timestamp(memory.valid_end_time),
        expire_time=to_timestamp(memory.expire_time),
        ttl=to_duration(memory.ttl),
        confidence=memory.confidence,
        importance=memory.importance,
        provenance=[provenance_to_proto(source) for source in memory.provenance],
        labels=memory.labels,
        mentions=memory.mentions,
        etag=memory.etag,
    )
    if memory.scope.agent or memory.scope.session:
        message.scope.CopyFrom(scope_pb2.Scope(agent=memory.scope.agent, session=memory.scope.session))
    if memory.attributes:
        message.attributes.CopyFrom(to_struct(memory.attributes))
    _set_body(message, memory.body)
    return message


def _set_body(message: memory_pb2.Memory, body: Body) -> None:
    match body:
        case Fact():
            message.fact.CopyFrom(_fact_to_proto(body))
        case Preference(statement, topic, value, polarity, subject):
            message.preference.CopyFrom(
                memory_pb2.Preference(statement=statement, topic=topic, value=value, polarity=polarity, subject=subject)
            )
        case Entity(name, type_, aliases, summary):
            message.entity.CopyFrom(memory_pb2.Entity(display_name=name, type=type_, aliases=aliases, summary=summary))
        case Episode():
            message.episode.CopyFrom(
                memory_pb2.Episode(
                    title=body.title,
                    text=body.text,
                    start_time=to_timestamp(body.start_time),
                    end_time=to_timestamp(body.end_time),
                    participants=body.participants,
                    speaker=body.speaker,
                    outcome=memory_pb2.EpisodeOutcome.ValueType(body.outcome),
                    decisions=body.decisions,
                    lessons=body.lessons,
                )
            )
        case Procedure(statement, title, steps):
            message.procedure.CopyFrom(memory_pb2.Procedure(statement=statement, title=title, steps=steps))
        case UnknownBody():
            raise ValueError(
                "this client does not know the memory's kind and cannot write it; upgrade memsidecar-client"
            )
        case _:
            raise TypeError(f"{type(body).__name__} is not the body of a memory")


def _fact_to_proto(fact: Fact) -> memory_pb2.Fact:
    objects = (bool(fact.object_entity), bool(fact.object_text), fact.object_value is not None)
    if sum(objects) > 1:
        raise ValueError("a fact takes one of object_entity, object_text and object_value")
    message = memory_pb2.Fact(
        statement=fact.statement, subject=fact.subject, predicate=fact.predicate, negated=fact.negated
    )
    if fact.object_entity:
        message.entity = fact.object_entity
    elif fact.object_text:
        message.text = fact.object_text
    elif fact.object_value is not None:
        message.value.CopyFrom(to_value(fact.object_value))
    return message


def filter_to_proto(given: Filter | None) -> memory_pb2.MemoryFilter | None:
    if given is None:
        return None
    return memory_pb2.MemoryFilter(
        kinds=[memory_pb2.MemoryKind.ValueType(kind) for kind in given.kinds],
        states=[memory_pb2.MemoryState.ValueType(state) for state in given.states],
        entities=given.entities,
        labels=given.labels,
        min_create_time=to_timestamp(given.min_create_time),
        max_create_time=to_timestamp(given.max_create_time),
        min_importance=given.min_importance,
        min_confidence=given.min_confidence,
        sessions=given.sessions,
        exclude_sessions=given.exclude_sessions,
        min_said_time=to_timestamp(given.min_said_time),
        max_said_time=to_timestamp(given.max_said_time),
    )


def as_of_to_proto(valid_at: datetime | None, known_at: datetime | None) -> memory_pb2.AsOf | None:
    if valid_at is None and known_at is None:
        return None
    return memory_pb2.AsOf(valid_time=to_timestamp(valid_at), record_time=to_timestamp(known_at))


def memory_from_proto(message: memory_pb2.Memory) -> Memory:
    return Memory(
        body=_body_from_proto(message),
        name=message.name,
        scope=scope_from_proto(message.scope),
        state=MemoryState(message.state),
        valid_start_time=_time(message, "valid_start_time"),
        valid_end_time=_time(message, "valid_end_time"),
        expire_time=_time(message, "expire_time"),
        confidence=message.confidence if message.HasField("confidence") else None,
        importance=message.importance if message.HasField("importance") else None,
        provenance=tuple(_provenance_from_proto(source) for source in message.provenance),
        labels=dict(message.labels),
        attributes=from_struct(message.attributes) if message.HasField("attributes") else {},
        mentions=tuple(message.mentions),
        create_time=_time(message, "create_time"),
        update_time=_time(message, "update_time"),
        supersede_time=_time(message, "supersede_time"),
        delete_time=_time(message, "delete_time"),
        purge_time=_time(message, "purge_time"),
        etag=message.etag,
        access_count=message.access_count,
        last_access_time=_time(message, "last_access_time"),
        usefulness=message.usefulness,
    )


def revision_from_proto(message: memory_pb2.MemoryRevision) -> MemoryRevision:
    return MemoryRevision(
        name=message.name,
        change=MemoryChange(message.change),
        create_time=from_timestamp(message.create_time),
        snapshot=memory_from_proto(message.snapshot) if message.HasField("snapshot") else None,
        actor=message.actor,
        reason=message.reason,
    )


def _time(message: memory_pb2.Memory | memory_pb2.Episode | memory_pb2.Provenance, field: str) -> datetime | None:
    if not message.HasField(field):  # type: ignore[arg-type]
        return None
    value: Timestamp = getattr(message, field)
    return from_timestamp(value)


def _provenance_from_proto(message: memory_pb2.Provenance) -> Provenance:
    return Provenance(
        session=message.session,
        messages=tuple(message.messages),
        derived_memories=tuple(message.derived_memories),
        extractor=message.extractor,
        document=message.document,
        agent=message.agent,
        speaker=message.speaker,
        time=_time(message, "time"),
        span=(message.span_start, message.span_end) if message.span_end else None,
    )


def _body_from_proto(message: memory_pb2.Memory) -> Body:
    match message.WhichOneof("body"):
        case "fact":
            fact = message.fact
            return Fact(
                statement=fact.statement,
                subject=fact.subject,
                predicate=fact.predicate,
                object_entity=fact.entity,
                object_text=fact.text,
                object_value=from_value(fact.value),
                negated=fact.negated,
            )
        case "preference":
            wish = message.preference
            return Preference(wish.statement, wish.topic, wish.value, wish.polarity, wish.subject)
        case "entity":
            entity = message.entity
            return Entity(entity.display_name, entity.type, tuple(entity.aliases), entity.summary, entity.discovered)
        case "episode":
            episode = message.episode
            return Episode(
                text=episode.text,
                title=episode.title,
                speaker=episode.speaker,
                start_time=_time(episode, "start_time"),
                end_time=_time(episode, "end_time"),
                participants=tuple(episode.participants),
                outcome=EpisodeOutcome(episode.outcome),
                decisions=tuple(episode.decisions),
                lessons=tuple(episode.lessons),
                follows=episode.follows,
            )
        case "procedure":
            way = message.procedure
            return Procedure(way.statement, way.title, tuple(way.steps))
        case _:
            return UnknownBody(message.SerializeToString())
