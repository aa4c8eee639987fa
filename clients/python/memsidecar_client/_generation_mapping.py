"""Recall during generation between values and protobuf."""

from __future__ import annotations

from memsidecar_client._enums import RetractionReason
from memsidecar_client._errors import reason_name
from memsidecar_client._generation_values import Backoff, GenerationTerms, Recalled, Trigger, Watermark
from memsidecar_client._memory_mapping import memory_from_proto
from memsidecar_client._memory_values import Memory
from memsidecar_client._recall_mapping import hit_from_proto
from memsidecar_client._times import from_duration, to_duration
from memsidecar_client.v1 import generation_service_pb2


def trigger_to_proto(given: Trigger | None) -> generation_service_pb2.Trigger | None:
    if given is None:
        return None
    return generation_service_pb2.Trigger(
        min_chars=given.min_chars,
        min_interval=to_duration(given.min_interval),
        on_sentence_end=given.on_sentence_end,
        on_entity_mention=given.on_entity_mention,
        min_drift=given.min_drift,
    )


def terms_from_proto(message: generation_service_pb2.GenerationStarted) -> GenerationTerms:
    trigger = message.trigger
    return GenerationTerms(
        stream_id=message.stream_id,
        trigger=Trigger(
            trigger.min_chars,
            from_duration(trigger.min_interval),
            trigger.on_sentence_end,
            trigger.on_entity_mention,
            trigger.min_drift,
        ),
        max_hits=message.max_hits,
        initial_credit=message.initial_credit,
        max_total_hits=message.max_total_hits,
        max_total_tokens=message.max_total_tokens,
        min_confidence=message.min_confidence,
        revision=message.revision.token,
    )


def recalled_from_proto(message: generation_service_pb2.HitFound) -> Recalled:
    return Recalled(
        hit_from_proto(message.hit),
        message.trigger_seq,
        (message.span_start, message.span_end),
        message.remaining_credit,
    )


def successor_from_proto(message: generation_service_pb2.HitRetracted) -> Memory | None:
    return memory_from_proto(message.successor) if message.HasField("successor") else None


def session_error_from_proto(message: generation_service_pb2.GenerationFinished) -> str:
    return reason_name(message.session_error)


def reason_from_proto(message: generation_service_pb2.HitRetracted) -> RetractionReason:
    return RetractionReason(message.reason)


def watermark_from_proto(message: generation_service_pb2.Watermark) -> Watermark:
    return Watermark(message.seq, message.coalesced, message.withheld_hits, message.degraded)


def backoff_from_proto(message: generation_service_pb2.Backoff) -> Backoff:
    return Backoff(message.min_chars, from_duration(message.min_interval), message.reason)
