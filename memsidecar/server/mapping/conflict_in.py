"""What is asked of conflicts and slots."""

from __future__ import annotations

from collections.abc import Iterator

from memsidecar.domain.conflicts.resolving import Answer, Choice, Dismiss, Keep, Part, Replace, Split
from memsidecar.domain.scope import Partition, Scope
from memsidecar.server.mapping.memory_in import read_memory
from memsidecar.server.mapping.names import References
from memsidecar.server.mapping.values import micros_or_none
from memsidecar.server.validation import Violations
from memsidecar.v1 import knowledge_service_pb2 as pb


def read_choice(request: pb.ResolveConflictRequest, partition: Partition, now: int, violations: Violations) -> Choice:
    """How a conflict is to be settled. Input has passed `check`."""
    references = References(partition, violations)
    match request.WhichOneof("resolution"):
        case "keep_memory":
            return Keep(references.one(request.keep_memory, "keep_memory"), request.correction)
        case "replacement":
            scope = Scope(partition.namespace, partition.user)
            draft = read_memory(request.replacement, "replacement", scope, now, violations)
            return Replace(draft, correction=request.correction)
        case "temporal_split":
            return Split(tuple(_read_parts(request.temporal_split, references)))
        case "answer":
            return Answer(request.answer, request.correction)
        case _:
            return Dismiss()


def _read_parts(split: pb.TemporalSplit, references: References) -> Iterator[Part]:
    for index, given in enumerate(split.parts):
        yield Part(
            references.one(given.memory, f"temporal_split.parts[{index}].memory"),
            micros_or_none(given.interval, "start_time"),
            micros_or_none(given.interval, "end_time"),
        )
