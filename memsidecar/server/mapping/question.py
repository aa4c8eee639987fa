"""Questions in: what a recall asks for, and what feedback says."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from memsidecar.domain import limits
from memsidecar.domain.feedback import Verdict
from memsidecar.domain.feedback_rules import Judged
from memsidecar.domain.memory import Kind, State
from memsidecar.domain.recall import NO_FILTER, Filter, Question, Tier
from memsidecar.domain.revision import page_token, parse_page_token
from memsidecar.domain.scope import Scope
from memsidecar.server.mapping.names import References, read_name
from memsidecar.server.mapping.values import length, micros_or_none, read_vectors
from memsidecar.server.tokens import read_revision
from memsidecar.server.validation import Violations
from memsidecar.v1 import memory_pb2
from memsidecar.v1 import recall_service_pb2 as pb

Asked: TypeAlias = pb.RecallRequest | pb.RecallOnceRequest | pb.BuildContextRequest


def read_question(request: Asked, scope: Scope, violations: Violations) -> Question:
    query, options = request.query, request.options
    references = References(scope.partition, violations)
    embedding = None
    if query.HasField("embedding"):
        embedding = read_vectors(query.embedding, "query.embedding", violations)
    base = read_options(options, scope, "options", violations)
    return replace(
        base,
        text=query.text,
        embedding=embedding,
        entities=references.many(query.entities, "query.entities"),
        time=micros_or_none(query, "time"),
        min_score=options.min_score,
        soft_deadline=length(options.soft_deadline) / 1_000_000 if options.HasField("soft_deadline") else None,
        conversation=_read_conversation(query.session, scope, violations) if query.session else "",
        zone=query.time_zone or "UTC",
        known_at=micros_or_none(options.as_of, "record_time"),
        adaptive=options.adaptive_hits,
        skip=_read_skip(request, violations) if options.page_token else 0,
    )


def read_options(options: pb.RecallOptions, scope: Scope, path: str, violations: Violations) -> Question:
    """What options alone say of a question: for text that comes later, in pieces."""
    references = References(scope.partition, violations)
    return Question(
        scope=scope,
        tiers=frozenset(map(Tier, options.tiers)),
        filter=_read_filter(options, references, path),
        max_hits=min(options.max_hits or limits.DEFAULT_HITS, limits.MAX_HITS),
        min_revision=read_revision(options.min_revision.token, scope.partition, f"{path}.min_revision", violations),
        explain=options.include_explanations,
        include_shared=options.include_shared,
        profile=options.profile,
        weights=dict(options.weights),
        diversity=options.diversity if options.HasField("diversity") else None,
        only_named_time=options.only_named_time,
    )


def _read_filter(options: pb.RecallOptions, references: References, path: str) -> Filter:
    given = read_filter(options.filter, f"{path}.filter", references) if options.HasField("filter") else NO_FILTER
    valid_at = micros_or_none(options.as_of, "valid_time")
    return given if valid_at is None else replace(given, valid_at=valid_at)


def _read_conversation(name: str, scope: Scope, violations: Violations) -> str:
    before = len(violations.found)
    partition, session_id = read_name(name, "sessions", "query.session", violations)
    if partition != scope.partition and len(violations.found) == before:
        violations.add("query.session", f"must be of {scope.partition.name}, as the request is")
    return session_id


def _read_skip(request: Asked, violations: Violations) -> int:
    if not isinstance(request, pb.RecallOnceRequest):
        violations.add("options.page_token", "is for RecallOnce only")
        return 0
    skip = parse_page_token(request.options.page_token, _arguments(request))
    if skip is None or not 0 <= skip <= limits.MAX_DEPTH_OF_PAGES:
        violations.add("options.page_token", "is not of this recall with these arguments; start without one")
        return 0
    return skip


def _arguments(request: pb.RecallOnceRequest) -> bytes:
    """What a page token is bound to: the request without it."""
    bare = request
    if request.HasField("options") and (request.options.page_token or not request.options.ByteSize()):
        bare = pb.RecallOnceRequest()
        bare.CopyFrom(request)
        bare.options.ClearField("page_token")
        if not bare.options.ByteSize():
            # Options with nothing in them are none: who set only the token may have asked without any.
            bare.ClearField("options")
    return b"RecallOnceRequest:" + bare.SerializeToString(deterministic=True)


def next_page_token(request: pb.RecallOnceRequest, last: int) -> str:
    """The token of the page after hit number `last`."""
    return page_token(_arguments(request), last)


def read_filter(given: memory_pb2.MemoryFilter, path: str, references: References) -> Filter:
    return Filter(
        kinds=frozenset(map(Kind, given.kinds)),
        states=frozenset(map(State, given.states)),
        entities=references.many(given.entities, f"{path}.entities"),
        labels=dict(given.labels),
        min_created=micros_or_none(given, "min_create_time"),
        max_created=micros_or_none(given, "max_create_time"),
        min_said=micros_or_none(given, "min_said_time"),
        max_said=micros_or_none(given, "max_said_time"),
        min_importance=given.min_importance if given.HasField("min_importance") else None,
        min_confidence=given.min_confidence if given.HasField("min_confidence") else None,
        sessions=frozenset(given.sessions),
        exclude_sessions=frozenset(given.exclude_sessions),
    )


def read_feedback(request: pb.FeedbackRequest, scope: Scope, violations: Violations) -> tuple[Judged, ...]:
    references = References(scope.partition, violations)
    paths = [f"items[{index}].memory" for index in range(len(request.items))]
    return tuple(
        Judged(references.one(item.memory, path), Verdict(item.kind), path)
        for item, path in zip(request.items, paths, strict=True)
    )
