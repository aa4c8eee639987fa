"""Remembering between values and protobuf, and the batches it travels in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import grpc

from memsidecar_client._defaults import MAX_BATCH_BYTES, MAX_BATCH_ITEMS
from memsidecar_client._enums import ConflictPolicy, RememberAction, WriteWait
from memsidecar_client._errors import MemsidecarError, make_error, reason_name
from memsidecar_client._memory_mapping import (
    embedding_to_proto,
    memory_from_proto,
    memory_to_proto,
    provenance_to_proto,
)
from memsidecar_client._remember_values import (
    Conversation,
    Declined,
    Item,
    ItemResult,
    Outcome,
    Rememberable,
    Remembered,
    StreamSummary,
    WriteStages,
)
from memsidecar_client._status_details import StatusDetails
from memsidecar_client._times import to_timestamp
from memsidecar_client.v1 import conflict_pb2, memory_service_pb2

# Tag and length in front of a repeated message of at most 4 MiB.
_ITEM_FRAMING_BYTES = 5

_CODES: Mapping[int, str] = {code.value[0]: code.name for code in grpc.StatusCode}


def item_to_proto(given: Rememberable) -> memory_service_pb2.RememberItem:
    item = given if isinstance(given, Item) else Item(given)
    message = memory_service_pb2.RememberItem(
        provenance=provenance_to_proto(item.provenance) if item.provenance is not None else None,
        speaker=item.speaker,
        time=to_timestamp(item.time),
        embedding=embedding_to_proto(item.embedding),
        entities=item.entities,
    )
    if isinstance(item.what, str):
        message.text = item.what
    elif isinstance(item.what, Conversation):
        message.conversation.SetInParent()
        for turn in item.what.turns:
            message.conversation.turns.add(
                text=turn.text, speaker=turn.speaker, time=to_timestamp(turn.time), message=turn.message
            )
    else:
        message.memory.CopyFrom(memory_to_proto(item.what))
    return message


def options_to_proto(
    wait: WriteWait, labels: Mapping[str, str], conflict_policy: ConflictPolicy, skip_extraction: bool
) -> memory_service_pb2.RememberOptions:
    return memory_service_pb2.RememberOptions(
        wait=memory_service_pb2.WriteWait.ValueType(wait),
        labels=labels,
        conflict_policy=conflict_pb2.ConflictPolicy.ValueType(conflict_policy),
        skip_extraction=skip_extraction,
    )


def batches(items: Iterable[Rememberable]) -> Iterator[list[memory_service_pb2.RememberItem]]:
    """The items in order, in groups that fit one message. One too large for any goes alone; the server refuses it."""
    batch: list[memory_service_pb2.RememberItem] = []
    batch_bytes = batch_texts = 0
    for given in items:
        item = item_to_proto(given)
        item_bytes = item.ByteSize() + _ITEM_FRAMING_BYTES
        # A turn of a conversation counts as an item.
        texts = max(1, len(item.conversation.turns))
        if batch and (batch_texts + texts > MAX_BATCH_ITEMS or batch_bytes + item_bytes > MAX_BATCH_BYTES):
            yield batch
            batch, batch_bytes, batch_texts = [], 0, 0
        batch.append(item)
        batch_bytes += item_bytes
        batch_texts += texts
    if batch:
        yield batch


def outcomes_from_proto(messages: Iterable[memory_service_pb2.RememberOutcome]) -> tuple[Outcome, ...]:
    return tuple(
        Outcome(
            RememberAction(message.action),
            memory_from_proto(message.memory),
            message.explanation,
            message.embedding_pending,
            tuple(message.superseded_memories),
            tuple(message.conflicts),
            message.extracted_from,
        )
        for message in messages
        if message.action != memory_service_pb2.REMEMBER_ACTION_DECLINED
    )


def declined_from_proto(messages: Iterable[memory_service_pb2.RememberOutcome]) -> tuple[Declined, ...]:
    return tuple(
        Declined(message.explanation, message.extracted_from)
        for message in messages
        if message.action == memory_service_pb2.REMEMBER_ACTION_DECLINED
    )


def stages_from_proto(message: memory_service_pb2.WriteStages) -> WriteStages:
    jobs = (message.job,) if message.job else ()
    return WriteStages(message.durable, message.extracted, message.searchable, jobs)


def all_stages(parts: Sequence[WriteStages]) -> WriteStages:
    """Of a write that took several calls."""
    return WriteStages(
        all(part.durable for part in parts),
        all(part.extracted for part in parts),
        all(part.searchable for part in parts),
        tuple(job for part in parts for job in part.jobs),
    )


def remembered_from_proto(message: memory_service_pb2.RememberResponse) -> Remembered:
    return Remembered(
        outcomes_from_proto(message.outcomes),
        message.revision.token,
        declined_from_proto(message.outcomes),
        stages_from_proto(message.stages),
    )


def item_result_from_proto(message: memory_service_pb2.ItemResult, offset: int = 0) -> ItemResult:
    """`offset` is how many items went before this message's batch."""
    error = _item_error(message.error) if message.HasField("error") else None
    outcomes = message.outcomes
    return ItemResult(offset + message.index, outcomes_from_proto(outcomes), error, declined_from_proto(outcomes))


def _item_error(message: memory_service_pb2.ItemError) -> MemsidecarError:
    code = _CODES.get(message.code, str(message.code))
    return make_error(code, message.message, StatusDetails(reason_name(message.reason)))


def summary_from_proto(message: memory_service_pb2.StreamRememberResponse) -> StreamSummary:
    return StreamSummary(
        received=message.received,
        action_counts={name.removeprefix("REMEMBER_ACTION_"): count for name, count in message.action_counts.items()},
        failures=tuple(item_result_from_proto(failure) for failure in message.failures),
        failure_count=message.failure_count,
        revision=message.revision.token,
        stages=stages_from_proto(message.stages),
    )
