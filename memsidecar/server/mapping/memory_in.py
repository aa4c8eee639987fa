"""What comes in to be remembered, as drafts. Input has passed `check`; what is found here concerns other fields."""

from __future__ import annotations

from dataclasses import replace

from memsidecar.domain import limits
from memsidecar.domain.conflict import Policy, Source
from memsidecar.domain.draft import DEFAULT_CONFIDENCE, DEFAULT_IMPORTANCE, Draft
from memsidecar.domain.memory import Body, Entity, Episode, Fact, Outcome, Preference, Procedure, Provenance
from memsidecar.domain.scope import Scope
from memsidecar.domain.traits import ASSISTANTS
from memsidecar.server.mapping.names import References
from memsidecar.server.mapping.values import (
    length,
    micros,
    micros_or_none,
    read_struct,
    read_value,
    read_vectors,
)
from memsidecar.server.validation import Violations
from memsidecar.v1 import memory_pb2 as pb
from memsidecar.v1 import memory_service_pb2


def read_item(
    item: memory_service_pb2.RememberItem,
    path: str,
    scope: Scope,
    options: memory_service_pb2.RememberOptions,
    now: int,
    violations: Violations,
) -> tuple[Draft, ...]:
    """A draft of text or of a typed memory, or one for each turn of a conversation. The labels of the options are added
    to its own."""
    if item.HasField("conversation"):
        return _read_conversation(item, path, scope, options, now, violations)
    labels, policy = dict(options.labels), read_policy(options.conflict_policy)
    references = References(scope.partition, violations)
    vectors = read_vectors(item.embedding, f"{path}.embedding", violations) if item.HasField("embedding") else None
    time = micros_or_none(item, "time")
    if item.HasField("memory"):
        draft = read_memory(item.memory, f"{path}.memory", scope, now, violations)
        body = draft.body
        if isinstance(body, Episode):
            start = time if body.start_time is None else body.start_time
            body = replace(body, speaker=body.speaker or item.speaker, start_time=start)
        merged = {**labels, **draft.labels}
        if len(merged) > limits.MAX_LABELS:
            violations.add(f"{path}.memory.labels", f"has more than {limits.MAX_LABELS} entries with the request's")
        own = Scope(scope.namespace, scope.user, draft.agent, draft.session)
        source = draft.source or _source(item, path, own, time, references)
        made = replace(
            draft,
            body=body,
            source=source,
            labels=merged,
            entity_names=tuple(item.entities),
            embedding=vectors,
            policy=policy,
            said_by=_said_by(source),
        )
        return (made,)
    source = _source(item, path, scope, time, references)
    said = Draft(
        body=Episode(item.text, speaker=item.speaker, start_time=now if time is None else time),
        path=path,
        agent=scope.agent,
        session=scope.session,
        source=source,
        labels=labels,
        entity_names=tuple(item.entities),
        embedding=vectors,
        policy=policy,
        said_by=_said_by(source),
    )
    return (said,)


def _read_conversation(
    item: memory_service_pb2.RememberItem,
    path: str,
    scope: Scope,
    options: memory_service_pb2.RememberOptions,
    now: int,
    violations: Violations,
) -> tuple[Draft, ...]:
    """The turns as texts that are said one after the other; what a turn does not say is the item's."""
    drafts: list[Draft] = []
    for turn in item.conversation.turns:
        said = memory_service_pb2.RememberItem(
            text=turn.text, speaker=turn.speaker or item.speaker, entities=item.entities
        )
        if item.HasField("provenance"):
            said.provenance.CopyFrom(item.provenance)
        if turn.HasField("time") or item.HasField("time"):
            said.time.CopyFrom(turn.time if turn.HasField("time") else item.time)
        if turn.message:
            del said.provenance.messages[:]
            said.provenance.messages.append(turn.message)
        # The references are the item's, and wrong once.
        found = Violations() if drafts else violations
        drafts += read_item(said, path, scope, options, now, found)
    return tuple(drafts)


def read_policy(policy: int) -> Policy | None:
    """None where the request leaves it to the configuration."""
    return Policy(policy) if policy else None


def _said_by(source: Provenance | None) -> Source:
    if source is None:
        return Source.USER
    if source.document:
        return Source.DOCUMENT
    return Source.ASSISTANT if source.speaker.casefold() in ASSISTANTS else Source.USER


def read_memory(memory: pb.Memory, path: str, scope: Scope, now: int, violations: Violations) -> Draft:
    """A draft of exactly the memory given; its own agent and session go before the scope's."""
    scope = Scope(scope.namespace, scope.user, memory.scope.agent or scope.agent, memory.scope.session or scope.session)
    references = References(scope.partition, violations)
    source = None
    if len(memory.provenance) > 1:
        violations.add(f"{path}.provenance", "takes one source; remember the memory again for each further one")
    elif memory.provenance:
        source = read_provenance(memory.provenance[0], f"{path}.provenance[0]", scope, references)
    return Draft(
        body=read_body(memory, path, references),
        path=path,
        agent=scope.agent,
        session=scope.session,
        source=source,
        valid_from=micros_or_none(memory, "valid_start_time"),
        valid_to=micros_or_none(memory, "valid_end_time"),
        expires_at=read_expiration(memory, now),
        confidence=memory.confidence if memory.HasField("confidence") else DEFAULT_CONFIDENCE,
        importance=memory.importance if memory.HasField("importance") else DEFAULT_IMPORTANCE,
        labels=dict(memory.labels),
        attributes=read_struct(memory.attributes),
        mentions=references.many(memory.mentions, f"{path}.mentions"),
        said_by=_said_by(source),
    )


def read_body(memory: pb.Memory, path: str, references: References) -> Body:
    match memory.WhichOneof("body"):
        case "fact":
            return read_fact(memory.fact, f"{path}.fact", references)
        case "preference":
            given = memory.preference
            subject = references.one(given.subject, f"{path}.preference.subject")
            return Preference(given.statement, given.topic, given.value, given.polarity, subject)
        case "entity":
            entity = memory.entity
            return Entity(entity.display_name, entity.type, tuple(entity.aliases), entity.summary)
        case "procedure":
            procedure = memory.procedure
            return Procedure(procedure.statement, procedure.title, tuple(procedure.steps))
        case _:
            return read_episode(memory.episode, f"{path}.episode", references)


def read_fact(fact: pb.Fact, path: str, references: References) -> Fact:
    return Fact(
        statement=fact.statement,
        subject=references.one(fact.subject, f"{path}.subject"),
        predicate=fact.predicate,
        object_entity=references.one(fact.entity, f"{path}.entity"),
        object_text=fact.text,
        object_value=read_value(fact.value) if fact.HasField("value") else "",
        negated=fact.negated,
    )


def read_episode(episode: pb.Episode, path: str, references: References) -> Episode:
    return Episode(
        text=episode.text,
        title=episode.title,
        speaker=episode.speaker,
        start_time=micros_or_none(episode, "start_time"),
        end_time=micros_or_none(episode, "end_time"),
        participants=references.many(episode.participants, f"{path}.participants"),
        outcome=Outcome(episode.outcome),
        decisions=tuple(episode.decisions),
        lessons=tuple(episode.lessons),
    )


def read_provenance(given: pb.Provenance, path: str, scope: Scope, references: References) -> Provenance:
    return Provenance(
        session=given.session or scope.session,
        messages=tuple(given.messages),
        derived_from=references.many(given.derived_memories, f"{path}.derived_memories"),
        extractor=given.extractor,
        document=given.document,
        agent=given.agent or scope.agent,
        speaker=given.speaker,
        time=micros_or_none(given, "time"),
    )


def read_expiration(memory: pb.Memory, now: int) -> int | None:
    match memory.WhichOneof("expiration"):
        case "expire_time":
            return micros(memory.expire_time)
        case "ttl":
            return now + length(memory.ttl)
        case _:
            return None


def _source(
    item: memory_service_pb2.RememberItem, path: str, scope: Scope, time: int | None, references: References
) -> Provenance | None:
    """What the caller said about where it comes from; None when that is nothing at all."""
    if item.HasField("provenance"):
        source = read_provenance(item.provenance, f"{path}.provenance", scope, references)
        return replace(
            source, speaker=source.speaker or item.speaker, time=time if source.time is None else source.time
        )
    if scope.session or scope.agent or item.speaker or time is not None:
        return Provenance(session=scope.session, agent=scope.agent, speaker=item.speaker, time=time)
    return None
