"""Recalls between values and protobuf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from memsidecar_client._enums import FeedbackKind, MemoryState, Tier, TierOutcome
from memsidecar_client._memory_mapping import (
    as_of_to_proto,
    embedding_to_proto,
    filter_to_proto,
    memory_from_proto,
)
from memsidecar_client._memory_values import Filter, Vector
from memsidecar_client._recall_values import (
    Explanation,
    Hit,
    HitStanding,
    MessageHit,
    QuestionAnalysis,
    RecallResult,
    ScoreComponent,
    TierReport,
)
from memsidecar_client._session_mapping import message_from_proto
from memsidecar_client._session_values import Session
from memsidecar_client._times import from_duration, from_timestamp, to_duration, to_timestamp
from memsidecar_client.v1 import recall_service_pb2, scope_pb2


def query_to_proto(
    text: str,
    embedding: Vector | None,
    entities: Iterable[str],
    time: datetime | None,
    conversation: str | Session = "",
    time_zone: str = "",
) -> recall_service_pb2.Query:
    return recall_service_pb2.Query(
        text=text,
        embedding=embedding_to_proto(embedding),
        entities=entities,
        time=to_timestamp(time),
        session=conversation.name if isinstance(conversation, Session) else conversation,
        time_zone=time_zone,
    )


def options_to_proto(
    *,
    tiers: Iterable[Tier],
    filter: Filter | None,  # noqa: A002 - the name of the field
    max_hits: int,
    min_score: float,
    soft_deadline: timedelta | None,
    min_revision: str,
    include_explanations: bool,
    include_shared: bool,
    valid_at: datetime | None,
    known_at: datetime | None,
    profile: str,
    weights: Mapping[str, float] | None,
    diversity: float | None,
    adaptive: bool,
    only_named_time: bool,
    page_token: str = "",
) -> recall_service_pb2.RecallOptions:
    return recall_service_pb2.RecallOptions(
        tiers=[recall_service_pb2.Tier.ValueType(tier) for tier in tiers],
        filter=filter_to_proto(filter),
        max_hits=max_hits,
        min_score=min_score,
        soft_deadline=to_duration(soft_deadline),
        min_revision=scope_pb2.Revision(token=min_revision) if min_revision else None,
        include_explanations=include_explanations,
        include_shared=include_shared,
        as_of=as_of_to_proto(valid_at, known_at),
        profile=profile,
        weights=weights,
        diversity=diversity,
        adaptive_hits=adaptive,
        only_named_time=only_named_time,
        page_token=page_token,
    )


def feedback_to_proto(verdicts: Mapping[str, FeedbackKind]) -> list[recall_service_pb2.FeedbackItem]:
    return [
        recall_service_pb2.FeedbackItem(memory=name, kind=recall_service_pb2.FeedbackKind.ValueType(verdict))
        for name, verdict in verdicts.items()
    ]


def hit_from_proto(message: recall_service_pb2.Hit) -> Hit:
    return Hit(
        memory=memory_from_proto(message.memory),
        score=message.score,
        tier=Tier(message.tier),
        text=message.text,
        confidence=message.confidence,
        duplicates=tuple(message.duplicates),
        suspicious=message.suspicious,
        explanation=_explanation_from_proto(message.explanation) if message.HasField("explanation") else None,
        standings=tuple(
            HitStanding(
                standing.memory,
                MemoryState(standing.state),
                standing.text,
                standing.superseding_memory,
                standing.conflict,
                tuple(standing.counterparts),
            )
            for standing in message.standings
        ),
        counterpart_of=message.counterpart_of,
    )


def message_hit_from_proto(message: recall_service_pb2.MessageHit) -> MessageHit:
    return MessageHit(message_from_proto(message.message), message.score)


def _explanation_from_proto(message: recall_service_pb2.ScoreExplanation) -> Explanation:
    return Explanation(
        components=tuple(
            ScoreComponent(part.signal, part.raw, part.weight, part.contribution) for part in message.components
        ),
        path=tuple(message.path),
        text=message.text,
    )


def tier_report_from_proto(message: recall_service_pb2.TierReport) -> TierReport:
    return TierReport(
        Tier(message.tier),
        TierOutcome(message.outcome),
        message.hit_count,
        from_duration(message.elapsed),
        message.message,
    )


def result_from_proto(
    message: recall_service_pb2.RecallOnceResponse | recall_service_pb2.RecallSummary,
    hits: Iterable[Hit],
    messages: Iterable[MessageHit],
) -> RecallResult:
    """`hits` in their final order; all else is the same in both messages."""
    return RecallResult(
        hits=tuple(hits),
        messages=tuple(messages),
        confidence=message.confidence,
        degraded=message.degraded,
        revision=message.revision.token,
        tiers=tuple(tier_report_from_proto(report) for report in message.tier_reports),
        analysis=_analysis_from_proto(message.analysis) if message.HasField("analysis") else None,
        next_page_token=getattr(message, "next_page_token", ""),
    )


def _analysis_from_proto(message: recall_service_pb2.QueryAnalysis) -> QuestionAnalysis:
    return QuestionAnalysis(
        people=tuple(message.people),
        entities=tuple(message.entities),
        start=from_timestamp(message.min_time) if message.HasField("min_time") else None,
        end=from_timestamp(message.max_time) if message.HasField("max_time") else None,
        language=message.language,
        breadth=message.breadth,
        rewritten_text=message.rewritten_text,
    )
