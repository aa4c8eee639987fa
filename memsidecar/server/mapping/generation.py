"""Followed generations: how one begins, and what the agent is told."""

from __future__ import annotations

from dataclasses import replace

from memsidecar.domain.generation.values import (
    Backoff,
    MemoryKey,
    Retract,
    Send,
    Source,
    Terms,
    Trigger,
    Watermark,
)
from memsidecar.domain.recall import Question
from memsidecar.domain.scope import Partition, Scope
from memsidecar.server.mapping.memory_out import UsageOf, set_memory
from memsidecar.server.mapping.names import name_of, names_of, read_name
from memsidecar.server.mapping.question import read_options
from memsidecar.server.mapping.recall import set_hit
from memsidecar.server.mapping.values import length, set_seconds
from memsidecar.server.status import item_error
from memsidecar.server.tokens import revision_token
from memsidecar.server.validation import Violations
from memsidecar.services.following import Ended, Following, Happening, Leaving, Opening
from memsidecar.v1 import generation_service_pb2 as pb

# Hits of one evaluation; more would only wait for credit.
_MOST_HITS = 50
_USUAL = Terms()


def read_start(start: pb.GenerationStart, scope: Scope, usual: Terms, violations: Violations) -> Opening:
    """How a generation begins. `usual` has what the server settles where the agent does not."""
    question = read_options(start.options, scope, "start.options", violations)
    session = ""
    if start.session:
        session = _read_session(start.session, scope, violations)
        excluded = question.filter.exclude_sessions | {session}
        question = replace(question, filter=replace(question.filter, exclude_sessions=excluded))
    told = _read_told(start, question, violations)
    terms = replace(
        usual,
        trigger=_read_trigger(start.trigger),
        max_hits=min(start.options.max_hits or usual.max_hits, _MOST_HITS),
        initial_credit=start.initial_credit if start.HasField("initial_credit") else usual.initial_credit,
        max_total_hits=start.max_total_hits or usual.max_total_hits,
        max_total_tokens=start.max_total_tokens or usual.max_total_tokens,
        min_confidence=start.min_confidence if start.HasField("min_confidence") else usual.min_confidence,
        known=frozenset(_read_known(start, question, violations)).union(told),
        first_seq=start.first_seq or usual.first_seq,
        prompt=start.prompt,
    )
    question = replace(question, zone=start.time_zone or "UTC", asks=False)
    return Opening(question, terms, start.generation_id, session, told)


def read_memory_key(name: str, path: str, scope: Scope) -> MemoryKey:
    """A memory that an agent names. Raises InvalidField."""
    violations = Violations()
    partition, memory_id = read_name(name, "memories", path, violations)
    if not violations.found and partition != scope.partition:
        violations.add(path, f"must be of {scope.partition.name}, as the stream is")
    violations.raise_any()
    return partition, memory_id


def read_source(delta: pb.TextDelta) -> Source:
    return Source(delta.source)


def started_response(following: Following, revision: int) -> pb.RecallDuringResponse:
    response = pb.RecallDuringResponse()
    started, terms = response.started, following.opening.terms
    started.stream_id = following.stream_id
    trigger = terms.trigger
    started.trigger.min_chars = trigger.min_chars
    set_seconds(started.trigger.min_interval, trigger.min_interval)
    started.trigger.on_sentence_end = trigger.on_sentence_end
    started.trigger.on_entity_mention = trigger.on_entity_mention
    started.trigger.min_drift = trigger.min_drift
    started.max_hits = terms.max_hits
    started.initial_credit = terms.initial_credit
    started.max_total_hits = terms.max_total_hits
    started.max_total_tokens = terms.max_total_tokens
    started.min_confidence = terms.min_confidence
    started.revision.token = revision_token(following.opening.question.scope.partition, revision)
    for (partition, memory_id), superseded in following.known.items():
        name = name_of(partition, "memories", memory_id)
        started.known.add(memory=name, superseded=names_of(partition, sorted(superseded)))
    return response


def happening_response(
    happening: Happening, partition: Partition, now: int, usage_of: UsageOf
) -> pb.RecallDuringResponse:
    response = pb.RecallDuringResponse()
    match happening:
        case Send():
            found, hit = response.hit, happening.candidate.hit
            set_hit(found.hit, hit, now, usage_of(hit.partition, hit.memory.id))
            found.trigger_seq = happening.trigger_seq
            found.span_start, found.span_end = happening.span_start, happening.span_end
            found.remaining_credit = happening.remaining_credit
        case Watermark():
            mark = response.watermark
            mark.seq, mark.coalesced = happening.seq, happening.coalesced
            mark.withheld_hits, mark.degraded = happening.withheld, happening.degraded
            mark.rewinds = happening.rewinds
        case Retract():
            _set_retracted(response.retracted, happening, now, usage_of)
        case Backoff():
            response.backoff.min_chars, response.backoff.reason = happening.min_chars, happening.reason
            set_seconds(response.backoff.min_interval, happening.min_interval)
        case Leaving():
            set_seconds(response.draining.grace, happening.grace)
        case Ended():
            _set_finished(response.finished, happening, partition)
    return response


def _set_retracted(target: pb.HitRetracted, retract: Retract, now: int, usage_of: UsageOf) -> None:
    partition, memory_id = retract.key
    target.memory = name_of(partition, "memories", memory_id)
    target.reason = pb.RetractionReason.ValueType(retract.reason)
    if (successor := retract.successor) is not None:
        set_memory(target.successor, successor, now, usage_of(partition, successor.id))


def _set_finished(target: pb.GenerationFinished, ended: Ended, partition: Partition) -> None:
    totals = ended.totals
    target.hits_sent, target.evaluations = totals.hits_sent, totals.evaluations
    target.coalesced, target.evaluated_seq = totals.coalesced, totals.evaluated_seq
    target.retracted = totals.retracted
    target.remembered_memories.extend(names_of(partition, ended.remembered))
    target.revision.token = revision_token(partition, ended.revision)
    if ended.left_out is not None:
        _, target.session_error, _ = item_error(ended.left_out)


def _read_session(name: str, scope: Scope, violations: Violations) -> str:
    before = len(violations.found)
    partition, session = read_name(name, "sessions", "start.session", violations)
    if len(violations.found) == before:
        if partition != scope.partition:
            violations.add("start.session", f"must be of {scope.partition.name}, as the stream is")
        elif session == scope.session:
            violations.add(
                "start.session",
                "is the one that scope.session narrows to: what it holds is not sent, so nothing would be",
            )
    return session


def _read_known(start: pb.GenerationStart, question: Question, violations: Violations) -> list[MemoryKey]:
    names = enumerate(start.known_memories)
    return [_read_own(name, f"start.known_memories[{index}]", question, violations) for index, name in names]


def _read_told(
    start: pb.GenerationStart, question: Question, violations: Violations
) -> dict[MemoryKey, frozenset[str]]:
    told = {}
    for index, known in enumerate(start.known):
        path = f"start.known[{index}]"
        key = _read_own(known.memory, f"{path}.memory", question, violations)
        names = enumerate(known.superseded)
        superseded = [_read_own(name, f"{path}.superseded[{i}]", question, violations) for i, name in names]
        told[key] = frozenset(memory_id for partition, memory_id in superseded if partition == key[0])
    return told


def _read_own(name: str, path: str, question: Question, violations: Violations) -> MemoryKey:
    """A memory of the user's or of the shared memory: what is known may come from anywhere."""
    scope, before = question.scope, len(violations.found)
    partition, memory_id = read_name(name, "memories", path, violations)
    if len(violations.found) == before and partition not in (scope.partition, Partition(scope.namespace)):
        violations.add(path, f"must be of {scope.partition.name} or of {Partition(scope.namespace).name}")
    return partition, memory_id


def _read_trigger(given: pb.Trigger) -> Trigger:
    usual = _USUAL.trigger
    return Trigger(
        min_chars=given.min_chars or usual.min_chars,
        min_interval=length(given.min_interval) / 1_000_000 if given.HasField("min_interval") else usual.min_interval,
        on_sentence_end=given.on_sentence_end if given.HasField("on_sentence_end") else usual.on_sentence_end,
        on_entity_mention=given.on_entity_mention if given.HasField("on_entity_mention") else usual.on_entity_mention,
        min_drift=given.min_drift,
    )
