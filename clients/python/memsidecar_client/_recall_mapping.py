"""Recalls between values and protobuf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from memsidecar_client._enums import FeedbackKind, Tier, TierOutcome
from memsidecar_client._memory_mapping import embedding_to_proto, filter_to_proto, memory_from_proto
from memsidecar_client._memory_values import Filter, Vector
from memsidecar_client._recall_values import Explanation, Hit, RecallResult, ScoreComponent, TierReport
from memsidecar_client._times import from_duration, to_duration, to_timestamp
from memsidecar_client.v1 import recall_service_pb2, scope_pb2


def query_to_proto(
    text: str, embedding: Vector | None, entities: Iterable[str], time: datetime | None
) -> recall_service_pb2.Query:
    return recall_service_pb2.Query(
        text=text, embedding=embedding_to_proto(embedding), entities=entities, time=to_timestamp(time)
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
        explanation=_explanation_from_proto(message.explanation) if message.HasField("explanation") else None,
    )


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
    message: recall_service_pb2.RecallOnceResponse | recall_service_pb2.RecallSummary, hits: Iterable[Hit]
) -> RecallResult:
    """`hits` in their final order; all else is the same in both messages."""
    return RecallResult(
        hits=tuple(hits),
        confidence=message.confidence,
        degraded=message.degraded,
        revision=message.revision.token,
        tiers=tuple(tier_report_from_proto(report) for report in message.tier_reports),
    )
