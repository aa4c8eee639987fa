"""The port's codec: protobuf, format memsidecar.ledger.v1."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from memsidecar.adapters.event_codec.conflicts import conflict_fields, conflict_from
from memsidecar.adapters.event_codec.decoding import event_from, memory_from, vector_ref_from
from memsidecar.adapters.event_codec.encoding import event_fields, memory_fields
from memsidecar.domain.conflict import Conflict
from memsidecar.domain.events import Event
from memsidecar.domain.memory import Memory
from memsidecar.domain.scope import Partition
from memsidecar.ledger.v1 import event_pb2
from memsidecar.ports.ledger import VectorRef


class ProtobufEventCodec:
    """EventCodec over protobuf. Equal events give equal bytes. Stateless, so any thread may use it."""

    @property
    def codec_id(self) -> int:
        return 1

    def encode(self, event: Event) -> bytes:
        return event_pb2.Event(**event_fields(event)).SerializeToString(deterministic=True)

    def decode(self, payload: bytes, partition: Partition) -> Event:
        return event_from(_parsed_event(payload), partition)

    def vector_ref(self, payload: bytes) -> VectorRef | None:
        return vector_ref_from(_parsed_event(payload))

    def encode_memory(self, memory: Memory) -> bytes:
        return event_pb2.Memory(**memory_fields(memory)).SerializeToString(deterministic=True)

    def decode_memory(self, payload: bytes, partition: Partition) -> Memory:
        try:
            message = event_pb2.Memory.FromString(payload)
        except DecodeError as error:
            raise ValueError("not a stored memory") from error
        return memory_from(message, partition)

    def encode_conflict(self, conflict: Conflict) -> bytes:
        return event_pb2.Conflict(**conflict_fields(conflict)).SerializeToString(deterministic=True)

    def decode_conflict(self, payload: bytes) -> Conflict:
        try:
            message = event_pb2.Conflict.FromString(payload)
        except DecodeError as error:
            raise ValueError("not a stored conflict") from error
        return conflict_from(message)


def _parsed_event(payload: bytes) -> event_pb2.Event:
    try:
        return event_pb2.Event.FromString(payload)
    except DecodeError as error:
        raise ValueError("not a stored event") from error
