"""Contexts between values and protobuf."""

from __future__ import annotations

from memsidecar_client._context_values import Context, ContextSection, Omission, SectionBudget
from memsidecar_client._enums import ContextSectionKind, OmissionReason
from memsidecar_client._recall_mapping import tier_report_from_proto
from memsidecar_client._session_mapping import message_from_proto
from memsidecar_client.v1 import recall_service_pb2


def section_to_proto(section: SectionBudget) -> recall_service_pb2.SectionBudget:
    return recall_service_pb2.SectionBudget(
        kind=recall_service_pb2.ContextSectionKind.ValueType(section.kind),
        min_tokens=section.min_tokens,
        max_tokens=section.max_tokens,
        weight=section.weight,
    )


def context_from_proto(response: recall_service_pb2.BuildContextResponse) -> Context:
    return Context(
        text=response.text,
        messages=tuple(message_from_proto(message) for message in response.messages),
        sections=tuple(
            ContextSection(
                kind=ContextSectionKind(section.kind),
                text=section.text,
                token_count=section.token_count,
                memories=tuple(section.memories),
                truncated=section.truncated,
            )
            for section in response.sections
        ),
        omissions=tuple(
            Omission(OmissionReason(omission.reason), omission.memory, omission.score, omission.message_seq)
            for omission in response.omissions
        ),
        citations={citation.reference: citation.memory for citation in response.citations},
        suspicious_memories=tuple(response.suspicious_memories),
        token_count=response.token_count,
        stable_prefix_tokens=response.stable_prefix_tokens,
        degraded=response.degraded,
        revision=response.revision.token,
        tiers=tuple(tier_report_from_proto(report) for report in response.tier_reports),
    )
